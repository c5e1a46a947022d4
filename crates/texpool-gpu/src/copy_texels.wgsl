// Copies the texels of a texture to a buffer, in their order. `crates/texpool-gpu/src/executor/in_buffers.rs` declares
// `Stored`, a texel in a buffer, `source` and `to_stored`.
@group(0) @binding(1) var<storage, read_write> copy: array<Stored>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let texel = id.x + id.y * groups.x * 64u;
    let width = textureDimensions(source).x;
    if texel < arrayLength(&copy) {
        copy[texel] = to_stored(textureLoad(source, vec2(texel % width, texel / width)));
    }
}
