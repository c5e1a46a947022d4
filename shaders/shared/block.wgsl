// The block that an invocation of a convolution computes: PIXELS pixels, one after another in dense order, by SLICES
// slices of output channels.
override PIXELS: u32 = MAX_PIXELS;
override SLICES: u32 = MAX_SLICES;
// True if the fourth channel of every slice of the input is zero, as that of a picture is.
override THREE: bool = false;

alias PixelValues = array<vec4<f32>, MAX_PIXELS>;
alias Sums = array<array<vec4<f32>, MAX_SLICES>, MAX_PIXELS>;

// The weights of each slice: the texel to read next, and the scale.
struct BlockWeights {
    texel: array<u32, MAX_SLICES>,
    scale: array<WeightScale, MAX_SLICES>,
}

// Initialises the sums with the biases. Each output slice has `matrices` weight matrices.
fn begin_block(
    sums: ptr<function, Sums>,
    weights: ptr<function, BlockWeights>,
    dst: Tensor,
    slice: u32,
    matrices: u32,
) {
    let dispatch = dispatch_params();
    for (var s = 0u; s < SLICES; s++) {
        let out = min(slice + s, dst.slices - 1u);
        let texel = dispatch.weight_base + out * (SCALE_TEXELS + matrices * MATRIX_TEXELS);
        (*weights).texel[s] = texel + SCALE_TEXELS;
        (*weights).scale[s] = weight_scale(texel, dispatch.weight_shift);
        let value = read_weight(dispatch.bias + out);
        for (var p = 0u; p < PIXELS; p++) { (*sums)[p][s] = value; }
    }
}

// The product, without the terms of a channel that is always zero.
fn block_product(x: vec4<f32>, w: WeightMatrix) -> vec4<f32> {
    if THREE { return x.x * w.c0 + x.y * w.c1 + x.z * w.c2; }
    return product(x, w);
}

// Adds the products of four input channels to slice `s` of the block.
fn add_slice(sums: ptr<function, Sums>, weights: ptr<function, BlockWeights>, x: ptr<function, PixelValues>, s: u32) {
    let w = weight_matrix((*weights).texel[s], dispatch_params().weight_shift, (*weights).scale[s]);
    (*weights).texel[s] += MATRIX_TEXELS;
    for (var p = 0u; p < PIXELS; p++) { (*sums)[p][s] += block_product((*x)[p], w); }
}

// Adds the products of four input channels to all slices; SLICES is 1, 2 or 4. Written without a loop, because
// llvmpipe did not unroll one over two slices of 8-bit weights in a pool of 16-bit floats.
fn add_products(sums: ptr<function, Sums>, weights: ptr<function, BlockWeights>, x: ptr<function, PixelValues>) {
    add_slice(sums, weights, x, 0u);
    if SLICES > 1u { add_slice(sums, weights, x, 1u); }
    if SLICES > 2u {
        add_slice(sums, weights, x, 2u);
        add_slice(sums, weights, x, 3u);
    }
}

// Stores the block's pixels, the first being `first`; pixels from `end` on are dropped. The loop over pixels is the outer
// one, because llvmpipe did not unroll one over two slices around it.
fn store_block(sums: ptr<function, Sums>, dst: Tensor, first: u32, end: u32, slice: u32) {
    // Row, counted through all images, and column.
    var pixel = divided(first, dst.w);
    for (var p = 0u; p < PIXELS; p++) {
        if first + p >= end { break; }
        let texel = texel_of(dst, pixel.quotient, slice, pixel.rest);
        var added_texel = 0u;
        if ADD { added_texel = texel_of(added, pixel.quotient, slice, pixel.rest); }
        for (var s = 0u; s < SLICES; s++) {
            if slice + s < dst.slices {
                store_at(dst, texel + s * dst.pitch, added_texel + s * added.pitch, slice + s, (*sums)[p][s]);
            }
        }
        pixel = next_division(pixel, dst.w);
    }
}
