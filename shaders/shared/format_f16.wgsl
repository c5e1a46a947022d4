// Texels of 16-bit floats; arithmetic stays in 32 bits.
alias Texel = vec4<f32>;

// The values of a texel.
fn from_texel(texel: Texel) -> vec4<f32> {
    return texel;
}

// A texel of such values.
fn to_texel(values: vec4<f32>) -> Texel {
    return values;
}

// A finite value beyond the greatest number is stored as that: some drivers would make an infinity of it.
fn saturated(v: vec4<f32>) -> vec4<f32> {
    let size = bitcast<vec4<u32>>(abs(v));
    // 65504 and infinity.
    let beyond = (size > vec4(0x477fe000u)) & (size < vec4(0x7f800000u));
    return select(v, sign(v) * 65504.0, beyond);
}

// Counts finite values that are stored as the greatest number although it is not the nearest.
fn count_saturated(v: vec4<f32>) {
    let size = bitcast<vec4<u32>>(abs(v));
    // 65520, from which on values would be rounded to infinity, and infinity.
    let beyond = (size >= vec4(0x477ff000u)) & (size < vec4(0x7f800000u));
    if any(beyond) {
        let ones = select(vec4(0u), vec4(1u), beyond);
        count_clamped(COUNT_SATURATED, (ones.x + ones.y) + (ones.z + ones.w));
    }
}

// The nearest values that 16 bits hold, ties to even: what is stored is then the same however a device rounds.
fn stored(value: vec4<f32>) -> vec4<f32> {
    let v = saturated(value);
    let bits = bitcast<vec4<u32>>(v);
    let even = (bits >> vec4(13u)) & vec4(1u);
    let near = bitcast<vec4<f32>>((bits + 0xfffu + even) & vec4(0xffffe000u));
    // Below 2^-14 the steps are 2^-24.
    let small = round(v * 16777216.0) * (1.0 / 16777216.0);
    return select(near, small, abs(v) < vec4(1.0 / 16384.0));
}
