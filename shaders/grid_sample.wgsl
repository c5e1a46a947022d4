// Samples an image at the positions of a grid. One texel an invocation. LINEAR interpolates between pixels; otherwise
// the nearest pixel is taken, and of two equally near ones the even one.
override LINEAR: bool = false;
// True if positions outside the image read the nearest border pixel; otherwise they read zero.
override BORDER: bool = false;
// True if -1 and 1 are the centres of the outermost pixels; otherwise they are their outer edges.
override ALIGN_CORNERS: bool = false;
// True if the grid is stored among the weights, as a tensor with the pixels of the result.
override CONSTANT: bool = false;

// The place that the grid names for a pixel, as column and row from -1 to 1.
fn place(row: u32, x: u32, width: u32) -> vec2<f32> {
    if CONSTANT { return read_weight(row * width + x).xy; }
    let grid = second_tensor();
    return read_second(grid, row_start(grid, row) + x).xy;
}

// A slice of pixel `i` of the image whose first row is `image`, zeros where it lies outside and the border is not asked for.
fn pixel(t: Tensor, image: u32, column: u32, i: vec2<i32>) -> vec4<f32> {
    let last = vec2(i32(t.w), i32(t.h)) - 1;
    let near = clamp(i, vec2(0), last);
    let value = read_input(t, row_start(t, image + u32(near.y)) + column + u32(near.x));
    return select(vec4(0.0), value, BORDER || all(near == i));
}

fn compute(dst: Tensor, o: OutputTexel) -> vec4<f32> {
    let src = input_tensor();
    let image = o.b * src.h;
    let column = o.slice * src.pitch;
    let extent = vec2<f32>(vec2(src.w, src.h));
    let named = place(o.row, o.x, dst.w) + 1.0;
    let exact = select((named * extent - 1.0) * 0.5, named * 0.5 * (extent - 1.0), ALIGN_CORNERS);
    // NaN coordinates sample nothing.
    let nowhere = any(no_number(vec4(exact, 0.0, 0.0)));
    // Positions more than a pixel outside the image give the same result, so they are bounded to fit an integer.
    let position = bounded(vec4(exact, 0.0, 0.0), vec4(-2.0), vec4(extent + 1.0, 0.0, 0.0)).xy;
    var value: vec4<f32>;
    if LINEAR {
        let low = floor(position);
        let part = position - low;
        let i = vec2<i32>(low);
        let top = pixel(src, image, column, i) * (1.0 - part.x) + pixel(src, image, column, i + vec2(1, 0)) * part.x;
        let bottom = pixel(src, image, column, i + vec2(0, 1)) * (1.0 - part.x)
            + pixel(src, image, column, i + vec2(1, 1)) * part.x;
        value = top * (1.0 - part.y) + bottom * part.y;
    } else {
        value = pixel(src, image, column, vec2<i32>(round(position)));
    }
    return select(value, vec4(exact.x + exact.y), nowhere);
}
