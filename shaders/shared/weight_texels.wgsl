// Weights as texels of the pool's format: four output channels each.
@group(0) @binding(3) var weight_texture: Readable;

// Texels of a `WeightMatrix`.
const MATRIX_TEXELS: u32 = 4u;

// What the weights of an output slice are multiplied by: nothing.
alias WeightScale = f32;

// Texel `i` of the operator's own weights.
fn read_weight(i: u32) -> vec4<f32> {
    let dispatch = dispatch_params();
    return textureLoad(weight_texture, at(dispatch.weight_base + i, dispatch.weight_shift));
}

// That of `slice` of a result of so many slices.
fn weight_scale(bias: u32, slices: u32, slice: u32) -> WeightScale {
    return 1.0;
}

// The matrix from `texel` on, which counts from the texture's first.
fn weight_matrix(texel: u32, shift: u32, scale: WeightScale) -> WeightMatrix {
    return WeightMatrix(
        textureLoad(weight_texture, at(texel, shift)),
        textureLoad(weight_texture, at(texel + 1u, shift)),
        textureLoad(weight_texture, at(texel + 2u, shift)),
        textureLoad(weight_texture, at(texel + 3u, shift)),
    );
}

// Texels that an output slice takes whose channels have so many weights each.
fn tap_texels(taps: u32) -> u32 {
    return taps;
}

// Weight `tap` of the four channels whose weights begin with texel `first` of the texture.
fn weight_tap(first: u32, tap: u32, shift: u32, scale: WeightScale) -> vec4<f32> {
    return textureLoad(weight_texture, at(first + tap, shift));
}
