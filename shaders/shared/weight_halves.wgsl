// Weights as 16-bit floats in words: two output channels a word, the lower half first, eight weights a texel. What is no
// weight of its own (biases, alphas) is a texel of four 32-bit floats.
@group(0) @binding(3) var weight_texture: texture_storage_2d<rgba32uint, read>;

// Texels of a `WeightMatrix`.
const MATRIX_TEXELS: u32 = 2u;

// What the weights of an output slice are multiplied by: nothing.
alias WeightScale = f32;

// Texel `i` of the operator's own, four 32-bit floats.
fn read_weight(i: u32) -> vec4<f32> {
    let dispatch = dispatch_params();
    return bitcast<vec4<f32>>(textureLoad(weight_texture, at(dispatch.weight_base + i, dispatch.weight_shift)));
}

// That of `slice` of a result of so many slices.
fn weight_scale(bias: u32, slices: u32, slice: u32) -> WeightScale {
    return 1.0;
}

// The four weights of two words. Worked out in whole numbers, since a device may flush the least ones to zero where it
// unpacks them itself.
fn halves(words: vec2<u32>) -> vec4<f32> {
    let bits = vec4(words.x, words.x >> 16u, words.y, words.y >> 16u);
    let size = bits & vec4(0x7fffu);
    // The exponent is 112 less than that of 32 bits; of infinity and of what is no number 224.
    let bias = select(vec4(0x38000000u), vec4(0x70000000u), size >= vec4(0x7c00u));
    // Below 2^-14 the steps are 2^-24.
    let small = bitcast<vec4<u32>>(vec4<f32>(size) * (1.0 / 16777216.0));
    let value = select((size << vec4(13u)) + bias, small, size < vec4(0x400u));
    return bitcast<vec4<f32>>(value | ((bits & vec4(0x8000u)) << vec4(16u)));
}

// The matrix from `texel` on, which counts from the texture's first.
fn weight_matrix(texel: u32, shift: u32, scale: WeightScale) -> WeightMatrix {
    let first = textureLoad(weight_texture, at(texel, shift));
    let second = textureLoad(weight_texture, at(texel + 1u, shift));
    return WeightMatrix(halves(first.xy), halves(first.zw), halves(second.xy), halves(second.zw));
}

// Texels that an output slice takes whose channels have so many weights each.
fn tap_texels(taps: u32) -> u32 {
    return (taps + 1u) / 2u;
}

// Weight `tap` of the four channels whose weights begin with texel `first` of the texture.
fn weight_tap(first: u32, tap: u32, shift: u32, scale: WeightScale) -> vec4<f32> {
    let words = textureLoad(weight_texture, at(first + tap / 2u, shift));
    return halves(select(words.xy, words.zw, (tap & 1u) != 0u));
}
