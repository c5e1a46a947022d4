// Fills an operand's texels with one value, lanes past the last channel too. Its bits are the first own word.
@compute @workgroup_size(LANES)
fn main(@builtin(global_invocation_id) global: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>) {
    let id = begin(global, group);
    if id >= param(0u).x { return; }
    let dst = output_tensor();
    let row_texels = dst.slices * dst.w;
    let texel = row_start(dst, param(0u).y + id / row_texels) + id % row_texels;
    textureStore(target_texture, at(texel, dst.shift), vec4(bitcast<f32>(param(8u).x)));
}
