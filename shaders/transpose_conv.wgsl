// Transposed 2-D convolution, gathered: each pixel of the result looks up the taps that reach it. One texel an
// invocation. Weights: for each output slice, window row, window column and input slice of the output slice's span four
// texels as in pointwise.wgsl; then the biases.
// Own words: 8  window y, x, stride y, x; 9  cut top, left, bias texel, span;
//            10  dilation y, x, output channels a group, input channels a group.

@compute @workgroup_size(LANES)
fn main(@builtin(global_invocation_id) global: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>) {
    let id = begin(global, group);
    if id >= param(0u).x { return; }
    let dst = output_tensor();
    let src = input_tensor();
    let window = param(8u).xy;
    let stride = param(8u).zw;
    let own = param(9u);
    let dilation = param(10u).xy;
    let groups = param(10u).zw;
    let row_texels = dst.slices * dst.w;
    let row = param(0u).y + id / row_texels;
    let slice = (id % row_texels) / dst.w;
    let ox = (id % row_texels) % dst.w;
    let span = own.w;
    // The span of input slices starts where the group of the slice's first channel does.
    let begins = min((slice * 4u / groups.x) * groups.y / 4u, src.slices - span);
    // In the full result a tap `k` comes from input pixel `(full - k * dilation) / stride`, where that is whole.
    let full = vec2(row % dst.h, ox) + own.xy;
    let image = (row / dst.h) * src.h;
    let place = param(1u);
    // Without dilation every `stride`-th tap is whole; with it, each is looked at.
    let dense = dilation == vec2(1u);
    let first = select(vec2(0u), full % stride, dense);
    let step = select(vec2(1u), stride, dense);
    var sum = read_weight(own.z + slice);
    for (var ky = first.x; ky < window.x; ky += step.x) {
        if ky * dilation.x > full.x { break; }
        let above = full.x - ky * dilation.x;
        let iy = above / stride.x;
        if iy >= src.h || above % stride.x != 0u { continue; }
        let start = row_start(src, image + iy) + begins * src.pitch;
        for (var kx = first.y; kx < window.y; kx += step.y) {
            if kx * dilation.y > full.y { break; }
            let before = full.y - kx * dilation.y;
            let ix = before / stride.y;
            if ix >= src.w || before % stride.y != 0u { continue; }
            var weight = place.x + ((slice * window.x + ky) * window.y + kx) * span * 4u;
            for (var k = 0u; k < span; k++) {
                let v = read_input(src, start + k * src.pitch + ix);
                sum += v.x * textureLoad(weight_texture, at(weight, place.y))
                    + v.y * textureLoad(weight_texture, at(weight + 1u, place.y))
                    + v.z * textureLoad(weight_texture, at(weight + 2u, place.y))
                    + v.w * textureLoad(weight_texture, at(weight + 3u, place.y));
                weight += 4u;
            }
        }
    }
    store_output(dst, row, ox, slice, sum);
}
