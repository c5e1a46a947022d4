// Depthwise convolution with one output channel for each input channel, a function, and a pointwise convolution of the
// result, which is never stored.
// An invocation computes PIXELS pixels of one row and SLICES slices. For each input slice it computes the depthwise
// convolution as `depthwise.wgsl` does, and adds its products to the sums of all slices.
// Weights: for each output slice and input slice a `WeightMatrix`; then, as four floats a texel, the biases of the output
// slices, and for each input slice its window and its bias.

struct Params {
    blocks: u32,         // of pixels in a row
    stride_y: u32,
    dilation_y: u32,
    padding: vec2<u32>,  // above and on the left
    alpha: f32,          // first parameter of BETWEEN
    beta: u32,           // second parameter of BETWEEN
}

// At most MAX_ROW_PIXELS.
override PIXELS: u32 = 4u;
// At most MAX_SUM_SLICES.
override SLICES: u32 = 8u;
override WINDOW_Y: u32 = 3u;
override WINDOW_X: u32 = 3u;
override STRIDE_X: u32 = 1u;
override DILATION_X: u32 = 1u;
// Columns that the pixels reach, at most MAX_COLUMNS.
override COLUMNS: u32 = 6u;
// Function between the convolutions, one of those of `activate`.
override BETWEEN: u32 = ACT_NONE;

alias Pixels = array<vec4<f32>, MAX_ROW_PIXELS>;
alias Sums = array<array<vec4<f32>, MAX_ROW_PIXELS>, MAX_SUM_SLICES>;

// The pointwise weights of each slice: the texel to read next, and the scale.
struct SumWeights {
    texel: array<u32, MAX_SUM_SLICES>,
    scale: array<WeightScale, MAX_SUM_SLICES>,
}

// The window in the input: rows, and whether they exist, and the first column.
struct Window {
    line: array<u32, MAX_WINDOW_ROWS>,
    inside: array<bool, MAX_WINDOW_ROWS>,
    left: u32,
}

// Computes slice `k` of the depthwise convolution for all pixels of the block.
fn depthwise(x: ptr<function, Pixels>, window: ptr<function, Window>, src: Tensor, first: u32, k: u32) {
    let bias = read_weight(first + WINDOW_Y * WINDOW_X);
    for (var p = 0u; p < PIXELS; p++) { (*x)[p] = bias; }
    var tap = first;
    for (var ky = 0u; ky < WINDOW_Y; ky++) {
        let inside = (*window).inside[ky];
        let line = (*window).line[ky] + k * src.pitch;
        var column: array<vec4<f32>, MAX_COLUMNS>;
        for (var c = 0u; c < COLUMNS; c++) {
            // Wraps below zero to beyond any width.
            let ix = (*window).left + c;
            let hit = ix < src.w;
            column[c] = select(vec4(0.0), read_input(src, line + select(0u, ix, hit)), inside && hit);
        }
        for (var kx = 0u; kx < WINDOW_X; kx++) {
            let w = read_weight(tap);
            tap += 1u;
            for (var p = 0u; p < PIXELS; p++) { (*x)[p] += column[p * STRIDE_X + kx * DILATION_X] * w; }
        }
    }
}

// The sums of an invocation, of slices from `slice` on.
struct Block {
    sums: Sums,
    weights: SumWeights,
    slice: u32,
    row: u32,
    ox: u32,
}

// Starts the sums of slice `s` with the biases.
fn begin_slice(block: ptr<function, Block>, src: Tensor, dst: Tensor, s: u32) {
    let dispatch = dispatch_params();
    let out = min((*block).slice + s, dst.slices - 1u);
    let texel = dispatch.weight_base + out * (SCALE_TEXELS + src.slices * MATRIX_TEXELS);
    (*block).weights.texel[s] = texel + SCALE_TEXELS;
    (*block).weights.scale[s] = weight_scale(texel, dispatch.weight_shift);
    let bias = read_weight(dispatch.bias + out);
    for (var p = 0u; p < PIXELS; p++) { (*block).sums[s][p] = bias; }
}

