// Weights as 8-bit integers with a scale and a zero point for each output channel. A word holds four output channels,
// lowest byte first; a texel holds sixteen weights. The scales of an output slice, then its zero points, stand in
// front of its weights. Everything else (scales, zero points, biases, alphas) is stored as texels of four 32-bit
// floats.

// Texels of a `WeightMatrix`.
const MATRIX_TEXELS: u32 = 1u;

// Texels in front of the weights of an output slice.
const SCALE_TEXELS: u32 = 2u;

// Scale and zero point of the weights of an output slice.
struct WeightScale {
    factor: vec4<f32>,
    zero: vec4<f32>,
}

fn weight_floats(texel: u32, shift: u32) -> vec4<f32> {
    return bitcast<vec4<f32>>(load_weight(texel, shift));
}

// Reads texel `i` of the operator's weights as four 32-bit floats.
fn read_weight(i: u32) -> vec4<f32> {
    let dispatch = dispatch_params();
    return weight_floats(dispatch.weight_base + i, dispatch.weight_shift);
}

// Reads the scale of the output slice that begins at `texel` of the texture.
fn weight_scale(texel: u32, shift: u32) -> WeightScale {
    return WeightScale(weight_floats(texel, shift), weight_floats(texel + 1u, shift));
}

// Decodes the four weights of a word. Each is rounded as it would be in a texel of the pool, so that uploading the
// weights into the pool gives the same bits. The product is rounded only once, so it equals the value that the file's
// integers stand for.
fn scaled(word: u32, scale: WeightScale) -> vec4<f32> {
    let integers = (vec4(bitcast<i32>(word)) << vec4(24u, 16u, 8u, 0u)) >> vec4(24u);
    return stored((vec4<f32>(integers) - scale.zero) * scale.factor);
}

// The matrix of `texel`, which counts from the texture's first.
fn weight_matrix(texel: u32, shift: u32, scale: WeightScale) -> WeightMatrix {
    let words = load_weight(texel, shift);
    return WeightMatrix(scaled(words.x, scale), scaled(words.y, scale), scaled(words.z, scale), scaled(words.w, scale));
}

// Number of texels for the weights of an output slice with `taps` weights per channel.
fn tap_texels(taps: u32) -> u32 {
    return (taps + 3u) / 4u;
}

// Weight `tap` of the four channels whose weights begin with texel `first` of the texture.
fn weight_tap(first: u32, tap: u32, shift: u32, scale: WeightScale) -> vec4<f32> {
    return scaled(load_weight(first + tap / 4u, shift)[tap & 3u], scale);
}
