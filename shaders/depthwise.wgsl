// Depthwise convolution, one output channel for each input channel.
// An invocation computes PIXELS pixels of one row and slice, and loads each input column once for all of them.
// Weights: for each slice, window row and window column one texel; then the biases.
// Own words: 8  blocks a row, bias texel, stride y, dilation y; 9  padding top, left.
override PIXELS: u32 = 4u;
override WINDOW_Y: u32 = 3u;
override WINDOW_X: u32 = 3u;
override STRIDE_X: u32 = 1u;
override DILATION_X: u32 = 1u;
// Columns that the pixels reach, at most 16.
override COLUMNS: u32 = 6u;

@compute @workgroup_size(LANES)
fn main(@builtin(global_invocation_id) global: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>) {
    let id = begin(global, group);
    if id >= param(0u).x { return; }
    let own = param(8u);
    let padding = param(9u);
    let dst = output_tensor();
    let src = input_tensor();
    let place = param(1u);
    let block = id % own.x;
    let row = param(0u).y + id / own.x / dst.slices;
    let slice = id / own.x % dst.slices;
    let ox = block * PIXELS;
    let left = ox * STRIDE_X - padding.y;
    let image = (row / dst.h) * src.h;
    let top = (row % dst.h) * own.z - padding.x;

    var sum: array<vec4<f32>, 4>;
    let bias = read_weight(own.y + slice);
    for (var p = 0u; p < PIXELS; p++) { sum[p] = bias; }
    var weight = place.x + slice * WINDOW_Y * WINDOW_X;
    for (var ky = 0u; ky < WINDOW_Y; ky++) {
        // Wraps below zero to beyond any height; so do columns.
        let iy = top + ky * own.w;
        let inside = iy < src.h;
        let line = row_start(src, image + select(0u, iy, inside)) + slice * src.pitch;
        var column: array<vec4<f32>, 16>;
        for (var c = 0u; c < COLUMNS; c++) {
            let ix = left + c;
            let hit = ix < src.w;
            column[c] = select(vec4(0.0), read_input(src, line + select(0u, ix, hit)), inside && hit);
        }
        for (var kx = 0u; kx < WINDOW_X; kx++) {
            let w = textureLoad(weight_texture, at(weight, place.y));
            weight += 1u;
            for (var p = 0u; p < PIXELS; p++) { sum[p] += column[p * STRIDE_X + kx * DILATION_X] * w; }
        }
    }
    for (var p = 0u; p < PIXELS; p++) {
        if ox + p < dst.w { store_output(dst, row, ox + p, slice, sum[p]); }
    }
}
