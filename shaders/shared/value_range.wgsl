// The range of values, extended to zero.

struct ValueRange {
    least: vec4<f32>,
    greatest: vec4<f32>,
    magnitude: vec4<u32>,   // the greatest bits without a sign, which are those of a NaN if there is one
}

fn range_of_zero() -> ValueRange {
    return ValueRange(vec4(0.0), vec4(0.0), vec4(0u));
}

fn extended(range: ValueRange, v: vec4<f32>) -> ValueRange {
    let bits = bitcast<vec4<u32>>(v) & vec4(0x7fffffffu);
    return ValueRange(min(range.least, v), max(range.greatest, v), max(range.magnitude, bits));
}

fn united(a: ValueRange, b: ValueRange) -> ValueRange {
    return ValueRange(min(a.least, b.least), max(a.greatest, b.greatest), max(a.magnitude, b.magnitude));
}

// The channels of a texel; those that the tensor does not have count as zero.
fn existing(t: Tensor, texel: u32, slice: u32) -> vec4<f32> {
    return select(vec4(0.0), read_input(t, texel), has_channels(t, slice));
}

// The least and the greatest value of all four lanes; NaN if any lane has met one.
fn ends(range: ValueRange) -> vec2<f32> {
    let least = min(min(range.least.x, range.least.y), min(range.least.z, range.least.w));
    let greatest = max(max(range.greatest.x, range.greatest.y), max(range.greatest.z, range.greatest.w));
    let is_number = all(range.magnitude <= vec4(0x7f800000u));
    return select(nan().xy, vec2(least, greatest), is_number);
}
