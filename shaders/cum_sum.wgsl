// Running sums along an axis. An invocation takes a line of texels along it; what lies outside the rows asked for is
// summed, and not stored.

// The first item of a dispatch is a batch if the axis is that of rows, else a row.
struct Params {
    axis: u32,
}

override EXCLUSIVE: bool = false;
override REVERSE: bool = false;
// Texels that are taken in a round: 16 of a long line, else one.
override TAKEN: u32 = 1u;

// A line of texels: where the place along it is 0, and its length.
struct Line {
    axis: u32,
    row: u32,
    row_step: u32,
    slice: u32,
    x: u32,
    length: u32,
    // Rows that are stored.
    first_row: u32,
    end_row: u32,
}

// The place along the line, from its end if REVERSE, and the row there.
fn place(line: Line, i: u32) -> u32 { return select(i, line.length - 1u - i, REVERSE); }
fn row_at(line: Line, i: u32) -> u32 { return line.row + place(line, i) * line.row_step; }

// True if texel `i` and all behind it are not needed.
fn is_behind(line: Line, i: u32) -> bool {
    let row = row_at(line, i);
    return i >= line.length || (line.axis < 2u && select(row >= line.end_row, row < line.first_row, REVERSE));
}

// The sum with texel `i` of the line, which is stored.
fn sum_with(src: Tensor, dst: Tensor, line: Line, i: u32, before: vec4<f32>) -> vec4<f32> {
    if is_behind(line, i) { return before; }
    let at = place(line, i);
    let row = row_at(line, i);
    let x = select(line.x, at, line.axis == 2u);
    let slice = select(line.slice, at, line.axis == 3u);
    let v = read_input(src, texel_of(src, row, slice, x));
    var value: vec4<f32>;
    var sum = before;
    if line.axis != 3u {
        value = select(sum + v, sum, EXCLUSIVE);
        sum += v;
    } else if REVERSE {
        let w = sum.x + v.w;
        let z = w + v.z;
        let y = z + v.y;
        value = select(vec4(y + v.x, y, z, w), vec4(y, z, w, sum.x), EXCLUSIVE);
        sum = vec4(y + v.x);
    } else {
        let a = sum.x + v.x;
        let b = a + v.y;
        let c = b + v.z;
        value = select(vec4(a, b, c, c + v.w), vec4(sum.x, a, b, c), EXCLUSIVE);
        sum = vec4(c + v.w);
    }
    if row >= line.first_row && row < line.end_row { store_output(dst, row, x, slice, value); }
    return sum;
}

fn sum_with_four(src: Tensor, dst: Tensor, line: Line, i: u32, sum: vec4<f32>) -> vec4<f32> {
    let two = sum_with(src, dst, line, i + 1u, sum_with(src, dst, line, i, sum));
    return sum_with(src, dst, line, i + 3u, sum_with(src, dst, line, i + 2u, two));
}

@compute @workgroup_size(LANES)
fn main(@builtin(global_invocation_id) global: vec3<u32>) {
    let id = begin(global);
    let dispatch = dispatch_params();
    let dst = output_tensor();
    let src = input_tensor();
    let axis = params().axis;
    if id >= dispatch.items { return; }
    // Lines are numbered by the pixel, the slice and the row, less what the axis is.
    let widths = select(src.w, 1u, axis == 2u);
    let depths = select(src.slices, 1u, axis == 3u);
    let pixel = divided(id, widths);
    let place = divided(pixel.quotient, depths);
    let outer = dispatch.first + place.quotient;
    let row = select(outer, outer * src.h, axis == 1u);
    let row_step = vec4(src.h, 1u, 0u, 0u)[axis];
    let length = vec4(src.b, src.h, src.w, src.slices)[axis];
    let slice = place.rest;
    let line = Line(axis, row, row_step, slice, pixel.rest, length, dispatch.first_row, dispatch.end_row);
    var sum = vec4(0.0);
    for (var i = 0u; i < length; i += TAKEN) {
        if is_behind(line, i) { break; }
        if TAKEN == 1u {
            sum = sum_with(src, dst, line, i, sum);
        } else {
            sum = sum_with_four(src, dst, line, i, sum);
            sum = sum_with_four(src, dst, line, i + 4u, sum);
            sum = sum_with_four(src, dst, line, i + 8u, sum);
            sum = sum_with_four(src, dst, line, i + 12u, sum);
        }
    }
}
