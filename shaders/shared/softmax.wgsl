// Softmax over the channels of a pixel, `start` being its texel in the first slice: what an invocation does with every
// `step`-th slice from `first` on.

struct Params {
    beta: f32,
}

// True if the result is the logarithm of the softmax.
override LOG: bool = false;

// Slices that are taken in a round: 16 of a long axis, else one.
override TAKEN: u32 = 1u;

// Returns `value` in lanes that are channels and `other` in the rest.
fn channels_or(t: Tensor, slice: u32, value: vec4<f32>, other: f32) -> vec4<f32> {
    return select(vec4(other), value, has_channels(t, slice));
}

fn peak_with(src: Tensor, start: u32, s: u32, peak: vec4<f32>) -> vec4<f32> {
    if s >= src.slices { return peak; }
    return max(peak, channels_or(src, s, read_input(src, start + s * src.pitch), peak.x));
}

fn peak_with_four(src: Tensor, start: u32, s: u32, step: u32, peak: vec4<f32>) -> vec4<f32> {
    let two = peak_with(src, start, s + step, peak_with(src, start, s, peak));
    return peak_with(src, start, s + 3u * step, peak_with(src, start, s + 2u * step, two));
}

fn greatest_of(src: Tensor, start: u32, first: u32, step: u32) -> f32 {
    var peak = read_input(src, start).xxxx;
    for (var s = first; s < src.slices; s += step * TAKEN) {
        if TAKEN == 1u {
            peak = peak_with(src, start, s, peak);
        } else {
            peak = peak_with_four(src, start, s, step, peak);
            peak = peak_with_four(src, start, s + 4u * step, step, peak);
            peak = peak_with_four(src, start, s + 8u * step, step, peak);
            peak = peak_with_four(src, start, s + 12u * step, step, peak);
        }
    }
    return max(max(peak.x, peak.y), max(peak.z, peak.w));
}

// What powers are taken of: `beta * (x - greatest)`.
struct Base {
    greatest: f32,
    beta: f32,
}

// The sums with `e^(beta * (x - greatest))`.
fn sums_with(src: Tensor, start: u32, s: u32, base: Base, sums: vec4<f32>) -> vec4<f32> {
    if s >= src.slices { return sums; }
    let power = exponential((read_input(src, start + s * src.pitch) - base.greatest) * base.beta);
    return sums + channels_or(src, s, power, 0.0);
}

fn sums_with_four(src: Tensor, start: u32, s: u32, step: u32, base: Base, sums: vec4<f32>) -> vec4<f32> {
    let two = sums_with(src, start, s + step, base, sums_with(src, start, s, base, sums));
    return sums_with(src, start, s + 3u * step, base, sums_with(src, start, s + 2u * step, base, two));
}

fn sum_of_powers(src: Tensor, start: u32, first: u32, step: u32, greatest: f32) -> f32 {
    let base = Base(greatest, params().beta);
    var sums = vec4(0.0);
    for (var s = first; s < src.slices; s += step * TAKEN) {
        if TAKEN == 1u {
            sums = sums_with(src, start, s, base, sums);
        } else {
            sums = sums_with_four(src, start, s, step, base, sums);
            sums = sums_with_four(src, start, s + 4u * step, step, base, sums);
            sums = sums_with_four(src, start, s + 8u * step, step, base, sums);
            sums = sums_with_four(src, start, s + 12u * step, step, base, sums);
        }
    }
    return (sums.x + sums.y) + (sums.z + sums.w);
}

// The pixel whose softmax is stored.
struct Softmaxed {
    row: u32,
    x: u32,
    start: u32,
    base: Base,
    sum: f32,
}

fn store_slice(src: Tensor, pixel: Softmaxed, s: u32) {
    if s < src.slices {
        let dst = output_tensor();
        let power = (read_input(src, pixel.start + s * src.pitch) - pixel.base.greatest) * pixel.base.beta;
        if LOG {
            store_output(dst, pixel.row, pixel.x, s, power - logarithm(vec4(pixel.sum)));
        } else {
            store_output(dst, pixel.row, pixel.x, s, exp(power) / pixel.sum);
        }
    }
}

fn store_four(src: Tensor, pixel: Softmaxed, s: u32, step: u32) {
    store_slice(src, pixel, s);
    store_slice(src, pixel, s + step);
    store_slice(src, pixel, s + 2u * step);
    store_slice(src, pixel, s + 3u * step);
}

fn store_softmax(src: Tensor, pixel: Softmaxed, first: u32, step: u32) {
    for (var s = first; s < src.slices; s += step * TAKEN) {
        if TAKEN == 1u {
            store_slice(src, pixel, s);
        } else {
            store_four(src, pixel, s, step);
            store_four(src, pixel, s + 4u * step, step);
            store_four(src, pixel, s + 8u * step, step);
            store_four(src, pixel, s + 12u * step, step);
        }
    }
}
