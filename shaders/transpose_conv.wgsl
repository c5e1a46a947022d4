// Transposed 2-D convolution, gathered: each pixel of the result looks up the taps that reach it. One texel an
// invocation. Weights: for each output slice, window row, window column and input slice of the output slice's span a
// `WeightMatrix`; then the biases.

// Pairs are of y and x.
struct Params {
    window: vec2<u32>,
    stride: vec2<u32>,
    cut: vec2<u32>,      // rows and columns of the full result that are left out above and on the left
    span: u32,           // input slices that an output slice reads
    dilation: vec2<u32>,
    out_group: u32,      // output channels of a group
    in_group: u32,       // input channels of a group
}

fn compute(dst: Tensor, o: OutputTexel) -> vec4<f32> {
    let src = input_tensor();
    let args = params();
    let dispatch = dispatch_params();
    let slice = o.slice;
    // The span of input slices starts where the group of the slice's first channel does.
    let begins = min((slice * 4u / args.out_group) * args.in_group / 4u, src.slices - args.span);
    // In the full result a tap `k` comes from input pixel `(full - k * dilation) / stride`, where that is whole.
    let full = vec2(o.y, o.x) + args.cut;
    let image = o.b * src.h;
    // Without dilation every `stride`-th tap hits an input pixel; with dilation, each tap is tested.
    let dense = args.dilation == vec2(1u);
    let first = select(vec2(0u), full % args.stride, dense);
    let advance = select(vec2(1u), args.stride, dense);
    let matrices = args.window.x * args.window.y * args.span;
    let of_slice = dispatch.weight_base + slice * (SCALE_TEXELS + matrices * MATRIX_TEXELS);
    let scale = weight_scale(of_slice, dispatch.weight_shift);
    var sum = read_weight(dispatch.bias + slice);
    for (var ky = first.x; ky < args.window.x; ky += advance.x) {
        if ky * args.dilation.x > full.x { break; }
        let above = full.x - ky * args.dilation.x;
        let iy = above / args.stride.x;
        if iy >= src.h || above % args.stride.x != 0u { continue; }
        let start = row_start(src, image + iy) + begins * src.pitch;
        for (var kx = first.y; kx < args.window.y; kx += advance.y) {
            if kx * args.dilation.y > full.y { break; }
            let before = full.y - kx * args.dilation.y;
            let ix = before / args.stride.y;
            if ix >= src.w || before % args.stride.y != 0u { continue; }
            let matrix = (ky * args.window.y + kx) * args.span;
            var weights = of_slice + SCALE_TEXELS + matrix * MATRIX_TEXELS;
            for (var k = 0u; k < args.span; k++) {
                let v = read_input(src, start + k * src.pitch + ix);
                sum += product(v, weight_matrix(weights, dispatch.weight_shift, scale));
                weights += MATRIX_TEXELS;
            }
        }
    }
    return sum;
}
