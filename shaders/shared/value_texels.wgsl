// Tensors of which a texel holds four values.

fn read_input(t: Tensor, texel: u32) -> vec4<f32> {
    return from_texel(load_input(texel, t.shift));
}

fn read_second(t: Tensor, texel: u32) -> vec4<f32> {
    return from_texel(load_second(texel, t.shift));
}

fn write_values(t: Tensor, texel: u32, values: vec4<f32>) {
    write_texel(texel, t.shift, to_texel(values));
}
