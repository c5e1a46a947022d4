// The entry point of kernels whose invocations compute one texel of the result each. Such a kernel has a function
// `compute(dst, o)`, the value of texel `o` of the result before the epilogue.

// Where a texel of the result lies: pixel `x` of `slice` of `row`, which is image row `y` of batch `b`.
struct OutputTexel {
    row: u32,
    b: u32,
    y: u32,
    x: u32,
    slice: u32,
}

@compute @workgroup_size(LANES)
fn main(@builtin(global_invocation_id) global: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>) {
    let id = begin(global, group);
    let dispatch = dispatch_params();
    if id >= dispatch.items { return; }
    let dst = output_tensor();
    let row_texels = dst.slices * dst.w;
    let row = dispatch.first_row + id / row_texels;
    let slice = (id % row_texels) / dst.w;
    let x = (id % row_texels) % dst.w;
    store_output(dst, row, x, slice, compute(dst, OutputTexel(row, row / dst.h, row % dst.h, x, slice)));
}
