// Softmax over the channels of a pixel, one pixel a workgroup: a lane takes every LANES-th slice, and the lanes' parts are
// put together in an order that never changes.
var<workgroup> parts: array<f32, LANES>;

@compute @workgroup_size(LANES)
fn main(
    @builtin(global_invocation_id) global: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    // Every lane reaches every barrier: a group beyond the last pixel repeats it and stores nothing.
    let id = begin(global);
    let dispatch = dispatch_params();
    let src = input_tensor();
    let pixel = divided(min(id, dispatch.items - 1u) / LANES, src.w);
    let row = dispatch.first_row + pixel.quotient;
    let x = pixel.rest;
    let start = pixel_start(src, row, x);
    parts[lane] = greatest_of(src, start, lane, LANES);
    workgroupBarrier();
    var greatest = parts[0];
    for (var i = 1u; i < LANES; i++) { greatest = max(greatest, parts[i]); }
    workgroupBarrier();
    parts[lane] = sum_of_powers(src, start, lane, LANES, greatest);
    workgroupBarrier();
    var sum = 0.0;
    for (var i = 0u; i < LANES; i++) { sum += parts[i]; }
    if id < dispatch.items {
        store_softmax(src, softmaxed(start, row, x, greatest, sum), lane, LANES);
    }
}
