// Weights as texels of the pool's format: four output channels each.

// Texels of a `WeightMatrix`.
const MATRIX_TEXELS: u32 = 4u;

// Texels in front of the weights of an output slice.
const SCALE_TEXELS: u32 = 0u;

// Scale of the weights; this format has none.
alias WeightScale = f32;

fn weight_values(texel: u32, shift: u32) -> vec4<f32> {
    return from_texel(load_weight(texel, shift));
}

// Texel `i` of the operator's own weights.
fn read_weight(i: u32) -> vec4<f32> {
    let dispatch = dispatch_params();
    return weight_values(dispatch.weight_base + i, dispatch.weight_shift);
}

// Returns the scale of the output slice that begins at `texel` of the texture.
fn weight_scale(texel: u32, shift: u32) -> WeightScale {
    return 1.0;
}

// The matrix from `texel` on, which counts from the texture's first.
fn weight_matrix(texel: u32, shift: u32, scale: WeightScale) -> WeightMatrix {
    return WeightMatrix(
        weight_values(texel, shift),
        weight_values(texel + 1u, shift),
        weight_values(texel + 2u, shift),
        weight_values(texel + 3u, shift),
    );
}

// Number of texels for the weights of an output slice with `taps` weights per channel.
fn tap_texels(taps: u32) -> u32 {
    return taps;
}

// Weight `tap` of the four channels whose weights begin with texel `first` of the texture.
fn weight_tap(first: u32, tap: u32, shift: u32, scale: WeightScale) -> vec4<f32> {
    return weight_values(first + tap, shift);
}
