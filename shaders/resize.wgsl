// Bilinear and nearest resize, in the order of operations of TensorFlow Lite's reference. One texel an invocation.

struct Params {
    scale: vec2<f32>,   // input pixels per output pixel, y and x
}

override BILINEAR: bool = false;
// Rule that maps an output pixel to a position in the input.
override COORDS: u32 = COORDS_ASYMMETRIC;

fn nearest(i: vec2<u32>, scale: vec2<f32>, extent: vec2<u32>) -> vec2<u32> {
    let offset = select(0.0, 0.5, COORDS == COORDS_HALF_PIXEL);
    let position = (vec2<f32>(i) + offset) * scale;
    let down = floor(position);
    // With aligned corners halves are rounded up; adding a half first would round what is just below it, too.
    let up = vec2(COORDS == COORDS_ALIGN_CORNERS) & (position - down >= vec2(0.5));
    let rounded = select(down, down + 1.0, up);
    return min(vec2<u32>(rounded), extent - 1u);
}

fn compute(dst: Tensor, o: OutputTexel) -> vec4<f32> {
    let src = input_tensor();
    let scale = params().scale;
    let extent = vec2(src.h, src.w);
    let image = o.b * src.h;
    let column = o.slice * src.pitch;
    let pixel = vec2(o.y, o.x);
    if BILINEAR {
        let half = select(0.0, 0.5, COORDS == COORDS_HALF_PIXEL);
        let position = (vec2<f32>(pixel) + half) * scale - half;
        let lower = max(floor(position), vec2(0.0));
        let part = position - lower;
        let low = min(vec2<u32>(lower), extent - 1u);
        let high = min(vec2<u32>(max(ceil(position), vec2(0.0))), extent - 1u);
        let top = row_start(src, image + low.x) + column;
        let bottom = row_start(src, image + high.x) + column;
        return read_input(src, top + low.y) * (1.0 - part.x) * (1.0 - part.y)
            + read_input(src, bottom + low.y) * part.x * (1.0 - part.y)
            + read_input(src, top + high.y) * (1.0 - part.x) * part.y
            + read_input(src, bottom + high.y) * part.x * part.y;
    }
    let pixel_in = nearest(pixel, scale, extent);
    return read_input(src, row_start(src, image + pixel_in.x) + column + pixel_in.y);
}
