//! Bindings for tensors and weights, and their WGSL declarations.

use super::{TextureSet, texture_format::texture_format};
use texpool_plan::TexelFormat;

/// Kind of memory that holds tensors and weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MemoryKind {
    /// Storage textures.
    Textures,
    /// Storage buffers with the same texels at the same indices, for comparisons.
    #[cfg_attr(target_arch = "wasm32", expect(dead_code, reason = "only blocking calls compare both"))]
    Buffers,
}

/// Texture or buffer of each index.
#[derive(Clone, Copy)]
pub(super) enum TensorMemory<'a> {
    Textures(&'a TextureSet),
    #[cfg_attr(target_arch = "wasm32", expect(dead_code, reason = "only blocking calls compare both"))]
    Buffers(&'a [wgpu::Buffer]),
}

impl<'a> TensorMemory<'a> {
    pub(super) fn binding(self, index: usize) -> wgpu::BindingResource<'a> {
        match self {
            Self::Textures(textures) => wgpu::BindingResource::TextureView(textures.view(index)),
            Self::Buffers(buffers) => buffers[index].as_entire_binding(),
        }
    }
}

/// Binding numbers, which are those of [`declarations`](MemoryKind::declarations).
const OUTPUT: u32 = 1;
const INPUT: u32 = 2;
const WEIGHTS: u32 = 3;
const SECOND: u32 = 4;

impl MemoryKind {
    /// Returns the layout entries of the four bindings, for values and weights in these formats.
    pub(super) fn layout(self, format: TexelFormat, weights: TexelFormat) -> [wgpu::BindGroupLayoutEntry; 4] {
        [(OUTPUT, format), (INPUT, format), (WEIGHTS, weights), (SECOND, format)].map(|(binding, format)| {
            let is_output = binding == OUTPUT;
            let ty = match self {
                Self::Textures => wgpu::BindingType::StorageTexture {
                    access: match is_output {
                        true => wgpu::StorageTextureAccess::WriteOnly,
                        false => wgpu::StorageTextureAccess::ReadOnly,
                    },
                    format: texture_format(format),
                    view_dimension: wgpu::TextureViewDimension::D2,
                },
                Self::Buffers => wgpu::BindingType::Buffer {
                    ty: wgpu::BufferBindingType::Storage { read_only: !is_output },
                    has_dynamic_offset: false,
                    min_binding_size: None,
                },
            };
            wgpu::BindGroupLayoutEntry { binding, visibility: wgpu::ShaderStages::COMPUTE, ty, count: None }
        })
    }

