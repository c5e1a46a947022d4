// Weights as convolutions and fully connected layers have them.

// What four input channels give to the output channels. No product of WGSL's matrices: it leaves the order of its sums
// open.
fn product(x: vec4<f32>, w: WeightMatrix) -> vec4<f32> {
    return x.x * w.c0 + x.y * w.c1 + x.z * w.c2 + x.w * w.c3;
}
