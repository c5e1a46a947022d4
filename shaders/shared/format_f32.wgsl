// Textures of 32-bit floats.
alias Readable = texture_storage_2d<rgba32float, read>;
alias Writable = texture_storage_2d<rgba32float, write>;
alias Texel = vec4<f32>;

// The values of a texel.
fn from_texel(texel: Texel) -> vec4<f32> {
    return texel;
}

// A texel of such values.
fn to_texel(values: vec4<f32>) -> Texel {
    return values;
}

// A value as far as it can be stored.
fn saturated(v: vec4<f32>) -> vec4<f32> {
    return v;
}

// Counts values that cannot be stored: there are none.
fn count_saturated(v: vec4<f32>) {}

// A value as it is after it was stored and read again.
fn stored(v: vec4<f32>) -> vec4<f32> {
    return v;
}
