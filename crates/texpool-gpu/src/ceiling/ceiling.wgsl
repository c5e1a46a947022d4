// Kernels that do one thing each, to measure how fast a device does it at most. FORMAT is the texel format.

// Rounds of each invocation; last index of the texels that are touched, one less than a power of two; distance between
// two texels of an invocation; logarithm of the texture's width.
@group(0) @binding(0) var<uniform> params: vec4u;
// In practice only `dispatch` writes here. The compiler cannot know that, so it keeps the arithmetic.
@group(0) @binding(1) var<storage, read_write> sink: array<vec4f>;
@group(0) @binding(2) var texels: texture_storage_2d<FORMAT, read>;
@group(0) @binding(3) var written: texture_storage_2d<FORMAT, write>;

const LANES: u32 = 64u;

// The workgroups are in two dimensions, because one has at most 65535.
fn invocation(group: vec3u, groups: vec3u, lane: u32) -> u32 {
    return (group.y * groups.x + group.x) * LANES + lane;
}

fn place(at: u32) -> vec2u {
    let texel = at & params.y;
    return vec2u(texel & ((1u << params.w) - 1u), texel >> params.w);
}

// Two chains of vectors, each sixteen fused multiply-adds a round. They stay near 1, far from denormal numbers.
@compute @workgroup_size(LANES)
fn arithmetic(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let factor = vec4f(0.5, 0.51, 0.52, 0.53);
    let offset = vec4f(0.5 + f32(invocation(group, groups, lane) & 15u) * 0.01);
    var a = offset;
    var b = offset + 0.25;
    for (var round = 0u; round < params.x; round++) {
        a = fma(a, factor, offset);
        b = fma(b, factor, offset);
        a = fma(a, factor, offset);
        b = fma(b, factor, offset);
        a = fma(a, factor, offset);
        b = fma(b, factor, offset);
        a = fma(a, factor, offset);
        b = fma(b, factor, offset);
        a = fma(a, factor, offset);
        b = fma(b, factor, offset);
        a = fma(a, factor, offset);
        b = fma(b, factor, offset);
        a = fma(a, factor, offset);
        b = fma(b, factor, offset);
        a = fma(a, factor, offset);
        b = fma(b, factor, offset);
    }
    let sum = a + b;
    if sum.x < 0.0 {
        sink[0] = sum;
    }
}

// Four texels a round. Neighbours read neighbours.
@compute @workgroup_size(LANES)
fn read_texels(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    var at = invocation(group, groups, lane);
    var sum = vec4f();
    for (var round = 0u; round < params.x; round++) {
        let a = textureLoad(texels, place(at));
        let b = textureLoad(texels, place(at + params.z));
        let c = textureLoad(texels, place(at + 2u * params.z));
        let d = textureLoad(texels, place(at + 3u * params.z));
        sum += (a + b) + (c + d);
        at += 4u * params.z;
    }
    if sum.x < 0.0 {
        sink[0] = sum;
    }
}

// Four texels a round, with values that no driver can compress.
@compute @workgroup_size(LANES)
fn write_texels(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    var at = invocation(group, groups, lane);
    for (var round = 0u; round < params.x; round++) {
        for (var part = 0u; part < 4u; part++) {
            let bits = vec4u(at) * vec4u(2654435761u, 2246822519u, 3266489917u, 668265263u);
            textureStore(written, place(at), vec4f(bits >> vec4u(17u)));
            at += params.z;
        }
    }
}

// Reads what the dispatch before it wrote.
@compute @workgroup_size(1)
fn dispatch() {
    sink[0] += vec4f(1.0);
}
