// Pointwise (1x1, stride 1) convolution with any groups; a fully connected layer is one over its input's pixels in dense
// order.
// An invocation computes a block. Weights: for each output slice and input slice of its span a `WeightMatrix`; then the
// biases.

struct Params {
    span: u32,        // input slices that an output slice reads
    out_group: u32,   // output channels of a group
    in_group: u32,    // input channels of a group
}

@compute @workgroup_size(LANES)
fn main(@builtin(global_invocation_id) global: vec3<u32>) {
    let id = begin(global);
    let dispatch = dispatch_params();
    let dst = output_tensor();
    let src = input_tensor();
    let args = params();
    if id >= dispatch.items { return; }
    // Blocks run on over the ends of rows, so that narrow images fill them, too.
    let begin_pixel = dispatch.first_row * dst.w;
    let end = dispatch.end_row * dst.w;
    let blocks = (end - begin_pixel + PIXELS - 1u) / PIXELS;
    let block = divided(id, blocks);
    let first = begin_pixel + block.rest * PIXELS;
    let slice = dispatch.first_slice + block.quotient * SLICES;
    // The span of input slices starts where the group of the slice's first channel does.
    let start = min((slice * 4u / args.out_group) * args.in_group / 4u, src.slices - args.span);

    // Pixels from the end on repeat the last one.
    var texel: array<u32, MAX_PIXELS>;
    var pixel = divided(first, src.w);
    for (var p = 0u; p < PIXELS; p++) {
        texel[p] = texel_of(src, pixel.quotient, start, pixel.rest);
        if first + p + 1u < end { pixel = next_division(pixel, src.w); }
    }
    var sums: Sums;
    var weights: BlockWeights;
    begin_block(&sums, &weights, dst, slice, args.span);
    for (var k = 0u; k < args.span; k++) {
        var x: PixelValues;
        for (var p = 0u; p < PIXELS; p++) {
            x[p] = read_input(src, texel[p]);
            texel[p] += src.pitch;
        }
        add_products(&sums, &weights, &x);
    }
    store_block(&sums, dst, first, end, slice);
}
