// Locates the values of an input or output in its texture. For caller-written shaders that serve several tensors, or
// that get the extents only at run time. `extents` are B, H, W, C; `width` is the width of the texture.

// Column and row of the texel that holds channels `4 * slice` to `4 * slice + 3` of pixel `x` of row `y` of image `b`.
fn texpool_texel(extents: vec4<u32>, width: u32, b: u32, y: u32, x: u32, slice: u32) -> vec2<u32> {
    let slices = (extents.w + 3u) / 4u;
    let texel = ((b * extents.y + y) * slices + slice) * extents.z + x;
    return vec2<u32>(texel % width, texel / width);
}

// Column, row and lane of element `place` in the order of B, H, W, C.
fn texpool_element(extents: vec4<u32>, width: u32, place: u32) -> vec3<u32> {
    let pixel = place / extents.w;
    let channel = place % extents.w;
    let row = pixel / extents.z;
    let at = texpool_texel(extents, width, row / extents.y, row % extents.y, pixel % extents.z, channel / 4u);
    return vec3<u32>(at, channel % 4u);
}

// Zeroes the lanes of a slice that are past the last channel, which is how a value has to be stored.
fn texpool_padded(extents: vec4<u32>, value: vec4<f32>, slice: u32) -> vec4<f32> {
    let channels = vec4<u32>(0u, 1u, 2u, 3u) + vec4<u32>(4u * slice);
    return select(vec4<f32>(0.0), value, channels < vec4<u32>(extents.w));
}
