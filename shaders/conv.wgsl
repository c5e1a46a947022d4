// 2-D convolution with any window, stride, dilation, padding and groups.
// An invocation computes PIXELS pixels by SLICES slices. Weights: for each output slice, window row, window column and
// input slice of the output slice's span, four texels, a `WeightMatrix`; then the biases.

// Pairs are of y and x.
struct Params {
    blocks: u32,          // of pixels
    pixels: u32,
    bias: u32,            // first weight texel of the biases
    span: u32,            // input slices that an output slice reads
    window: vec2<u32>,
    stride: vec2<u32>,
    dilation: vec2<u32>,
    padding: vec2<u32>,   // above and on the left
    out_group: u32,       // output channels of a group
    in_group: u32,        // input channels of a group
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
    let span = own.span;
    // The span of input slices starts where the group of the slice's first channel does.
    let start = min((slice * 4u / own.out_group) * own.in_group / 4u, src.slices - span);

    // Image row and column of the window's first tap, biased by the padding so that they stay unsigned; first input row.
    var y: array<u32, MAX_PIXELS>;
    var x: array<u32, MAX_PIXELS>;
    var image: array<u32, MAX_PIXELS>;
    for (var p = 0u; p < PIXELS; p++) {
        let pixel = min(first + p, end - 1u);
        let row = pixel / dst.w;
        y[p] = (row % dst.h) * own.stride.x;
        x[p] = (pixel % dst.w) * own.stride.y;
        image[p] = (row / dst.h) * src.h;
    }
    var weight: array<u32, MAX_SLICES>;
    var sum: array<array<vec4<f32>, MAX_SLICES>, MAX_PIXELS>;
    for (var s = 0u; s < SLICES; s++) {
        let out = min(slice + s, dst.slices - 1u);
        weight[s] = step.weight_base + out * own.window.x * own.window.y * span * 4u;
        let bias = read_weight(own.bias + out);
        for (var p = 0u; p < PIXELS; p++) { sum[p][s] = bias; }
    }
    for (var ky = 0u; ky < own.window.x; ky++) {
        var line: array<u32, MAX_PIXELS>;
        var inside: array<bool, MAX_PIXELS>;
        for (var p = 0u; p < PIXELS; p++) {
            // Wraps below zero to beyond any height.
            let iy = y[p] + ky * own.dilation.x - own.padding.x;
            inside[p] = iy < src.h;
            line[p] = row_start(src, image[p] + select(0u, iy, inside[p])) + start * src.pitch;
        }
        for (var kx = 0u; kx < own.window.y; kx++) {
            var texel: array<u32, MAX_PIXELS>;
            var hit: array<bool, MAX_PIXELS>;
            for (var p = 0u; p < PIXELS; p++) {
                let ix = x[p] + kx * own.dilation.y - own.padding.y;
                hit[p] = inside[p] && ix < src.w;
                texel[p] = line[p] + select(0u, ix, ix < src.w);
            }
            for (var k = 0u; k < span; k++) {
                var v: array<vec4<f32>, MAX_PIXELS>;
                for (var p = 0u; p < PIXELS; p++) {
                    v[p] = select(vec4(0.0), read_input(src, texel[p]), hit[p]);
                    texel[p] += src.pitch;
                }
                for (var s = 0u; s < SLICES; s++) {
                    let w = weight_matrix(weight[s], step.weight_shift);
                    weight[s] += 4u;
                    for (var p = 0u; p < PIXELS; p++) {
                        sum[p][s] += product(v[p], w);
                    }
                }
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
