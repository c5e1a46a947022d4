// The block that an invocation of a convolution computes: PIXELS pixels, one after another in dense order, by SLICES
// slices of output channels.
override PIXELS: u32 = MAX_PIXELS;
override SLICES: u32 = MAX_SLICES;

alias PixelValues = array<vec4<f32>, MAX_PIXELS>;
alias Sums = array<array<vec4<f32>, MAX_SLICES>, MAX_PIXELS>;
// The texel of the next weights of each slice.
alias WeightTexels = array<u32, MAX_SLICES>;

// Begins sums with the biases. Each output slice has `texels` of weights.
fn begin_block(
    sums: ptr<function, Sums>,
    weights: ptr<function, WeightTexels>,
    dst: Tensor,
    slice: u32,
    texels: u32,
    bias: u32,
) {
    let base = dispatch_params().weight_base;
    for (var s = 0u; s < SLICES; s++) {
        let out = min(slice + s, dst.slices - 1u);
        (*weights)[s] = base + out * texels;
        let value = read_weight(bias + out);
        for (var p = 0u; p < PIXELS; p++) { (*sums)[p][s] = value; }
    }
}

// Adds what four input channels give.
fn add_products(sums: ptr<function, Sums>, weights: ptr<function, WeightTexels>, x: ptr<function, PixelValues>) {
    let shift = dispatch_params().weight_shift;
    for (var s = 0u; s < SLICES; s++) {
        let w = weight_matrix((*weights)[s], shift);
        (*weights)[s] += 4u;
        for (var p = 0u; p < PIXELS; p++) { (*sums)[p][s] += product((*x)[p], w); }
    }
}

// Stores pixels from `first` on as far as they are before `end`.
fn store_block(sums: ptr<function, Sums>, dst: Tensor, first: u32, end: u32, slice: u32) {
    for (var p = 0u; p < PIXELS; p++) {
        let pixel = first + p;
        if pixel >= end { break; }
        for (var s = 0u; s < SLICES; s++) {
            if slice + s < dst.slices {
                store_output(dst, pixel / dst.w, pixel % dst.w, slice + s, (*sums)[p][s]);
            }
        }
    }
}
