// Softmax over the channels of a pixel, one pixel a workgroup of 64: each lane takes every 64th slice, and the lanes'
// parts are put together in an order that never changes.
// Own words: 8  beta as bits.
// Whether the result is the logarithm.
override LOG: bool = false;
var<workgroup> parts: array<f32, 64>;

fn channels(t: Tensor, slice: u32, value: vec4<f32>, other: f32) -> vec4<f32> {
    return select(vec4(other), value, vec4(0u, 1u, 2u, 3u) + slice * 4u < vec4(t.c));
}

@compute @workgroup_size(64)
fn main(
    @builtin(global_invocation_id) global: vec3<u32>,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    // Every lane reaches every barrier: a group beyond the last pixel repeats it and stores nothing.
    let id = begin(global, group);
    let items = param(0u).x;
    let pixel = min(id, items - 1u) / 64u;
    let dst = output_tensor();
    let src = input_tensor();
    let beta = bitcast<f32>(param(8u).x);
    let row = param(0u).y + pixel / dst.w;
    let x = pixel % dst.w;
    let start = row_start(src, row) + x;
    var peak = read_input(src, start).xxxx;
    for (var s = lane; s < src.slices; s += 64u) {
        peak = max(peak, channels(src, s, read_input(src, start + s * src.pitch), peak.x));
    }
    parts[lane] = max(max(peak.x, peak.y), max(peak.z, peak.w));
    workgroupBarrier();
    var greatest = parts[0];
    for (var i = 1u; i < 64u; i++) { greatest = max(greatest, parts[i]); }
    workgroupBarrier();
    var sums = vec4(0.0);
    for (var s = lane; s < src.slices; s += 64u) {
        sums += channels(src, s, exponential((read_input(src, start + s * src.pitch) - greatest) * beta), 0.0);
    }
    parts[lane] = (sums.x + sums.y) + (sums.z + sums.w);
    workgroupBarrier();
    var sum = 0.0;
    for (var i = 0u; i < 64u; i++) { sum += parts[i]; }
    if id < items {
        for (var s = lane; s < src.slices; s += 64u) {
            let power = (read_input(src, start + s * src.pitch) - greatest) * beta;
            if LOG {
                store_output(dst, row, x, s, power - logarithm(vec4(sum)));
            } else {
                store_output(dst, row, x, s, exp(power) / sum);
            }
        }
    }
}
