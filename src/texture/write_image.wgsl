// Scales a picture to the size of an input `image`, whose three channels are to be from -1 to 1. Stands behind what
// `TextureLayout::wgsl("image")` says.
@group(0) @binding(0) var picture: texture_2d<f32>;
@group(0) @binding(1) var linear: sampler;
@group(0) @binding(2) var image: texture_storage_2d<rgba32float, write>;

@compute @workgroup_size(8, 8)
fn write_image(@builtin(global_invocation_id) pixel: vec3<u32>) {
    let size = image_EXTENTS.zy;
    if any(pixel.xy >= size) {
        return;
    }
    let rgb = textureSampleLevel(picture, linear, (vec2<f32>(pixel.xy) + 0.5) / vec2<f32>(size), 0.0).rgb;
    // Three channels are one slice, and its fourth lane must be zero.
    textureStore(image, image_texel(0u, pixel.y, pixel.x, 0u), vec4<f32>(rgb * 2.0 - 1.0, 0.0));
}
