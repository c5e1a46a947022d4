// A function of one value. One texel an invocation.
// Own words: 8  its two parameters as bits.
override FUNCTION: u32 = 0u;

@compute @workgroup_size(LANES)
fn main(@builtin(global_invocation_id) global: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>) {
    let id = begin(global, group);
    if id >= param(0u).x { return; }
    let dst = output_tensor();
    let src = input_tensor();
    let row_texels = dst.slices * dst.w;
    let row = param(0u).y + id / row_texels;
    let i = id % row_texels;
    let slice = i / dst.w;
    let value = read_input(src, row_start(src, row) + i);
    emit(dst, row, i % dst.w, slice, activate(FUNCTION, value, slice, param(8u).x, param(8u).y));
}
