// Fills the texels of an operand with one value, including the lanes past the last channel; or fills the border of a
// pad around its inner part, with zeros in those lanes. One texel an invocation.

struct Params {
    value: f32,
    // For a border: the first row of the part and the row behind its last, then its first slice, first pixel and
    // extents.
    first_part_row: u32,
    end_part_row: u32,
    first_slice: u32,
    first_pixel: u32,
    slices: u32,
    pixels: u32,
}

override PAD_BORDER: bool = false;

// Returns texel number `i` of those around the part, in a row of slices of `width` texels.
fn texel_around(i: u32, width: u32, part: Params) -> u32 {
    let before = part.first_slice * width;
    if i < before { return i; }
    let gap = width - part.pixels;
    let k = i - before;
    if k >= part.slices * gap { return i + part.slices * part.pixels; }
    let x = k % max(gap, 1u);
    return before + k / max(gap, 1u) * width + x + select(0u, part.pixels, x >= part.first_pixel);
}

@compute @workgroup_size(LANES)
fn main(@builtin(global_invocation_id) global: vec3<u32>) {
    let id = begin(global);
    let dispatch = dispatch_params();
    let args = params();
    let dst = output_tensor();
    if id >= dispatch.items { return; }
    let row_texels = dst.slices * dst.w;
    var row = id / row_texels;
    var texel = id % row_texels;
    var value = vec4(args.value);
    if PAD_BORDER {
        // Clamped, so that rows above or below the part have no texels beside it.
        let first = clamp(args.first_part_row, dispatch.first_row, dispatch.end_row);
        let rows_above = first - dispatch.first_row;
        let rows_beside = clamp(args.end_part_row, first, dispatch.end_row) - first;
        let above = rows_above * row_texels;
        let a_row = row_texels - args.slices * args.pixels;
        if id >= above {
            let i = id - above;
            let beside = rows_beside * a_row;
            if i < beside {
                row = rows_above + i / max(a_row, 1u);
                texel = texel_around(i % max(a_row, 1u), dst.w, args);
            } else {
                row = rows_above + rows_beside + (i - beside) / row_texels;
                texel = (i - beside) % row_texels;
            }
        }
        value = select(vec4(0.0), saturated(value), has_channels(dst, texel / dst.w));
    }
    let place = texel_of(dst, dispatch.first_row + row, texel / dst.w, texel % dst.w);
    write_values(dst, place, value);
}
