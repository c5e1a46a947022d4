// Copies a tensor from one texture to another in which its elements have other places.

// The source of each lane of each texel: the number of a lane of the other texture, or `NONE`.
@group(0) @binding(0) var<storage, read> sources: array<vec4<u32>>;
@group(0) @binding(1) var read_from: Readable;
@group(0) @binding(2) var write_to: Writable;

// Marks a lane without an element, which is zero.
const NONE = 0xffffffffu;

fn lane(source: u32, zero: Lane) -> Lane {
    if source == NONE {
        return zero;
    }
    let width = textureDimensions(read_from).x;
    let texel = source / 4u;
    return textureLoad(read_from, vec2(texel % width, texel / width))[source % 4u];
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let size = textureDimensions(write_to);
    if id.x >= size.x || id.y >= size.y {
        return;
    }
    let lanes = sources[id.y * size.x + id.x];
    let zero = Lane();
    let texel = vec4(lane(lanes.x, zero), lane(lanes.y, zero), lane(lanes.z, zero), lane(lanes.w, zero));
    textureStore(write_to, id.xy, texel);
}
