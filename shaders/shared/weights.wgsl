// Weights as convolutions and fully connected layers have them.

// Contribution of four input channels to the output channels. Not a WGSL matrix product, since that leaves the order
// of its sums open.
fn product(x: vec4<f32>, w: WeightMatrix) -> vec4<f32> {
    return x.x * w.c0 + x.y * w.c1 + x.z * w.c2 + x.w * w.c3;
}
