// 2-D convolution with any window, stride, dilation, padding and groups.
// An invocation computes PIXELS pixels by SLICES slices. Weights: for each output slice, window row, window column and
// input slice of the output slice's span, four texels as in pointwise.wgsl; then the biases.
// Own words: 8  pixel blocks, pixels, bias texel, span; 9  window y, x, stride y, x;
//            10  dilation y, x, padding top, left; 11  output channels a group, input channels a group.
override PIXELS: u32 = 8u;
override SLICES: u32 = 4u;

@compute @workgroup_size(LANES)
fn main(@builtin(global_invocation_id) global: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>) {
    let id = begin(global, group);
    if id >= param(0u).x { return; }
    let own = param(8u);
    let window = param(9u);
    let shape = param(10u);
    let groups = param(11u);
    let dst = output_tensor();
    let src = input_tensor();
    let place = param(1u);
    let first = param(0u).y * dst.w + (id % own.x) * PIXELS;
    let end = param(0u).y * dst.w + own.y;
    let slice = (id / own.x) * SLICES;
    let span = own.w;
    // The span of input slices starts where the group of the slice's first channel does.
    let start = min((slice * 4u / groups.x) * groups.y / 4u, src.slices - span);

    // Image row and column of the window's first tap, biased by the padding so that they stay unsigned; first input row.
    var y: array<u32, 8>;
    var x: array<u32, 8>;
    var image: array<u32, 8>;
    for (var p = 0u; p < PIXELS; p++) {
        let pixel = min(first + p, end - 1u);
        let row = pixel / dst.w;
        y[p] = (row % dst.h) * window.z;
        x[p] = (pixel % dst.w) * window.w;
        image[p] = (row / dst.h) * src.h;
    }
    var weight: array<u32, 4>;
    var sum: array<array<vec4<f32>, 4>, 8>;
    for (var s = 0u; s < SLICES; s++) {
        let out = min(slice + s, dst.slices - 1u);
        weight[s] = place.x + out * window.x * window.y * span * 4u;
        let bias = read_weight(own.z + out);
        for (var p = 0u; p < PIXELS; p++) { sum[p][s] = bias; }
    }
    for (var ky = 0u; ky < window.x; ky++) {
        var line: array<u32, 8>;
        var inside: array<bool, 8>;
        for (var p = 0u; p < PIXELS; p++) {
            // Wraps below zero to beyond any height.
            let iy = y[p] + ky * shape.x - shape.z;
            inside[p] = iy < src.h;
            line[p] = row_start(src, image[p] + select(0u, iy, inside[p])) + start * src.pitch;
        }
        for (var kx = 0u; kx < window.y; kx++) {
            var texel: array<u32, 8>;
            var hit: array<bool, 8>;
            for (var p = 0u; p < PIXELS; p++) {
                let ix = x[p] + kx * shape.y - shape.w;
                hit[p] = inside[p] && ix < src.w;
                texel[p] = line[p] + select(0u, ix, ix < src.w);
            }
            for (var k = 0u; k < span; k++) {
                var v: array<vec4<f32>, 8>;
                for (var p = 0u; p < PIXELS; p++) {
                    v[p] = select(vec4(0.0), read_input(src, texel[p]), hit[p]);
                    texel[p] += src.pitch;
                }
                for (var s = 0u; s < SLICES; s++) {
                    let w0 = textureLoad(weight_texture, at(weight[s], place.y));
                    let w1 = textureLoad(weight_texture, at(weight[s] + 1u, place.y));
                    let w2 = textureLoad(weight_texture, at(weight[s] + 2u, place.y));
                    let w3 = textureLoad(weight_texture, at(weight[s] + 3u, place.y));
                    weight[s] += 4u;
                    for (var p = 0u; p < PIXELS; p++) {
                        sum[p][s] += v[p].x * w0 + v[p].y * w1 + v[p].z * w2 + v[p].w * w3;
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
