// Maximum, mean or norm of the window's pixels that lie in the image. One texel an invocation.

// Pairs are of y and x.
struct Params {
    window: vec2<u32>,
    stride: vec2<u32>,
    padding: vec2<u32>,   // above and on the left
    dilation: vec2<u32>,
    // Range of pixels that count in a mean, in padded coordinates: `first..end` of rows, then of columns.
    counted: vec4<i32>,
    power: u32,           // of a norm
}

override KIND: u32 = POOL_MAX;
// True if padding may count in a mean.
override COUNTED: bool = false;

// Number of positions of a window that starts at `corner` and lie in front of `end`, along one axis.
fn positions_before(end: i32, corner: u32, window: u32, dilation: u32) -> u32 {
    let distance = u32(max(end - i32(corner), 0));
    return min((distance + dilation - 1u) / dilation, window);
}

// Number of positions of a window that starts at `corner` and lie in `first..end`, along one axis.
fn positions(corner: u32, window: u32, dilation: u32, first: i32, end: i32) -> u32 {
    let before = positions_before(first, corner, window, dilation);
    return max(positions_before(end, corner, window, dilation), before) - before;
}

// The factor of a power's bit: `v` where `p` has the bit, else one.
fn factor(v: vec4<f32>, p: u32, bit: u32) -> vec4<f32> {
    return select(vec4(1.0), v, (p & bit) != 0u);
}

// `|v|^p` for `p` up to 256. Written without a loop, since a loop inside the loops over a window would add its rounds
// for each pixel.
fn power(v: vec4<f32>, p: u32) -> vec4<f32> {
    let v1 = abs(v);
    let v2 = v1 * v1;
    if p == 1u { return v1; }
    if p == 2u { return v2; }
    let v4 = v2 * v2;
    let v8 = v4 * v4;
    let v16 = v8 * v8;
    let v32 = v16 * v16;
    let v64 = v32 * v32;
    let v128 = v64 * v64;
    let low = factor(v1, p, 1u) * factor(v2, p, 2u) * factor(v4, p, 4u) * factor(v8, p, 8u);
    let high = factor(v16, p, 16u) * factor(v32, p, 32u) * factor(v64, p, 64u) * factor(v128, p, 128u);
    return low * high * factor(v128 * v128, p, 256u);
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
                default: { value = nan(); }
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
