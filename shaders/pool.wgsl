// Greatest, mean or norm of the window's pixels that lie in the image. One texel an invocation.

// Pairs are of y and x.
struct Params {
    window: vec2<u32>,
    stride: vec2<u32>,
    padding: vec2<u32>,   // above and on the left
    dilation: vec2<u32>,
    // Where pixels count in a mean, the padding being in front of the image: `first..end` of rows, then of columns.
    counted: vec4<i32>,
    power: u32,           // of a norm
}

override KIND: u32 = POOL_MAX;
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
    if p == 1u { return sum; }
    if p == 2u { return sqrt(sum); }
    return select(raised(sum, vec4(1.0 / f32(p))), vec4(0.0), sum == vec4(0.0));
}

fn compute(dst: Tensor, o: OutputTexel) -> vec4<f32> {
    let src = input_tensor();
    let args = params();
    let window = args.window;
    let padding = args.padding;
    let dilation = args.dilation;
    // The window in padded coordinates, cut to the image.
    let corner = vec2(o.y, o.x) * args.stride;
    let outside = max(corner, padding) - corner;
    let start = corner + (outside + dilation - 1u) / dilation * dilation - padding;
    let end = min(max(corner + (window - 1u) * dilation + 1u, padding) - padding, vec2(src.h, src.w));
    let image = o.b * src.h;
    var value = vec4(0.0);
    var count = 0u;
    for (var y = start.x; y < end.x; y += dilation.x) {
        let texel = row_start(src, image + y) + o.slice * src.pitch;
        for (var x = start.y; x < end.y; x += dilation.y) {
            let v = read_input(src, texel + x);
            switch KIND {
                case POOL_MAX: { value = select(value, v, (v > value) | no_number(v) | vec4(count == 0u)); }
                case POOL_AVERAGE: { value += v; }
                case POOL_NORM: { value += power(v, args.power); }
                default: { value = no_case(); }
            }
            count++;
        }
    }
    if COUNTED {
        let range = args.counted;
        count = positions(corner.x, window.x, dilation.x, range.x, range.y)
            * positions(corner.y, window.y, dilation.y, range.z, range.w);
    }
    if KIND == POOL_AVERAGE { value /= f32(max(count, 1u)); }
    if KIND == POOL_NORM { value = root(value, args.power); }
    return value;
}
