// Pointwise (1x1, stride 1) convolution; a fully connected layer is one over its input's pixels in dense order.
// An invocation computes a block. Weights: for each output slice and input slice a `WeightMatrix`; then the biases.

@compute @workgroup_size(LANES)
fn main(@builtin(global_invocation_id) global: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>) {
    let id = begin(global, group);
    let dispatch = dispatch_params();
    if id >= dispatch.items { return; }
    let dst = output_tensor();
    let src = input_tensor();
    // Blocks run on over the ends of rows, so that narrow images fill them, too.
    let begin_pixel = dispatch.first_row * dst.w;
    let end = dispatch.end_row * dst.w;
    let blocks = (end - begin_pixel + PIXELS - 1u) / PIXELS;
    let first = begin_pixel + (id % blocks) * PIXELS;
    let slice = dispatch.first_slice + (id / blocks) * SLICES;
    let depth = src.slices;

    var texel: array<u32, MAX_PIXELS>;
    for (var p = 0u; p < PIXELS; p++) {
        let pixel = min(first + p, end - 1u);
        texel[p] = row_start(src, pixel / src.w) + pixel % src.w;
    }
    var sums: Sums;
    var weights: BlockWeights;
    begin_block(&sums, &weights, dst, slice, depth);
    for (var k = 0u; k < depth; k++) {
        var x: PixelValues;
        for (var p = 0u; p < PIXELS; p++) {
            x[p] = read_input(src, texel[p]);
            texel[p] += src.pitch;
        }
        add_products(&sums, &weights, &x);
    }
    store_block(&sums, dst, first, end, slice);
}
