// Softmax over the channels of a pixel, `start` being its texel in the first slice: what an invocation does with every
// `step`-th slice from `first` on.

struct Params {
    beta: f32,
}

// True if the result is the logarithm of the softmax.
override LOG: bool = false;

// Returns `value` in lanes that are channels and `other` in the rest.
fn channels_or(t: Tensor, slice: u32, value: vec4<f32>, other: f32) -> vec4<f32> {
    return select(vec4(other), value, has_channels(t, slice));
}

fn greatest_of(src: Tensor, start: u32, first: u32, step: u32) -> f32 {
    var peak = read_input(src, start).xxxx;
    for (var s = first; s < src.slices; s += step) {
        peak = max(peak, channels_or(src, s, read_input(src, start + s * src.pitch), peak.x));
    }
    return max(max(peak.x, peak.y), max(peak.z, peak.w));
}

// The sum of `e^(beta * (x - greatest))`.
fn sum_of_powers(src: Tensor, start: u32, first: u32, step: u32, greatest: f32) -> f32 {
    let beta = params().beta;
    var sums = vec4(0.0);
    for (var s = first; s < src.slices; s += step) {
        sums += channels_or(src, s, exponential((read_input(src, start + s * src.pitch) - greatest) * beta), 0.0);
    }
    return (sums.x + sums.y) + (sums.z + sums.w);
}

fn store_softmax(src: Tensor, start: u32, first: u32, step: u32, greatest: f32, sum: f32, row: u32, x: u32) {
    let dst = output_tensor();
    let beta = params().beta;
    for (var s = first; s < src.slices; s += step) {
        let power = (read_input(src, start + s * src.pitch) - greatest) * beta;
        if LOG {
            store_output(dst, row, x, s, power - logarithm(vec4(sum)));
        } else {
            store_output(dst, row, x, s, exp(power) / sum);
        }
    }
}
