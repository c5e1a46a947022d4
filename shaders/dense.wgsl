// Fully connected layer over values in dense order, where they are not the channels of one pixel.
// An invocation computes one slice of one output pixel. Weights: for each output slice and each four inputs a
// `WeightMatrix`; then the biases.

struct Params {
    inputs: u32,   // of an output pixel
    slices: u32,   // that are computed
}

// True if every four consecutive inputs are one texel.
override ALIGNED: bool = true;

// Value `n` of the input in dense order, zero behind the last.
fn dense(src: Tensor, n: u32, last: u32) -> f32 {
    let held = min(n, last);
    let pixel = held / src.c;
    let channel = held % src.c;
    let value = read_input(src, texel_of(src, pixel / src.w, channel / 4u, pixel % src.w))[channel % 4u];
    return select(0.0, value, n <= last);
}

@compute @workgroup_size(LANES)
fn main(@builtin(global_invocation_id) global: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>) {
    let id = begin(global, group);
    let dispatch = dispatch_params();
    if id >= dispatch.items { return; }
    let args = params();
    let dst = output_tensor();
    let src = input_tensor();
    let pixel = dispatch.first_row * dst.w + id / args.slices;
    let slice = dispatch.first_slice + id % args.slices;
    let fours = (args.inputs + 3u) / 4u;
    var weights = dispatch.weight_base + slice * (SCALE_TEXELS + fours * MATRIX_TEXELS);
    let scale = weight_scale(weights, dispatch.weight_shift);
    weights += SCALE_TEXELS;
    var sum = read_weight(dispatch.bias + slice);
    for (var k = 0u; k < fours; k++) {
        let n = pixel * args.inputs + k * 4u;
        var x: vec4<f32>;
        if ALIGNED {
            let pixel_in = n / src.c;
            x = read_input(src, texel_of(src, pixel_in / src.w, n % src.c / 4u, pixel_in % src.w));
        } else {
            let last = (pixel + 1u) * args.inputs - 1u;
            x = vec4(dense(src, n, last), dense(src, n + 1u, last), dense(src, n + 2u, last), dense(src, n + 3u, last));
        }
        sum += product(x, weight_matrix(weights, dispatch.weight_shift, scale));
        weights += MATRIX_TEXELS;
    }
    store_output(dst, pixel / dst.w, pixel % dst.w, slice, sum);
}
