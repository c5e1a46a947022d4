// The entry point of kernels whose invocations compute one texel of the result each. Such a kernel has a function
// `compute(dst, o)`, the value of texel `o` of the result before the epilogue.

// True in an invocation behind the last texel. It computes that texel again and stores nothing, so that parameters are read
// outside branches.
var<private> is_repeated: bool;

@compute @workgroup_size(LANES)
fn main(@builtin(global_invocation_id) global: vec3<u32>) {
    let id = begin(global);
    let dispatch = dispatch_params();
    let dst = output_tensor();
    is_repeated = id >= dispatch.items;
    let o = output_texel(dst, dispatch.first_row, min(id, dispatch.items - 1u));
    let value = compute(dst, o);
    if !is_repeated { store_output(dst, o.row, o.x, o.slice, value); }
}
