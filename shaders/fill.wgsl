// Fills an operand's texels with one value, lanes past the last channel too; or, as a pad_border, those around a part of it,
// and those lanes with zeros. One texel an invocation.
// Own words: 8  the value's bits. Of a pad_border 9  rows above the part, rows beside it, the part's first slice and its
//            slices; 10  its first pixel and its pixels.
override PAD_BORDER: bool = false;

// The texel of a row of slices of `width` texels that is number `i` of those around the part.
fn around(i: u32, width: u32, slices: vec2<u32>, pixels: vec2<u32>) -> u32 {
    let before = slices.x * width;
    if i < before { return i; }
    let gap = width - pixels.y;
    let k = i - before;
    if k >= slices.y * gap { return i + slices.y * pixels.y; }
    let x = k % max(gap, 1u);
    return before + k / max(gap, 1u) * width + x + select(0u, pixels.y, x >= pixels.x);
}

@compute @workgroup_size(LANES)
fn main(@builtin(global_invocation_id) global: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>) {
    let id = begin(global, group);
    if id >= param(0u).x { return; }
    let dst = output_tensor();
    let row_texels = dst.slices * dst.w;
    var row = id / row_texels;
    var texel = id % row_texels;
    var value = vec4(bitcast<f32>(param(8u).x));
    if PAD_BORDER {
        let part = param(9u);
        let pixels = param(10u).xy;
        let above = part.x * row_texels;
        let a_row = row_texels - part.w * pixels.y;
        if id >= above {
            let i = id - above;
            let beside = part.y * a_row;
            if i < beside {
                row = part.x + i / max(a_row, 1u);
                texel = around(i % max(a_row, 1u), dst.w, part.zw, pixels);
            } else {
                row = part.x + part.y + (i - beside) / row_texels;
                texel = (i - beside) % row_texels;
            }
        }
        value = select(vec4(0.0), saturated(value), vec4(0u, 1u, 2u, 3u) + texel / dst.w * 4u < vec4(dst.c));
    }
    let place = row_start(dst, param(0u).y + row) + texel / dst.w * dst.pitch + texel % dst.w;
    textureStore(target_texture, at(place, dst.shift), value);
}