    /// Returns the WGSL that declares the bindings and the functions that read and write texels by their linear index.
    /// `words` tells whether weights are read as words.
    pub(super) fn declarations(self, format: TexelFormat, weights: TexelFormat, words: bool) -> String {
        let (weight, weight_texel) = match weights {
            TexelFormat::Rgba8Uint => ("weight_bytes", "Texel"),
            TexelFormat::Rgba32Uint => ("weight", "vec4<u32>"),
            TexelFormat::Rgba32Float | TexelFormat::Rgba16Float => ("weight", "vec4<f32>"),
        };
        let read = [
            ("input", INPUT, format, "Texel"),
            ("second", SECOND, format, "Texel"),
            (weight, WEIGHTS, weights, weight_texel),
        ];
        let weights_of_bytes = match (weights, words) {
            (TexelFormat::Rgba8Uint, true) => format!("{WEIGHT_WORDS}{WORDS_OF_WEIGHTS}"),
            (TexelFormat::Rgba8Uint, false) => format!("{WEIGHT_WORDS}{FLOATS_OF_WEIGHTS}"),
            _ => String::new(),
        };
        let loads = read.map(|(name, binding, format, texel)| {
            let (declared, loaded) = match self {
                Self::Textures => (
                    format!("var {name}_memory: texture_storage_2d<{}, read>", wgsl_name(format)),
                    format!("textureLoad({name}_memory, at(texel, shift))"),
                ),
                Self::Buffers => (
                    format!("var<storage, read> {name}_memory: array<{}>", stored_type(format)),
                    match format {
                        TexelFormat::Rgba16Float => format!("from_halves({name}_memory[texel])"),
                        TexelFormat::Rgba8Uint => format!("unpack4xU8({name}_memory[texel])"),
                        TexelFormat::Rgba32Float | TexelFormat::Rgba32Uint => format!("{name}_memory[texel]"),
                    },
                ),
            };
            format!(
                "@group(0) @binding({binding}) {declared};\n\
                 fn load_{name}(texel: u32, shift: u32) -> {texel} {{ return {loaded}; }}\n"
            )
        });
        let (declared, store) = match self {
            Self::Textures => (
                format!("var output_memory: texture_storage_2d<{}, write>", wgsl_name(format)),
                "textureStore(output_memory, at(texel, shift), value)",
            ),
            Self::Buffers => (
                format!("var<storage, read_write> output_memory: array<{}>", stored_type(format)),
                match format {
                    TexelFormat::Rgba16Float => "output_memory[texel] = to_halves(value)",
                    TexelFormat::Rgba8Uint => "output_memory[texel] = pack4xU8(value)",
                    TexelFormat::Rgba32Float | TexelFormat::Rgba32Uint => "output_memory[texel] = value",
                },
            ),
        };
        let halves = match (self, format) {
            (Self::Buffers, TexelFormat::Rgba16Float) => HALVES,
            _ => "",
        };
        loads.concat()
            + &weights_of_bytes
            + &format!(
                "@group(0) @binding({OUTPUT}) {declared};\n\
                 fn write_texel(texel: u32, shift: u32, value: Texel) {{ {store}; }}\n{halves}"
            )
    }
}

/// Functions that read texels of weights from texels of bytes, four for each.
const WEIGHT_WORDS: &str = "fn weight_word(texel: u32, shift: u32) -> u32 { \
    let bytes = load_weight_bytes(texel, shift) << vec4(0u, 8u, 16u, 24u); \
    return (bytes.x | bytes.y) | (bytes.z | bytes.w); }\n\
    fn weight_words(texel: u32, shift: u32) -> vec4<u32> { \
    let first = texel * 4u + (shift >> SHIFT_BITS); \
    let width = extractBits(shift, 0u, SHIFT_BITS); \
    return vec4(weight_word(first, width), weight_word(first + 1u, width), \
    weight_word(first + 2u, width), weight_word(first + 3u, width)); }\n";
const WORDS_OF_WEIGHTS: &str =
    "fn load_weight(texel: u32, shift: u32) -> vec4<u32> { return weight_words(texel, shift); }\n";
const FLOATS_OF_WEIGHTS: &str =
    "fn load_weight(texel: u32, shift: u32) -> vec4<f32> { return bitcast<vec4<f32>>(weight_words(texel, shift)); }\n";

/// Functions that convert between four values and the two words of their halves.
pub(super) const HALVES: &str = "fn from_halves(words: vec2<u32>) -> vec4<f32> { \
    return vec4(unpack2x16float(words.x), unpack2x16float(words.y)); }\n\
    fn to_halves(values: vec4<f32>) -> vec2<u32> { \
    return vec2(pack2x16float(values.xy), pack2x16float(values.zw)); }\n";

/// Returns WGSL's name of a texel format.
pub(super) const fn wgsl_name(format: TexelFormat) -> &'static str {
    match format {
        TexelFormat::Rgba32Float => "rgba32float",
        TexelFormat::Rgba16Float => "rgba16float",
        TexelFormat::Rgba32Uint => "rgba32uint",
        TexelFormat::Rgba8Uint => "rgba8uint",
    }
}

/// Returns the WGSL type of a texel in a buffer.
pub(super) const fn stored_type(format: TexelFormat) -> &'static str {
    match format {
        TexelFormat::Rgba32Float => "vec4<f32>",
        TexelFormat::Rgba16Float => "vec2<u32>",
        TexelFormat::Rgba32Uint => "vec4<u32>",
        TexelFormat::Rgba8Uint => "u32",
    }
}
