// Weights as 16-bit floats in words: two output channels a word, the lower half first, eight weights a texel. What is
// no weight of its own (biases, alphas) is a texel of four 32-bit floats.
@group(0) @binding(3) var weight_texture: texture_storage_2d<rgba32uint, read>;

// Texels of a `WeightMatrix`.
const MATRIX_TEXELS: u32 = 2u;

// Texels in front of the weights of an output slice.
const SCALE_TEXELS: u32 = 0u;

// What the weights of an output slice are multiplied by: nothing.
alias WeightScale = f32;

// Texel `i` of the operator's own, four 32-bit floats.
fn read_weight(i: u32) -> vec4<f32> {
    let dispatch = dispatch_params();
    return bitcast<vec4<f32>>(textureLoad(weight_texture, at(dispatch.weight_base + i, dispatch.weight_shift)));
}

// That of the output slice that begins with `texel` of the texture.
fn weight_scale(texel: u32, shift: u32) -> WeightScale {
    return 1.0;
}

// The four weights of two words. WGSL lets a device make zeros of those below 2^-14; in whole numbers, which it could
// not, a network took three times as long on lavapipe.
fn halves(words: vec2<u32>) -> vec4<f32> {
    return vec4(unpack2x16float(words.x), unpack2x16float(words.y));
}

// The matrix from `texel` on, which counts from the texture's first.
fn weight_matrix(texel: u32, shift: u32, scale: WeightScale) -> WeightMatrix {
    let first = textureLoad(weight_texture, at(texel, shift));
    let second = textureLoad(weight_texture, at(texel + 1u, shift));
    return WeightMatrix(halves(first.xy), halves(first.zw), halves(second.xy), halves(second.zw));
}

// Texels of the weights of an output slice whose channels have so many each.
fn tap_texels(taps: u32) -> u32 {
    return (taps + 1u) / 2u;
}

// Weight `tap` of the four channels whose weights begin with texel `first` of the texture.
fn weight_tap(first: u32, tap: u32, shift: u32, scale: WeightScale) -> vec4<f32> {
    let words = textureLoad(weight_texture, at(first + tap / 2u, shift));
    return halves(select(words.xy, words.zw, (tap & 1u) != 0u));
}
