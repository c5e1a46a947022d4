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

// Swaps the columns of two taps. Products written twice instead take half as long again to compile.
fn swap(one: ptr<function, PixelValues>, other: ptr<function, PixelValues>) {
    for (var p = 0u; p < PIXELS; p++) {
        let value = (*one)[p];
        (*one)[p] = (*other)[p];
        (*other)[p] = value;
    }
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
        // Columns of the windows' next tap but the last pixel's, and with a stride of two those of the tap after it.
        var next: PixelValues;
        var after: PixelValues;
        for (var p = 1u; p < PIXELS; p++) {
            let x = left + (p - 1u) * STRIDE_X;
            next[p] = column(src, line, inside, x);
            if STRIDE_X == 2u { after[p] = column(src, line, inside, x + 1u); }
        }
        for (var kx = 0u; kx < args.window.y; kx++) {
            advance(&next, column(src, line, inside, left + (PIXELS - 1u) * STRIDE_X + kx));
            add_products(&sums, &weights, &next);
            if STRIDE_X == 2u { swap(&next, &after); }
        }
    }
    let begin_pixel = row * dst.w;
    store_block(&sums, dst, begin_pixel + ox, begin_pixel + dst.w, slice);
}
