// Softmax over the channels of a pixel. One pixel an invocation; softmax_wide.wgsl is for few pixels of many channels.

// Parts in which powers are added up: one, or as many as a workgroup of softmax_wide.wgsl has lanes, in their order.
override PARTS: u32 = 1u;

@compute @workgroup_size(LANES)
fn main(@builtin(global_invocation_id) global: vec3<u32>) {
    let id = begin(global);
    let dispatch = dispatch_params();
    let src = input_tensor();
    if id >= dispatch.items { return; }
    let pixel = divided(id, src.w);
    let row = dispatch.first_row + pixel.quotient;
    let x = pixel.rest;
    let start = pixel_start(src, row, x);
    let greatest = greatest_of(src, start, 0u, 1u);
    var sum = 0.0;
    for (var part = 0u; part < PARTS; part++) { sum += sum_of_powers(src, start, part, PARTS, greatest); }
    store_softmax(src, softmaxed(start, row, x, greatest, sum), 0u, 1u);
}
