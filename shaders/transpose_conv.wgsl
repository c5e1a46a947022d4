// Transposed 2-D convolution, gathered: each pixel of the result looks up the taps that reach it. An invocation computes
// a block of pixels of one row that are a stride apart: the same taps reach all of them, from neighbouring pixels of the
// input. Weights: for each output slice, window row, window column and input slice of the output slice's span a
// `WeightMatrix`; then the biases.

// Pairs are of y and x.
struct Params {
    blocks: u32,         // of pixels in a row
    window: vec2<u32>,
    stride: vec2<u32>,
    cut: vec2<u32>,      // rows and columns of the full result that are left out above and on the left
    span: u32,           // input slices that an output slice reads
    dilation: vec2<u32>,
    out_group: u32,      // output channels of a group
    in_group: u32,       // input channels of a group
}

@compute @workgroup_size(LANES)
fn main(@builtin(global_invocation_id) global: vec3<u32>) {
    let id = begin(global);
    let dispatch = dispatch_params();
    let args = params();
    let dst = output_tensor();
    let src = input_tensor();
    if id >= dispatch.items { return; }
    let blocks = divided(id, args.blocks);
    let slice_blocks = (dst.slices + SLICES - 1u) / SLICES;
    let line = divided(blocks.quotient, slice_blocks);
    let row = dispatch.first_row + line.quotient;
    let slice = line.rest * SLICES;
    let step = args.stride.y;
    let strip = divided(blocks.rest, step);
    let left = strip.quotient * (PIXELS * step) + strip.rest;
    if left >= dst.w { return; }
    // The span of input slices starts where the group of the slice's first channel does.
    let begins = min((slice * 4u / args.out_group) * args.in_group / 4u, src.slices - args.span);
    // In the full result a tap `k` comes from input pixel `(full - k * dilation) / stride`, where that is whole.
    let place = divided(row, dst.h);
    let full = vec2(place.rest, left) + args.cut;
    let image = place.quotient * src.h;
    // Without dilation every `stride`-th tap hits an input pixel; with dilation, each tap is tested.
    let dense = args.dilation == vec2(1u);
    let first = select(vec2(0u), full % args.stride, dense);
    let advance = select(vec2(1u), args.stride, dense);

    var sums: Sums;
    var weights: BlockWeights;
    begin_block(&sums, &weights, dst, slice, args.window.x * args.window.y * args.span);
    let matrices = weights.texel;
    for (var ky = first.x; ky < args.window.x; ky += advance.x) {
        if ky * args.dilation.x > full.x { break; }
        let above = full.x - ky * args.dilation.x;
        let iy = above / args.stride.x;
        if iy >= src.h || above % args.stride.x != 0u { continue; }
        let line = row_start(src, image + iy) + begins * src.pitch;
        for (var kx = first.y; kx < args.window.y; kx += advance.y) {
            // Negative where the tap reaches only later pixels of the block.
            let before = i32(full.y) - i32(kx * args.dilation.y);
            if before % i32(step) != 0 { continue; }
            let column = before / i32(step);
            if column + i32(PIXELS) <= 0 || column >= i32(src.w) { continue; }
            var texel: array<u32, MAX_PIXELS>;
            var hit: array<bool, MAX_PIXELS>;
            for (var p = 0u; p < PIXELS; p++) {
                // Wraps below zero to beyond any width.
                let ix = u32(column) + p;
                hit[p] = ix < src.w;
                texel[p] = line + select(0u, ix, hit[p]);
            }
            let matrix = (ky * args.window.y + kx) * args.span * MATRIX_TEXELS;
            for (var s = 0u; s < SLICES; s++) { weights.texel[s] = matrices[s] + matrix; }
            for (var k = 0u; k < args.span; k++) {
                var v: PixelValues;
                for (var p = 0u; p < PIXELS; p++) {
                    v[p] = select(vec4(0.0), read_input(src, texel[p]), hit[p]);
                    texel[p] += src.pitch;
                }
                add_products(&sums, &weights, &v);
            }
        }
    }
    for (var p = 0u; p < PIXELS; p++) {
        let x = left + p * step;
        if x >= dst.w { break; }
        for (var s = 0u; s < SLICES; s++) {
            if slice + s < dst.slices { store_output(dst, row, x, slice + s, sums[p][s]); }
        }
    }
}
