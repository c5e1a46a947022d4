// 2-D convolution of an input of one slice, as the first layers of networks for pictures are.
// An invocation computes a block of pixels of one row. It keeps the columns under its windows, so that each is loaded
// once, and moves them by a pixel from tap to tap. Weights are those of `conv`.

struct Params {
    blocks: u32,          // of pixels in a row
    window: vec2<u32>,
    stride_y: u32,
    dilation_y: u32,
    padding: vec2<u32>,   // above and on the left
}

// 1 or 2.
override STRIDE_X: u32 = 1u;

// Column of the padded image `x` of the row that begins with texel `line`; zero outside of the image.
fn column(src: Tensor, line: u32, inside: bool, x: u32) -> vec4<f32> {
    let hit = x < src.w;
    return select(vec4(0.0), read_input(src, line + select(0u, x, hit)), inside && hit);
}

// Moves the columns by one pixel and adds the last one.
fn advance(values: ptr<function, PixelValues>, last: vec4<f32>) {
    for (var p = 1u; p < PIXELS; p++) { (*values)[p - 1u] = (*values)[p]; }
    (*values)[PIXELS - 1u] = last;
}

@compute @workgroup_size(LANES)
fn main(@builtin(global_invocation_id) global: vec3<u32>) {
    let id = begin(global);
    let dispatch = dispatch_params();
    let args = params();
    let dst = output_tensor();
    let src = input_tensor();
    if id >= dispatch.items { return; }
    let block = divided(id, args.blocks);
    let strip = divided(block.quotient, dispatch.end_row - dispatch.first_row);
    let row = dispatch.first_row + strip.rest;
    let ox = block.rest * PIXELS;
    let slice = dispatch.first_slice + strip.quotient * SLICES;
    let place = divided(row, dst.h);
    // Both wrap below zero to beyond any extent.
    let top = place.rest * args.stride_y - args.padding.x;
    let left = ox * STRIDE_X - args.padding.y;
    let image = place.quotient * src.h;

    var sums: Sums;
    var weights: BlockWeights;
    begin_block(&sums, &weights, dst, slice, args.window.x * args.window.y);
    for (var ky = 0u; ky < args.window.x; ky++) {
        let y = top + ky * args.dilation_y;
        let inside = y < src.h;
        let line = row_start(src, image + select(0u, y, inside));
        // Columns of the windows' first tap, and with a stride of two of their second, but for the last pixel's.
        var first: PixelValues;
        var second: PixelValues;
        for (var p = 1u; p < PIXELS; p++) {
            let x = left + (p - 1u) * STRIDE_X;
            first[p] = column(src, line, inside, x);
            if STRIDE_X == 2u { second[p] = column(src, line, inside, x + 1u); }
        }
        for (var kx = 0u; kx < args.window.y; kx += STRIDE_X) {
            let x = left + (PIXELS - 1u) * STRIDE_X + kx;
            advance(&first, column(src, line, inside, x));
            add_products(&sums, &weights, &first);
            if STRIDE_X == 2u && kx + 1u < args.window.y {
                advance(&second, column(src, line, inside, x + 1u));
                add_products(&sums, &weights, &second);
            }
        }
    }
    let begin_pixel = row * dst.w;
    store_block(&sums, dst, begin_pixel + ox, begin_pixel + dst.w, slice);
}
