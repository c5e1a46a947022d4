// Running sums along an axis. An invocation takes a line of texels along it; what lies outside the rows asked for is
// summed, and not stored.

// The first item of a dispatch is a batch if the axis is that of rows, else a row.
struct Params {
    axis: u32,
}

override EXCLUSIVE: bool = false;
override REVERSE: bool = false;

@compute @workgroup_size(LANES)
fn main(@builtin(global_invocation_id) global: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>) {
    let id = begin(global, group);
    let dispatch = dispatch_params();
    if id >= dispatch.items { return; }
    let dst = output_tensor();
    let src = input_tensor();
    let axis = params().axis;
    // Lines are numbered by the pixel, the slice and the row, less what the axis is.
    let widths = select(src.w, 1u, axis == 2u);
    let depths = select(src.slices, 1u, axis == 3u);
    let x0 = id % widths;
    let slice0 = id / widths % depths;
    let outer = dispatch.first + id / (widths * depths);
    let row0 = select(outer, outer * src.h, axis == 1u);
    let length = vec4(src.b, src.h, src.w, src.slices)[axis];
    let row_step = vec4(src.h, 1u, 0u, 0u)[axis];
    var sum = vec4(0.0);
    for (var i = 0u; i < length; i++) {
        let at = select(i, length - 1u - i, REVERSE);
        let row = row0 + at * row_step;
        // Rows behind the requested ones are not needed.
        if axis < 2u && select(row >= dispatch.end_row, row < dispatch.first_row, REVERSE) { break; }
        let x = select(x0, at, axis == 2u);
        let slice = select(slice0, at, axis == 3u);
        let v = read_input(src, texel_of(src, row, slice, x));
        var value: vec4<f32>;
        if axis != 3u {
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
        if row >= dispatch.first_row && row < dispatch.end_row { store_output(dst, row, x, slice, value); }
    }
}
