// Fills an operand's texels with one value, lanes past the last channel too; or the border of a pad, which is what lies
// around a part of it, and there those lanes with zeros. One texel an invocation.

struct Params {
    value: f32,
    // Of a border: the rows above the part and those beside it, then its first slice, first pixel and extents.
    above: u32,
    beside: u32,
    first_slice: u32,
    first_pixel: u32,
    slices: u32,
    pixels: u32,
}

override PAD_BORDER: bool = false;

// The texel of a row of slices of `width` texels that is number `i` of those around the part.
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
fn main(@builtin(global_invocation_id) global: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>) {
    let id = begin(global, group);
    let step = step_params();
    if id >= step.items { return; }
    let args = params();
    let dst = output_tensor();
    let row_texels = dst.slices * dst.w;
    var row = id / row_texels;
    var texel = id % row_texels;
    var value = vec4(args.value);
    if PAD_BORDER {
        let above = args.above * row_texels;
        let a_row = row_texels - args.slices * args.pixels;
        if id >= above {
            let i = id - above;
            let beside = args.beside * a_row;
            if i < beside {
                row = args.above + i / max(a_row, 1u);
                texel = texel_around(i % max(a_row, 1u), dst.w, args);
            } else {
                row = args.above + args.beside + (i - beside) / row_texels;
                texel = (i - beside) % row_texels;
            }
        }
        value = select(vec4(0.0), saturated(value), has_channels(dst, texel / dst.w));
    }
    let place = texel_of(dst, step.first_row + row, texel / dst.w, texel % dst.w);
    textureStore(target_texture, at(place, dst.shift), value);
}
