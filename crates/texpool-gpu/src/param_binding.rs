//! Bindings for dispatch parameters, and their WGSL declarations.

use texpool_ops::kernels::{DISPATCH_WORDS, UNIFORM_WORDS};

/// Memory for the parameter block of a dispatch. Uniform memory is fastest; storage memory has more room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ParamBinding {
    /// A uniform array with this number of words.
    Uniform(u32),
    /// A storage buffer, up to its maximum size.
    Storage,
}

impl ParamBinding {
    /// Available lengths of uniform arrays.
    pub const UNIFORM_WORDS: [u32; 3] = UNIFORM_WORDS;

    /// Returns the binding for blocks of up to `words` words.
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

/// Memory for the few individual words of a dispatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DispatchBinding {
    /// Carried in the command buffer.
    Immediates,
    /// A uniform buffer with a dynamic offset, which core WebGPU supports.
    Uniform,
}

impl DispatchBinding {
    /// Size of a dispatch's individual words in bytes.
    pub const BYTES: u32 = 4 * DISPATCH_WORDS as u32;

    /// Binding number of the uniform buffer.
    pub(super) const BINDING: u32 = 5;

    /// Returns the best binding that a device supports.
    pub(super) fn of(device: &wgpu::Device) -> Self {
        let has = device.features().contains(wgpu::Features::IMMEDIATES);
        if has && device.limits().max_immediate_size >= Self::BYTES { Self::Immediates } else { Self::Uniform }
    }

    fn declaration(self) -> String {
        let place = match self {
            Self::Immediates => "var<immediate>".to_owned(),
            Self::Uniform => format!("@group(0) @binding({}) var<uniform>", Self::BINDING),
        };
        // A struct, because Direct3D supports no other type of immediates.
        let groups = DISPATCH_WORDS / 4;
        format!(
            "struct DispatchTable {{ groups: array<vec4<u32>, {groups}> }}\n{place} dispatch_table: DispatchTable;\n"
        )
    }
}

/// Returns the WGSL that declares both.
pub(super) fn declarations(block: ParamBinding, own: DispatchBinding) -> String {
    block.declaration() + &own.declaration()
}
