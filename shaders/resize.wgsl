// Bilinear and nearest resize, in the order of operations of TensorFlow Lite's reference. One texel an invocation.
// Own words: 8  input pixels per output pixel y, x, as bits.
override BILINEAR: bool = false;
// 0: asymmetric; 1: half pixel; 2: aligned corners.
override COORDS: u32 = 0u;

fn nearest(i: vec2<u32>, scale: vec2<f32>, extent: vec2<u32>) -> vec2<u32> {
    let offset = select(0.0, 0.5, COORDS == 1u);
    let position = (vec2<f32>(i) + offset) * scale;
    let down = floor(position);
    // With aligned corners halves are rounded up; adding a half first would round what is just below it, too.
    let up = vec2(COORDS == 2u) & (position - down >= vec2(0.5));
    let rounded = select(down, down + 1.0, up);
    return min(vec2<u32>(rounded), extent - 1u);
}

@compute @workgroup_size(LANES)
fn main(@builtin(global_invocation_id) global: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>) {
    let id = begin(global, group);
    if id >= param(0u).x { return; }
    let dst = output_tensor();
    let src = input_tensor();
    let scale = bitcast<vec2<f32>>(param(8u).xy);
    let extent = vec2(src.h, src.w);
    let row_texels = dst.slices * dst.w;
    let row = param(0u).y + id / row_texels;
    let slice = (id % row_texels) / dst.w;
    let ox = (id % row_texels) % dst.w;
    let image = (row / dst.h) * src.h;
    let column = slice * src.pitch;
    let pixel = vec2(row % dst.h, ox);
    var value: vec4<f32>;
    if BILINEAR {
        let half = select(0.0, 0.5, COORDS == 1u);
        let position = (vec2<f32>(pixel) + half) * scale - half;
        let lower = max(floor(position), vec2(0.0));
        let part = position - lower;
        let low = min(vec2<u32>(lower), extent - 1u);
        let high = min(vec2<u32>(max(ceil(position), vec2(0.0))), extent - 1u);
        let top = row_start(src, image + low.x) + column;
        let bottom = row_start(src, image + high.x) + column;
        value = read_input(src, top + low.y) * (1.0 - part.x) * (1.0 - part.y)
            + read_input(src, bottom + low.y) * part.x * (1.0 - part.y)
            + read_input(src, top + high.y) * (1.0 - part.x) * part.y
            + read_input(src, bottom + high.y) * part.x * part.y;
    } else {
        let pixel_in = nearest(pixel, scale, extent);
        value = read_input(src, row_start(src, image + pixel_in.x) + column + pixel_in.y);
    }
    store_output(dst, row, ox, slice, value);
}
