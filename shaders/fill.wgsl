// Fills an operand's texels with one value, lanes past the last channel too; or, as a frame, those around a part of it,
// and those lanes with zeros.
// Own words: 8  the value's bits; 9  the part's first row, end, first slice, end; 10  its first pixel, end.
override FRAME: bool = false;

@compute @workgroup_size(LANES)
fn main(@builtin(global_invocation_id) global: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>) {
    let id = begin(global, group);
    if id >= param(0u).x { return; }
    let dst = output_tensor();
    let row_texels = dst.slices * dst.w;
    let row = param(0u).y + id / row_texels;
    let slice = (id % row_texels) / dst.w;
    let x = (id % row_texels) % dst.w;
    var value = vec4(bitcast<f32>(param(8u).x));
    if FRAME {
        let part = param(9u);
        let pixels = param(10u);
        let first = vec3(part.x, part.z, pixels.x);
        let place = vec3(row, slice, x);
        if all(first <= place) && all(place < vec3(part.y, part.w, pixels.y)) { return; }
        value = select(vec4(0.0), saturated(value), vec4(0u, 1u, 2u, 3u) + slice * 4u < vec4(dst.c));
    }
    textureStore(target_texture, at(row_start(dst, row) + slice * dst.pitch + x, dst.shift), value);
}
