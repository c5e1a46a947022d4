// Pointwise (1x1, stride 1) convolution; a fully connected layer is one over its input's pixels in dense order.
// An invocation computes PIXELS pixels by SLICES slices. Weights: for each output slice and input slice four texels, a
// `WeightMatrix`; then the biases.

struct Params {
    blocks: u32,   // of pixels
    pixels: u32,
    bias: u32,     // first weight texel of the biases
}

override PIXELS: u32 = 8u;
override SLICES: u32 = 4u;

@compute @workgroup_size(LANES)
fn main(@builtin(global_invocation_id) global: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>) {
    let id = begin(global, group);
    let step = step_params();
    if id >= step.items { return; }
    let own = params();
    let dst = output_tensor();
    let src = input_tensor();
    let first = step.first_row * dst.w + (id % own.blocks) * PIXELS;
    let end = step.first_row * dst.w + own.pixels;
    let slice = (id / own.blocks) * SLICES;
    let depth = src.slices;

    var texel: array<u32, MAX_PIXELS>;
    for (var p = 0u; p < PIXELS; p++) {
        let pixel = min(first + p, end - 1u);
        texel[p] = row_start(src, pixel / src.w) + pixel % src.w;
    }
    var weight: array<u32, MAX_SLICES>;
    var sum: array<array<vec4<f32>, MAX_SLICES>, MAX_PIXELS>;
    for (var s = 0u; s < SLICES; s++) {
        let out = min(slice + s, dst.slices - 1u);
        weight[s] = step.weight_base + out * depth * 4u;
        let bias = read_weight(own.bias + out);
        for (var p = 0u; p < PIXELS; p++) { sum[p][s] = bias; }
    }
    for (var k = 0u; k < depth; k++) {
        var x: array<vec4<f32>, MAX_PIXELS>;
        for (var p = 0u; p < PIXELS; p++) {
            x[p] = read_input(src, texel[p]);
            texel[p] += src.pitch;
        }
        for (var s = 0u; s < SLICES; s++) {
            let w = weight_matrix(weight[s], step.weight_shift);
            weight[s] += 4u;
            for (var p = 0u; p < PIXELS; p++) {
                sum[p][s] += product(x[p], w);
            }
        }
    }
    for (var p = 0u; p < PIXELS; p++) {
        let pixel = first + p;
        if pixel >= end { break; }
        for (var s = 0u; s < SLICES; s++) {
            if slice + s < dst.slices { store_output(dst, pixel / dst.w, pixel % dst.w, slice + s, sum[p][s]); }
        }
    }
}
