//! Where shaders find what dispatches are told, and the WGSL that declares it.

use crate::kernels::{DISPATCH_WORDS, UNIFORM_WORDS};

/// Where the block of a dispatch lies: uniform memory is cheapest, storage memory has room for more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ParamBinding {
    /// In an array of that many words.
    Uniform(u32),
    /// As many as a storage buffer holds.
    Storage,
}

impl ParamBinding {
    /// Lengths of arrays in uniform memory.
    pub const UNIFORM_WORDS: [u32; 3] = UNIFORM_WORDS;

    /// Where blocks of up to so many words lie.
    pub fn for_words(words: usize) -> Self {
        Self::UNIFORM_WORDS.into_iter().find(|&most| words <= most as usize).map_or(Self::Storage, Self::Uniform)
    }

    fn declaration(self) -> String {
        match self {
            Self::Uniform(words) => {
                format!("@group(0) @binding(0) var<uniform> table: array<vec4<u32>, {}>;\n", words / 4)
            }
            Self::Storage => "@group(0) @binding(0) var<storage, read> table: array<vec4<u32>>;\n".to_owned(),
        }
    }
}

/// Where the few words lie that are a dispatch's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DispatchBinding {
    /// In the command buffer.
    Immediates,
    /// In a uniform buffer with a dynamic offset, as core WebGPU has it.
    Uniform,
}

impl DispatchBinding {
    /// Bytes of a dispatch's own.
    pub const BYTES: u32 = 4 * DISPATCH_WORDS as u32;

    /// The binding of the uniform buffer.
    pub(super) const BINDING: u32 = 5;

    /// What is best of what a device has.
    pub(super) fn of(device: &wgpu::Device) -> Self {
        let has = device.features().contains(wgpu::Features::IMMEDIATES);
        if has && device.limits().max_immediate_size >= Self::BYTES { Self::Immediates } else { Self::Uniform }
    }

    fn declaration(self) -> String {
        let place = match self {
            Self::Immediates => "var<immediate>".to_owned(),
            Self::Uniform => format!("@group(0) @binding({}) var<uniform>", Self::BINDING),
        };
        // A struct, since Direct3D has no immediates of another type.
        let groups = DISPATCH_WORDS / 4;
        format!(
            "struct DispatchTable {{ groups: array<vec4<u32>, {groups}> }}\n{place} dispatch_table: DispatchTable;\n"
        )
    }
}

/// The WGSL that declares both.
pub(super) fn declarations(block: ParamBinding, own: DispatchBinding) -> String {
    block.declaration() + &own.declaration()
}
