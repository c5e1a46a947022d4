// Softmax over the channels of a pixel. One pixel an invocation; softmax_wide.wgsl is for few pixels of many channels.
// Own words: 8  beta as bits.
// Whether the result is the logarithm.
override LOG: bool = false;

// The value where there is a channel, `other` where there is none.
fn channels(t: Tensor, slice: u32, value: vec4<f32>, other: f32) -> vec4<f32> {
    return select(vec4(other), value, vec4(0u, 1u, 2u, 3u) + slice * 4u < vec4(t.c));
}

@compute @workgroup_size(LANES)
fn main(@builtin(global_invocation_id) global: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>) {
    let id = begin(global, group);
    if id >= param(0u).x { return; }
    let dst = output_tensor();
    let src = input_tensor();
    let beta = bitcast<f32>(param(8u).x);
    let row = param(0u).y + id / dst.w;
    let x = id % dst.w;
    let start = row_start(src, row) + x;
    var peak = read_input(src, start).xxxx;
    for (var s = 0u; s < src.slices; s++) {
        peak = max(peak, channels(src, s, read_input(src, start + s * src.pitch), peak.x));
    }
    let greatest = max(max(peak.x, peak.y), max(peak.z, peak.w));
    var sums = vec4(0.0);
    for (var s = 0u; s < src.slices; s++) {
        sums += channels(src, s, exponential((read_input(src, start + s * src.pitch) - greatest) * beta), 0.0);
    }
    let sum = (sums.x + sums.y) + (sums.z + sums.w);
    for (var s = 0u; s < src.slices; s++) {
        let power = (read_input(src, start + s * src.pitch) - greatest) * beta;
        if LOG {
            store_output(dst, row, x, s, power - logarithm(vec4(sum)));
        } else {
            store_output(dst, row, x, s, exp(power) / sum);
        }
    }
}
