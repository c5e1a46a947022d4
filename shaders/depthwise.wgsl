// Depthwise convolution, one output channel for each input channel.
// An invocation computes PIXELS pixels of one row and slice, and loads each input column once for all of them.
// Weights: for each slice, window row and window column one of each channel, from a new texel on; then the biases.

struct Params {
    blocks: u32,         // of pixels in a row
    stride_y: u32,
    dilation_y: u32,
    padding: vec2<u32>,  // above and on the left
}

// At most MAX_ROW_PIXELS.
override PIXELS: u32 = 4u;
override WINDOW_Y: u32 = 3u;
override WINDOW_X: u32 = 3u;
override STRIDE_X: u32 = 1u;
override DILATION_X: u32 = 1u;
// Columns that the pixels reach, at most MAX_COLUMNS.
override COLUMNS: u32 = 6u;
// Keeps the loop over the window's rows a loop, which compiles in two thirds of the time.
override ROLLED: bool = false;

@compute @workgroup_size(LANES)
fn main(@builtin(global_invocation_id) global: vec3<u32>) {
    let id = begin(global);
    let dispatch = dispatch_params();
    let args = params();
    let dst = output_tensor();
    let src = input_tensor();
    if id >= dispatch.items { return; }
    let block = divided(id, args.blocks);
    let line_block = divided(block.quotient, dst.slices);
    let row = dispatch.first_row + line_block.quotient;
    let slice = line_block.rest;
    let ox = block.rest * PIXELS;
    let left = ox * STRIDE_X - args.padding.y;
    let place = divided(row, dst.h);
    let image = place.quotient * src.h;
    let top = place.rest * args.stride_y - args.padding.x;

    var sum: array<vec4<f32>, MAX_ROW_PIXELS>;
    let bias = read_weight(dispatch.bias + slice);
    for (var p = 0u; p < PIXELS; p++) { sum[p] = bias; }
    let begins = dispatch.weight_base + slice * (SCALE_TEXELS + tap_texels(WINDOW_Y * WINDOW_X));
    let scale = weight_scale(begins, dispatch.weight_shift);
    let first = begins + SCALE_TEXELS;
    var tap = 0u;
    for (var ky = select(0u, origin, ROLLED); ky < WINDOW_Y; ky++) {
        // Wraps below zero to beyond any height; so do columns.
        let iy = top + ky * args.dilation_y;
        let inside = iy < src.h;
        let line = row_start(src, image + select(0u, iy, inside)) + slice * src.pitch;
        var column: array<vec4<f32>, MAX_COLUMNS>;
        for (var c = 0u; c < COLUMNS; c++) {
            let ix = left + c;
            let hit = ix < src.w;
            column[c] = select(vec4(0.0), read_input(src, line + select(0u, ix, hit)), inside && hit);
        }
        for (var kx = 0u; kx < WINDOW_X; kx++) {
            let w = weight_tap(first, tap, dispatch.weight_shift, scale);
            tap += 1u;
            for (var p = 0u; p < PIXELS; p++) { sum[p] += column[p * STRIDE_X + kx * DILATION_X] * w; }
        }
    }
    let texel = texel_of(dst, row, slice, ox);
    var added_texel = 0u;
    if ADD { added_texel = texel_of(added, row, slice, ox); }
    for (var p = 0u; p < PIXELS; p++) {
        if ox + p < dst.w { store_at(dst, texel + p, added_texel + p, slice, sum[p]); }
    }
}
