// Greatest or mean of the window's pixels that lie in the image. One texel an invocation.
// Own words: 8  window y, x, stride y, x; 9  padding top, left.
override AVERAGE: bool = false;

@compute @workgroup_size(LANES)
fn main(@builtin(global_invocation_id) global: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>) {
    let id = begin(global, group);
    if id >= param(0u).x { return; }
    let dst = output_tensor();
    let src = input_tensor();
    let window = param(8u).xy;
    let stride = param(8u).zw;
    let padding = param(9u).xy;
    let row_texels = dst.slices * dst.w;
    let row = param(0u).y + id / row_texels;
    let slice = (id % row_texels) / dst.w;
    let ox = (id % row_texels) % dst.w;
    // The window in padded coordinates, cut to the image.
    let corner = vec2(row % dst.h, ox) * stride;
    let start = max(corner, padding) - padding;
    let end = min(max(corner + window, padding) - padding, vec2(src.h, src.w));
    let image = (row / dst.h) * src.h;
    var value = vec4(0.0);
    var count = 0u;
    for (var y = start.x; y < end.x; y++) {
        let texel = row_start(src, image + y) + slice * src.w;
        for (var x = start.y; x < end.y; x++) {
            let v = read_input(src, texel + x);
            if AVERAGE {
                value += v;
            } else {
                value = select(max(value, v), v, count == 0u);
            }
            count++;
        }
    }
    if AVERAGE { value /= f32(max(count, 1u)); }
    emit(dst, row, ox, slice, value);
}
