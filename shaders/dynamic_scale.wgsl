// The scale and the zero point of ONNX's DynamicQuantizeLinear, as two channels. One workgroup: a lane takes every
// LANES-th texel.

struct Params {
    steps: f32,   // number of steps from the least integer to the greatest
}

var<workgroup> ranges: array<ValueRange, LANES>;

@compute @workgroup_size(LANES)
fn main(
    @builtin(global_invocation_id) global: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let id = begin(global);
    let src = input_tensor();
    let row_texels = src.slices * src.w;
    let texels = src.b * src.h * row_texels;
    var range = range_of_zero();
    for (var texel = lane; texel < texels; texel += LANES) {
        let slice = texel % row_texels / src.w;
        let place = texel_of(src, texel / row_texels, slice, texel % src.w);
        range = extended(range, existing(src, place, slice));
    }
    ranges[lane] = range;
    workgroupBarrier();
    if id != 0u { return; }
    for (var part = 0u; part < LANES; part++) { range = united(range, ranges[part]); }
    let bounds = ends(range);
    let width = bounds.y - bounds.x;
    // ONNX Runtime takes a scale of one where all values are zero; the specification divides by zero.
    let scale = select(width / params().steps, 1.0, width == 0.0);
    let zero = round(bounded(vec4(-(bounds.x / scale)), vec4(0.0), vec4(params().steps)));
    store_output(output_tensor(), 0u, 0u, 0u, vec4(scale, zero.x, 0.0, 0.0));
}
