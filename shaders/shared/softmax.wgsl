// Softmax over the channels of a pixel, `start` being its texel in the first slice: what an invocation does with every
// `step`-th slice from `first` on.

struct Params {
    beta: f32,
    starts: vec2<u32>,   // first weight texels of the constants that are added
    first: Tensor,       // those constants; their texels are rows, slices, pixels
    second: Tensor,
}

// True if the result is the logarithm of the softmax.
override LOG: bool = false;

// Slices that are taken in a round: 16 of a long axis, else one.
override TAKEN: u32 = 1u;

// Tensors that are added to the operand first. Extents of one are repeated, except for channels.
override FIRST_ADDEND: u32 = ADDEND_NONE;
override SECOND_ADDEND: u32 = ADDEND_NONE;

// An addend, and its texel in the first slice of the pixel.
struct Addend {
    tensor: Tensor,
    start: u32,
}

var<private> first_addend: Addend;
var<private> second_addend: Addend;

// The row of an addend for row `image.rest` of an image, and its column for pixel `x`.
fn addend_row(t: Tensor, image: Division) -> u32 {
    return select(image.quotient, 0u, t.b == 1u) * t.h + select(image.rest, 0u, t.h == 1u);
}

fn addend_column(t: Tensor, x: u32) -> u32 {
    return select(x, 0u, t.w == 1u);
}

fn placed_addend(image: Division, x: u32) -> Addend {
    let t = second_tensor();
    return Addend(t, row_start(t, addend_row(t, image)) + addend_column(t, x));
}

fn constant_addend(t: Tensor, start: u32, image: Division, x: u32) -> Addend {
    return Addend(t, start + addend_row(t, image) * (t.slices * t.pitch) + addend_column(t, x));
}

// The operand's texel in the first slice of a pixel. Comes before anything that reads values.
fn pixel_start(src: Tensor, row: u32, x: u32) -> u32 {
    let image = divided(row, src.h);
    if FIRST_ADDEND == ADDEND_PLACED { first_addend = placed_addend(image, x); }
    if FIRST_ADDEND == ADDEND_CONSTANT {
        first_addend = constant_addend(params().first, params().starts.x, image, x);
    }
    if SECOND_ADDEND == ADDEND_PLACED { second_addend = placed_addend(image, x); }
    if SECOND_ADDEND == ADDEND_CONSTANT {
        second_addend = constant_addend(params().second, params().starts.y, image, x);
    }
    return row_start(src, row) + x;
}

// Four channels of the pixel whose first texel is `start`.
fn read_sum(src: Tensor, start: u32, s: u32) -> vec4<f32> {
    var value = read_input(src, start + s * src.pitch);
    let first = first_addend.start + s * first_addend.tensor.pitch;
    if FIRST_ADDEND == ADDEND_PLACED { value += read_second(first_addend.tensor, first); }
    if FIRST_ADDEND == ADDEND_CONSTANT { value += read_weight(first); }
    let second = second_addend.start + s * second_addend.tensor.pitch;
    if SECOND_ADDEND == ADDEND_PLACED { value += read_second(second_addend.tensor, second); }
    if SECOND_ADDEND == ADDEND_CONSTANT { value += read_weight(second); }
    return value;
}

// Returns `value` in lanes that are channels and `other` in the rest.
fn channels_or(t: Tensor, slice: u32, value: vec4<f32>, other: f32) -> vec4<f32> {
    return select(vec4(other), value, has_channels(t, slice));
}

fn peak_with(src: Tensor, start: u32, s: u32, peak: vec4<f32>) -> vec4<f32> {
    if s >= src.slices { return peak; }
    return max(peak, channels_or(src, s, read_sum(src, start, s), peak.x));
}

fn peak_with_four(src: Tensor, start: u32, s: u32, step: u32, peak: vec4<f32>) -> vec4<f32> {
    let two = peak_with(src, start, s + step, peak_with(src, start, s, peak));
    return peak_with(src, start, s + 3u * step, peak_with(src, start, s + 2u * step, two));
}

fn greatest_of(src: Tensor, start: u32, first: u32, step: u32) -> f32 {
    var peak = read_sum(src, start, 0u).xxxx;
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
    let power = exponential((read_sum(src, start, s) - base.greatest) * base.beta);
    return sums + channels_or(src, s, power, 0.0);
}

fn sums_with_four(src: Tensor, start: u32, s: u32, step: u32, base: Base, sums: vec4<f32>) -> vec4<f32> {
    let two = sums_with(src, start, s + step, base, sums_with(src, start, s, base, sums));
    return sums_with(src, start, s + 3u * step, base, sums_with(src, start, s + 2u * step, base, two));
}

fn sum_of_powers(src: Tensor, start: u32, first: u32, step: u32, greatest: f32) -> f32 {
    let base = Base(greatest, params().beta);
    var sums = vec4(0.0);
    for (var slice = first; slice < src.slices; slice += step * TAKEN) {
        if TAKEN == 1u {
            sums = sums_with(src, start, slice, base, sums);
        } else {
            sums = sums_with_four(src, start, slice, step, base, sums);
            sums = sums_with_four(src, start, slice + 4u * step, step, base, sums);
            sums = sums_with_four(src, start, slice + 8u * step, step, base, sums);
            sums = sums_with_four(src, start, slice + 12u * step, step, base, sums);
        }
    }
    return (sums.x + sums.y) + (sums.z + sums.w);
}

// The pixel whose softmax is stored: its column, and its first texels in the operand, the result and the tensor that is
// added.
struct Softmaxed {
    start: u32,
    output: u32,
    added: u32,
    base: Base,
    // The sum's reciprocal, or its logarithm.
    sum: f32,
}

fn softmaxed(start: u32, row: u32, x: u32, greatest: f32, sum: f32) -> Softmaxed {
    var added_texel = 0u;
    if ADD { added_texel = row_start(added, row) + x; }
    let base = Base(greatest, params().beta);
    let output = row_start(output_tensor(), row) + x;
    if LOG { return Softmaxed(start, output, added_texel, base, logarithm(vec4(sum)).x); }
    return Softmaxed(start, output, added_texel, base, 1.0 / sum);
}

fn store_slice(src: Tensor, pixel: Softmaxed, s: u32) {
    if s < src.slices {
        let dst = output_tensor();
        let power = (read_sum(src, pixel.start, s) - pixel.base.greatest) * pixel.base.beta;
        var value: vec4<f32>;
        if LOG { value = power - pixel.sum; } else { value = exp(power) * pixel.sum; }
        store_at(dst, pixel.output + s * dst.pitch, pixel.added + s * added.pitch, s, value);
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
