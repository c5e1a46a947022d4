// Texels of 32-bit floats.
alias Texel = vec4<f32>;

// The values of a texel.
fn from_texel(texel: Texel) -> vec4<f32> {
    return texel;
}

// Makes a texel of four values.
fn to_texel(values: vec4<f32>) -> Texel {
    return values;
}

// Clamps values to the range of the format; 32-bit floats need no clamping.
fn saturated(v: vec4<f32>) -> vec4<f32> {
    return v;
}

// Counts values outside the range of the format; with 32-bit floats this never happens.
fn count_saturated(v: vec4<f32>) {}

// Returns the value as it reads back after a store.
fn stored(v: vec4<f32>) -> vec4<f32> {
    return v;
}