// Adds the products of four input channels to the sums of slice `s`.
fn add_slice(block: ptr<function, Block>, x: ptr<function, Pixels>, s: u32) {
    let w = weight_matrix((*block).weights.texel[s], dispatch_params().weight_shift, (*block).weights.scale[s]);
    (*block).weights.texel[s] += MATRIX_TEXELS;
    for (var p = 0u; p < PIXELS; p++) { (*block).sums[s][p] += product((*x)[p], w); }
}

// Stores the sums of slice `s`.
fn store_slice(block: ptr<function, Block>, dst: Tensor, s: u32) {
    let slice = (*block).slice + s;
    if slice >= dst.slices { return; }
    for (var p = 0u; p < PIXELS; p++) {
        let ox = (*block).ox + p;
        if ox < dst.w { store_output(dst, (*block).row, ox, slice, (*block).sums[s][p]); }
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
    let parts = (dst.slices + SLICES - 1u) / SLICES;
    let block = divided(id, args.blocks);
    let line = divided(block.quotient, parts);
    let ox = block.rest * PIXELS;
    let slice = line.rest * SLICES;
    let row = dispatch.first_row + line.quotient;
    let place = divided(row, dst.h);

    var window: Window;
    window.left = ox * STRIDE_X - args.padding.y;
    let image = place.quotient * src.h;
    let top = place.rest * args.stride_y - args.padding.x;
    for (var ky = 0u; ky < WINDOW_Y; ky++) {
        // Wraps below zero to beyond any height.
        let iy = top + ky * args.dilation_y;
        let inside = iy < src.h;
        window.inside[ky] = inside;
        window.line[ky] = row_start(src, image + select(0u, iy, inside));
    }

    // Slices are named one by one, because llvmpipe unrolls no loop with so long a body.
    var sums: Block;
    sums.slice = slice;
    sums.row = row;
    sums.ox = ox;
    begin_slice(&sums, src, dst, 0u);
    if SLICES > 1u { begin_slice(&sums, src, dst, 1u); }
    if SLICES > 2u { begin_slice(&sums, src, dst, 2u); }
    if SLICES > 3u { begin_slice(&sums, src, dst, 3u); }
    if SLICES > 4u { begin_slice(&sums, src, dst, 4u); }
    if SLICES > 5u { begin_slice(&sums, src, dst, 5u); }
    if SLICES > 6u { begin_slice(&sums, src, dst, 6u); }
    if SLICES > 7u { begin_slice(&sums, src, dst, 7u); }
    for (var k = 0u; k < src.slices; k++) {
        var x: Pixels;
        depthwise(&x, &window, src, dispatch.bias + dst.slices + k * (WINDOW_Y * WINDOW_X + 1u), k);
        let channels = has_channels(src, k);
        for (var p = 0u; p < PIXELS; p++) {
            x[p] = select(vec4(0.0), activate(BETWEEN, x[p], k, args.alpha, args.beta), channels);
        }
        add_slice(&sums, &x, 0u);
        if SLICES > 1u { add_slice(&sums, &x, 1u); }
        if SLICES > 2u { add_slice(&sums, &x, 2u); }
        if SLICES > 3u { add_slice(&sums, &x, 3u); }
        if SLICES > 4u { add_slice(&sums, &x, 4u); }
        if SLICES > 5u { add_slice(&sums, &x, 5u); }
        if SLICES > 6u { add_slice(&sums, &x, 6u); }
        if SLICES > 7u { add_slice(&sums, &x, 7u); }
    }
    store_slice(&sums, dst, 0u);
    if SLICES > 1u { store_slice(&sums, dst, 1u); }
    if SLICES > 2u { store_slice(&sums, dst, 2u); }
    if SLICES > 3u { store_slice(&sums, dst, 3u); }
    if SLICES > 4u { store_slice(&sums, dst, 4u); }
    if SLICES > 5u { store_slice(&sums, dst, 5u); }
    if SLICES > 6u { store_slice(&sums, dst, 6u); }
    if SLICES > 7u { store_slice(&sums, dst, 7u); }
}
