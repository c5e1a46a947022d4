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

// Fours of inputs that are taken in a round: 16 of very many, else one.
override TAKEN: u32 = 1u;

// Where an output texel's inputs and weights are.
struct Dense {
    first: u32,     // input
    last: u32,
    fours: u32,
    weights: u32,
    shift: u32,
    scale: WeightScale,
}

// The sum with four inputs.
fn sum_with(src: Tensor, o: Dense, k: u32, sum: vec4<f32>) -> vec4<f32> {
    if k >= o.fours { return sum; }
    let n = o.first + k * 4u;
    var x: vec4<f32>;
    if ALIGNED {
        let pixel = n / src.c;
        x = read_input(src, texel_of(src, pixel / src.w, n % src.c / 4u, pixel % src.w));
    } else {
        let last = o.last;
        x = vec4(dense(src, n, last), dense(src, n + 1u, last), dense(src, n + 2u, last), dense(src, n + 3u, last));
    }
    return sum + product(x, weight_matrix(o.weights + k * MATRIX_TEXELS, o.shift, o.scale));
}

fn sum_with_four(src: Tensor, o: Dense, k: u32, sum: vec4<f32>) -> vec4<f32> {
    let two = sum_with(src, o, k + 1u, sum_with(src, o, k, sum));
    return sum_with(src, o, k + 3u, sum_with(src, o, k + 2u, two));
}

@compute @workgroup_size(LANES)
fn main(@builtin(global_invocation_id) global: vec3<u32>) {
    let id = begin(global);
    let dispatch = dispatch_params();
    let args = params();
    let dst = output_tensor();
    let src = input_tensor();
    if id >= dispatch.items { return; }
    let place = divided(id, args.slices);
    let pixel = dispatch.first_row * dst.w + place.quotient;
    let slice = dispatch.first_slice + place.rest;
    let fours = (args.inputs + 3u) / 4u;
    let weights = dispatch.weight_base + slice * (SCALE_TEXELS + fours * MATRIX_TEXELS);
    let scale = weight_scale(weights, dispatch.weight_shift);
    let first = pixel * args.inputs;
    let o = Dense(first, first + args.inputs - 1u, fours, weights + SCALE_TEXELS, dispatch.weight_shift, scale);
    var sum = read_weight(dispatch.bias + slice);
    for (var k = 0u; k < fours; k += TAKEN) {
        if TAKEN == 1u {
            sum = sum_with(src, o, k, sum);
        } else {
            sum = sum_with_four(src, o, k, sum);
            sum = sum_with_four(src, o, k + 4u, sum);
            sum = sum_with_four(src, o, k + 8u, sum);
            sum = sum_with_four(src, o, k + 12u, sum);
        }
    }
    let result = divided(pixel, dst.w);
    store_output(dst, result.quotient, result.rest, slice, sum);
}
