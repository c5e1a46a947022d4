// Softmax over the channels of a pixel. One pixel an invocation; softmax_wide.wgsl is for few pixels of many channels.

@compute @workgroup_size(LANES)
fn main(@builtin(global_invocation_id) global: vec3<u32>) {
    let id = begin(global);
    let dispatch = dispatch_params();
    let src = input_tensor();
    if id >= dispatch.items { return; }
    let pixel = divided(id, src.w);
    let row = dispatch.first_row + pixel.quotient;
    let x = pixel.rest;
    let start = row_start(src, row) + x;
    let greatest = greatest_of(src, start, 0u, 1u);
    let sum = sum_of_powers(src, start, 0u, 1u, greatest);
    store_softmax(src, Softmaxed(row, x, start, Base(greatest, params().beta), sum), 0u, 1u);
}
