// The entry point of kernels whose invocations compute one texel of the result each. Such a kernel has a function
// `compute(dst, o)`, the value of texel `o` of the result before the epilogue.

@compute @workgroup_size(LANES)
fn main(@builtin(global_invocation_id) global: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>) {
    let id = begin(global, group);
    let dispatch = dispatch_params();
    if id >= dispatch.items { return; }
    let dst = output_tensor();
    let o = output_texel(dst, dispatch.first_row, id);
    store_output(dst, o.row, o.x, o.slice, compute(dst, o));
}
