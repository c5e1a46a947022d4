// 2-D convolution with any window, stride, dilation, padding and groups.
// An invocation computes a block. Weights: for each output slice, window row, window column and input slice of the output
// slice's span a `WeightMatrix`; then the biases.

// Pairs are of y and x.
struct Params {
    span: u32,            // input slices that an output slice reads
    window: vec2<u32>,
    stride: vec2<u32>,
    dilation: vec2<u32>,
    padding: vec2<u32>,   // above and on the left
    out_group: u32,       // output channels of a group
    in_group: u32,        // input channels of a group
}

@compute @workgroup_size(LANES)
fn main(@builtin(global_invocation_id) global: vec3<u32>) {
    let id = begin(global);
    let dispatch = dispatch_params();
    let args = params();
    let dst = output_tensor();
    let src = input_tensor();
    if id >= dispatch.items { return; }
    // Blocks run on over the ends of rows, so that narrow images fill them, too.
    let begin_pixel = dispatch.first_row * dst.w;
    let end = dispatch.end_row * dst.w;
    let blocks = (end - begin_pixel + PIXELS - 1u) / PIXELS;
    let block = divided(id, blocks);
    let first = begin_pixel + block.rest * PIXELS;
    let slice = dispatch.first_slice + block.quotient * SLICES;
    let span = args.span;
    // The span of input slices starts where the group of the slice's first channel does.
    let start = min((slice * 4u / args.out_group) * args.in_group / 4u, src.slices - span);

    // Image row and column of the window's first tap, biased by the padding so that they stay unsigned; first input row.
    var y: array<u32, MAX_PIXELS>;
    var x: array<u32, MAX_PIXELS>;
    var image: array<u32, MAX_PIXELS>;
    // Pixels from the end on repeat the last one.
    var pixel = divided(first, dst.w);
    var place = divided(pixel.quotient, dst.h);
    for (var p = 0u; p < PIXELS; p++) {
        y[p] = place.rest * args.stride.x;
        x[p] = pixel.rest * args.stride.y;
        image[p] = place.quotient * src.h;
        if first + p + 1u < end {
            let row = pixel.quotient;
            pixel = next_division(pixel, dst.w);
            if pixel.quotient != row { place = next_division(place, dst.h); }
        }
    }
    var sums: Sums;
    var weights: BlockWeights;
    begin_block(&sums, &weights, dst, slice, args.window.x * args.window.y * span);
    for (var ky = 0u; ky < args.window.x; ky++) {
        var line: array<u32, MAX_PIXELS>;
        var inside: array<bool, MAX_PIXELS>;
        for (var p = 0u; p < PIXELS; p++) {
            // Wraps below zero to beyond any height.
            let iy = y[p] + ky * args.dilation.x - args.padding.x;
            inside[p] = iy < src.h;
            line[p] = row_start(src, image[p] + select(0u, iy, inside[p])) + start * src.pitch;
        }
        for (var kx = 0u; kx < args.window.y; kx++) {
            var texel: array<u32, MAX_PIXELS>;
            var hit: array<bool, MAX_PIXELS>;
            for (var p = 0u; p < PIXELS; p++) {
                let ix = x[p] + kx * args.dilation.y - args.padding.y;
                hit[p] = inside[p] && ix < src.w;
                texel[p] = line[p] + select(0u, ix, ix < src.w);
            }
            for (var k = 0u; k < span; k++) {
                var v: PixelValues;
                for (var p = 0u; p < PIXELS; p++) {
                    v[p] = select(vec4(0.0), read_input(src, texel[p]), hit[p]);
                    texel[p] += src.pitch;
                }
                add_products(&sums, &weights, &v);
            }
        }
    }
    store_block(&sums, dst, first, end, slice);
}
