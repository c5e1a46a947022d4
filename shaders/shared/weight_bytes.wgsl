// Weights as 8-bit integers with a scale and a zero for each output channel: four output channels a word, the lowest
// byte first, sixteen weights a texel; in front of each output slice's stand its scales, then its zeros. What is no weight
// of its own (scales, zeros, biases, alphas) is a texel of four 32-bit floats.
@group(0) @binding(3) var weight_texture: texture_storage_2d<rgba32uint, read>;

// Texels of a `WeightMatrix`.
const MATRIX_TEXELS: u32 = 1u;

// Texels in front of the weights of an output slice.
const SCALE_TEXELS: u32 = 2u;

// What the weights of an output slice are multiplied by, and what stands for zero.
struct WeightScale {
    factor: vec4<f32>,
    zero: vec4<f32>,
}

fn weight_floats(texel: u32, shift: u32) -> vec4<f32> {
    return bitcast<vec4<f32>>(textureLoad(weight_texture, at(texel, shift)));
}

// Texel `i` of the operator's own, four 32-bit floats.
fn read_weight(i: u32) -> vec4<f32> {
    let dispatch = dispatch_params();
    return weight_floats(dispatch.weight_base + i, dispatch.weight_shift);
}

// That of the output slice that begins with `texel` of the texture.
fn weight_scale(texel: u32, shift: u32) -> WeightScale {
    return WeightScale(weight_floats(texel, shift), weight_floats(texel + 1u, shift));
}

// The four weights of a word. Each is rounded as it would be in a texel of the pool, so that weights that are uploaded
// into the pool give the same bits; the product is rounded once, so it is what the file's integers stand for.
fn scaled(word: u32, scale: WeightScale) -> vec4<f32> {
    let integers = (vec4(bitcast<i32>(word)) << vec4(24u, 16u, 8u, 0u)) >> vec4(24u);
    return stored((vec4<f32>(integers) - scale.zero) * scale.factor);
}

// The matrix of `texel`, which counts from the texture's first.
fn weight_matrix(texel: u32, shift: u32, scale: WeightScale) -> WeightMatrix {
    let words = textureLoad(weight_texture, at(texel, shift));
    return WeightMatrix(scaled(words.x, scale), scaled(words.y, scale), scaled(words.z, scale), scaled(words.w, scale));
}

// Texels of the weights of an output slice whose channels have so many each.
fn tap_texels(taps: u32) -> u32 {
    return (taps + 3u) / 4u;
}

// Weight `tap` of the four channels whose weights begin with texel `first` of the texture.
fn weight_tap(first: u32, tap: u32, shift: u32, scale: WeightScale) -> vec4<f32> {
    return scaled(textureLoad(weight_texture, at(first + tap / 4u, shift))[tap & 3u], scale);
}
