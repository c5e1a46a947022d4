// Texels of four bytes. Either they number values that are whole multiples of a scale, or four texels hold the bits of
// four 32-bit floats: the lowest bytes in the first plane of the row, the highest in the last. Weights lie in texels of
// 32-bit floats.
alias Texel = vec4<u32>;

// Tensors of 32-bit floats.
override INPUT_PLANES: bool = false;
override SECOND_PLANES: bool = false;
override OUTPUT_PLANES: bool = false;

// The values of a texel of weights.
fn from_texel(texel: vec4<f32>) -> vec4<f32> {
    return texel;
}

// The base-two logarithm of the width of a tensor's texture.
fn width_shift(t: Tensor) -> u32 {
    return extractBits(t.shift, 0u, SHIFT_BITS);
}

// The multiple of the scale that byte 0 is, which is stored 2^15 higher.
fn least_multiple(t: Tensor) -> f32 {
    return f32(t.shift >> SHIFT_BITS) - 32768.0;
}

fn multiples(t: Tensor, bytes: Texel) -> vec4<f32> {
    return (vec4<f32>(bytes) + least_multiple(t)) * bitcast<f32>(t.storage);
}

fn floats_of(lowest: Texel, low: Texel, high: Texel, highest: Texel) -> vec4<f32> {
    return bitcast<vec4<f32>>(lowest | (low << vec4(8u)) | (high << vec4(16u)) | (highest << vec4(24u)));
}

fn read_input(t: Tensor, texel: u32) -> vec4<f32> {
    let shift = width_shift(t);
    let first = load_input(texel, shift);
    if !INPUT_PLANES { return multiples(t, first); }
    let middle = texel + 2u * t.storage;
    return floats_of(
        first,
        load_input(texel + t.storage, shift),
        load_input(middle, shift),
        load_input(middle + t.storage, shift)
    );
}

fn read_second(t: Tensor, texel: u32) -> vec4<f32> {
    let shift = width_shift(t);
    let first = load_second(texel, shift);
    if !SECOND_PLANES { return multiples(t, first); }
    let middle = texel + 2u * t.storage;
    return floats_of(
        first,
        load_second(texel + t.storage, shift),
        load_second(middle, shift),
        load_second(middle + t.storage, shift)
    );
}

// `TexelStorage::byte` in `crates/texpool-ops/src/graph/texel_storage.rs` rounds the same way.
fn write_values(t: Tensor, texel: u32, values: vec4<f32>) {
    let shift = width_shift(t);
    if OUTPUT_PLANES {
        let bits = bitcast<vec4<u32>>(values);
        for (var byte = 0u; byte < 4u; byte++) {
            write_texel(texel + byte * t.storage, shift, (bits >> vec4(8u * byte)) & vec4(255u));
        }
        return;
    }
    let steps = round(values / bitcast<f32>(t.storage));
    let bytes = clamp(steps - least_multiple(t), vec4(0.0), vec4(255.0));
    write_texel(texel, shift, select(vec4<u32>(bytes), vec4(255u), no_number(values)));
}

// Clamps values to the range of the format. Tensors of bytes hold only values that were rounded to a byte's.
fn saturated(v: vec4<f32>) -> vec4<f32> {
    return v;
}

// Counts values outside the range of the format; with 32-bit floats this never happens.
fn count_saturated(v: vec4<f32>) {}

// Returns the value as it reads back after a store.
fn stored(v: vec4<f32>) -> vec4<f32> {
    return v;
}
