// Transposed 2-D convolution, gathered: each pixel of the result looks up the taps that reach it. One texel an
// invocation. Weights: for each output slice, window row, window column and input slice four texels as in
// pointwise.wgsl; then the biases.
// Own words: 8  window y, x, stride y, x; 9  cut top, left, bias texel.

@compute @workgroup_size(LANES)
fn main(@builtin(global_invocation_id) global: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>) {
    let id = begin(global, group);
    if id >= param(0u).x { return; }
    let dst = output_tensor();
    let src = input_tensor();
    let window = param(8u).xy;
    let stride = param(8u).zw;
    let own = param(9u);
    let row_texels = dst.slices * dst.w;
    let row = param(0u).y + id / row_texels;
    let slice = (id % row_texels) / dst.w;
    let ox = (id % row_texels) % dst.w;
    // In the full result a tap `k` comes from input pixel `(full - k) / stride`, where that is whole.
    let full = vec2(row % dst.h, ox) + own.xy;
    let image = (row / dst.h) * src.h;
    let place = param(1u);
    var sum = read_weight(own.z + slice);
    for (var ky = full.x % stride.x; ky < min(window.x, full.x + 1u); ky += stride.x) {
        let iy = (full.x - ky) / stride.x;
        if iy >= src.h { continue; }
        let start = row_start(src, image + iy);
        for (var kx = full.y % stride.y; kx < min(window.y, full.y + 1u); kx += stride.y) {
            let ix = (full.y - kx) / stride.y;
            if ix >= src.w { continue; }
            var weight = place.x + ((slice * window.x + ky) * window.y + kx) * src.slices * 4u;
            for (var k = 0u; k < src.slices; k++) {
                let v = read_input(src, start + k * src.w + ix);
                sum += v.x * textureLoad(weight_texture, at(weight, place.y))
                    + v.y * textureLoad(weight_texture, at(weight + 1u, place.y))
                    + v.z * textureLoad(weight_texture, at(weight + 2u, place.y))
                    + v.w * textureLoad(weight_texture, at(weight + 3u, place.y));
                weight += 4u;
            }
        }
    }
    emit(dst, row, ox, slice, sum);
}
