// Textures of 16-bit floats; arithmetic stays in 32 bits.
alias Readable = texture_storage_2d<rgba16float, read>;
alias Writable = texture_storage_2d<rgba16float, write>;

// A value as it is after it was stored and read again.
fn stored(v: vec4<f32>) -> vec4<f32> {
    return vec4(unpack2x16float(pack2x16float(v.xy)), unpack2x16float(pack2x16float(v.zw)));
}
