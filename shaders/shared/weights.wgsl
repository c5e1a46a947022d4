// Weights as convolutions and fully connected layers have them.

// What four input channels give to four output channels: column `j` is what input channel `j` gives.
struct WeightMatrix {
    c0: vec4<f32>,
    c1: vec4<f32>,
    c2: vec4<f32>,
    c3: vec4<f32>,
}

// The matrix in four texels of the weight texture from `texel` on, which counts from the texture's first.
fn weight_matrix(texel: u32, shift: u32) -> WeightMatrix {
    return WeightMatrix(
        textureLoad(weight_texture, at(texel, shift)),
        textureLoad(weight_texture, at(texel + 1u, shift)),
        textureLoad(weight_texture, at(texel + 2u, shift)),
        textureLoad(weight_texture, at(texel + 3u, shift)),
    );
}

// What four input channels give to the output channels. No product of WGSL's matrices: it leaves the order of its sums
// open.
fn product(x: vec4<f32>, w: WeightMatrix) -> vec4<f32> {
    return x.x * w.c0 + x.y * w.c1 + x.z * w.c2 + x.w * w.c3;
}
