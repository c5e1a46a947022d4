// Weights as 16-bit floats in words. A word holds two output channels, lower half first; a texel holds eight weights.
// Everything else (biases, alphas) is stored as texels of four 32-bit floats.

// Texels of a `WeightMatrix`.
const MATRIX_TEXELS: u32 = 2u;

// Texels in front of the weights of an output slice.
const SCALE_TEXELS: u32 = 0u;

// Scale of the weights; this format has none.
alias WeightScale = f32;

// Reads texel `i` of the operator's weights as four 32-bit floats.
fn read_weight(i: u32) -> vec4<f32> {
    let dispatch = dispatch_params();
    return bitcast<vec4<f32>>(load_weight(dispatch.weight_base + i, dispatch.weight_shift));
}

// Returns the scale of the output slice that begins at `texel` of the texture.
fn weight_scale(texel: u32, shift: u32) -> WeightScale {
    return 1.0;
}

// Decodes the four weights of two words. WGSL allows devices to flush halves below 2^-14 to zero. Decoding by integer
// arithmetic would avoid that, but made a network three times as slow on lavapipe.
fn halves(words: vec2<u32>) -> vec4<f32> {
    return vec4(unpack2x16float(words.x), unpack2x16float(words.y));
}

// The matrix from `texel` on, which counts from the texture's first.
fn weight_matrix(texel: u32, shift: u32, scale: WeightScale) -> WeightMatrix {
    let first = load_weight(texel, shift);
    let second = load_weight(texel + 1u, shift);
    return WeightMatrix(halves(first.xy), halves(first.zw), halves(second.xy), halves(second.zw));
}

// Number of texels for the weights of an output slice with `taps` weights per channel.
fn tap_texels(taps: u32) -> u32 {
    return (taps + 1u) / 2u;
}

// Weight `tap` of the four channels whose weights begin with texel `first` of the texture.
fn weight_tap(first: u32, tap: u32, shift: u32, scale: WeightScale) -> vec4<f32> {
    let words = load_weight(first + tap / 2u, shift);
    return halves(select(words.xy, words.zw, (tap & 1u) != 0u));
}
