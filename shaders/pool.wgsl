// Greatest, mean or norm of the window's pixels that lie in the image. One texel an invocation.
// Own words: 8  window y, x, stride y, x; 9  padding top, left, dilation y, x;
//            10  first and end of the rows that count, then of the columns, with the padding in front (as signed bits);
//            11  power.
// 0: greatest; 1: mean; 2: norm.
override KIND: u32 = 0u;
// Whether pixels outside the image may count in a mean.
override COUNTED: bool = false;

// Positions of a window from `corner` on that lie in `first..end`, along one axis.
fn positions(corner: u32, window: u32, dilation: u32, first: i32, end: i32) -> u32 {
    var count = 0u;
    for (var k = 0u; k < window; k++) {
        let at = i32(corner + k * dilation);
        count += u32(at >= first && at < end);
    }
    return count;
}

fn power(v: vec4<f32>, p: u32) -> vec4<f32> {
    var product = abs(v);
    for (var i = 1u; i < p; i++) { product *= abs(v); }
    return product;
}

fn root(sum: vec4<f32>, p: u32) -> vec4<f32> {
    switch p {
        case 1u: { return sum; }
        case 2u: { return sqrt(sum); }
        default: { return select(raised(sum, vec4(1.0 / f32(p))), vec4(0.0), sum == vec4(0.0)); }
    }
}

@compute @workgroup_size(LANES)
fn main(@builtin(global_invocation_id) global: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>) {
    let id = begin(global, group);
    if id >= param(0u).x { return; }
    let dst = output_tensor();
    let src = input_tensor();
    let window = param(8u).xy;
    let stride = param(8u).zw;
    let padding = param(9u).xy;
    let dilation = param(9u).zw;
    let p = param(11u).x;
    let row_texels = dst.slices * dst.w;
    let row = param(0u).y + id / row_texels;
    let slice = (id % row_texels) / dst.w;
    let ox = (id % row_texels) % dst.w;
    // The window in padded coordinates, cut to the image.
    let corner = vec2(row % dst.h, ox) * stride;
    let outside = max(corner, padding) - corner;
    let start = corner + (outside + dilation - 1u) / dilation * dilation - padding;
    let end = min(max(corner + (window - 1u) * dilation + 1u, padding) - padding, vec2(src.h, src.w));
    let image = (row / dst.h) * src.h;
    var value = vec4(0.0);
    var count = 0u;
    for (var y = start.x; y < end.x; y += dilation.x) {
        let texel = row_start(src, image + y) + slice * src.pitch;
        for (var x = start.y; x < end.y; x += dilation.y) {
            let v = read_input(src, texel + x);
            switch KIND {
                case 0u: { value = select(value, v, (v > value) | no_number(v) | vec4(count == 0u)); }
                case 1u: { value += v; }
                default: { value += power(v, p); }
            }
            count++;
        }
    }
    if COUNTED {
        let range = bitcast<vec4<i32>>(param(10u));
        count = positions(corner.x, window.x, dilation.x, range.x, range.y)
            * positions(corner.y, window.y, dilation.y, range.z, range.w);
    }
    if KIND == 1u { value /= f32(max(count, 1u)); }
    if KIND == 2u { value = root(value, p); }
    store_output(dst, row, ox, slice, value);
}
