// Pointwise (1x1, stride 1) convolution; a fully connected layer is one over its input's pixels in dense order.
// An invocation computes PIXELS pixels by SLICES slices. Weights: for each output slice and input slice four texels,
// texel `j` holding what input channel `j` of the slice gives to the four output channels; then the biases.
// Own words: 8  pixel blocks, pixels, bias texel.
override PIXELS: u32 = 8u;
override SLICES: u32 = 4u;

@compute @workgroup_size(LANES)
fn main(@builtin(global_invocation_id) global: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>) {
    let id = begin(global, group);
    if id >= param(0u).x { return; }
    let own = param(8u);
    let dst = output_tensor();
    let src = input_tensor();
    let place = param(1u);
    let first = param(0u).y * dst.w + (id % own.x) * PIXELS;
    let end = param(0u).y * dst.w + own.y;
    let slice = (id / own.x) * SLICES;
    let depth = src.slices;

    var texel: array<u32, 8>;
    for (var p = 0u; p < PIXELS; p++) {
        let pixel = min(first + p, end - 1u);
        texel[p] = row_start(src, pixel / src.w) + pixel % src.w;
    }
    var weight: array<u32, 4>;
    var sum: array<array<vec4<f32>, 4>, 8>;
    for (var s = 0u; s < SLICES; s++) {
        let out = min(slice + s, dst.slices - 1u);
        weight[s] = place.x + out * depth * 4u;
        let bias = read_weight(own.z + out);
        for (var p = 0u; p < PIXELS; p++) { sum[p][s] = bias; }
    }
    for (var k = 0u; k < depth; k++) {
        var x: array<vec4<f32>, 8>;
        for (var p = 0u; p < PIXELS; p++) {
            x[p] = read_input(src, texel[p]);
            texel[p] += src.pitch;
        }
        for (var s = 0u; s < SLICES; s++) {
            let w0 = textureLoad(weight_texture, at(weight[s], place.y));
            let w1 = textureLoad(weight_texture, at(weight[s] + 1u, place.y));
            let w2 = textureLoad(weight_texture, at(weight[s] + 2u, place.y));
            let w3 = textureLoad(weight_texture, at(weight[s] + 3u, place.y));
            weight[s] += 4u;
            for (var p = 0u; p < PIXELS; p++) {
                sum[p][s] += x[p].x * w0 + x[p].y * w1 + x[p].z * w2 + x[p].w * w3;
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
