// (x - mean) / sqrt(variance + epsilon) over any axes. A team of TEAM lanes takes a group of values with one mean: each
// lane every TEAM-th texel, and the lanes' parts are put together in an order that never changes.
// Own words: 8  whether B, H, W, C are of one group
//            9  first of the outer groups (rows, images or row numbers), how many pixels, slices are groups of their own
//            10 batches, rows, pixels, slices of a group
//            11 values of a group, as the bits of a float; epsilon; first row behind those to be written
override TEAM: u32 = 64u;

var<workgroup> parts: array<vec4<f32>, 64>;

// The sum of the parts of the lane's team.
fn workgroup_sum(lane: u32, value: vec4<f32>) -> vec4<f32> {
    workgroupBarrier();
    parts[lane] = value;
    workgroupBarrier();
    let base = lane / TEAM * TEAM;
    var sum = vec4(0.0);
    for (var i = 0u; i < TEAM; i++) { sum += parts[base + i]; }
    return select(sum, vec4((sum.x + sum.y) + (sum.z + sum.w)), param(8u).w != 0u);
}

@compute @workgroup_size(64)
fn main(
    @builtin(global_invocation_id) global: vec3<u32>,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    // Every lane reaches every barrier: a team beyond the last group repeats it and stores nothing.
    let id = begin(global, group);
    let items = param(0u).x;
    let which = min(id, items - 1u) / TEAM;
    let member = id % TEAM;
    let dst = output_tensor();
    let src = input_tensor();
    let joined = param(8u);
    let groups = param(9u);
    let extents = param(10u);
    let values = param(11u);
    let across = joined.w != 0u;
    let x0 = which % groups.y;
    let slice0 = which / groups.y % groups.z;
    let outer = groups.x + which / (groups.y * groups.z);
    // The first row of the group: rows and images count through all batches, row numbers within one.
    let row0 = select(outer, outer * src.h, joined.y != 0u && joined.x == 0u);
    let texels = extents.x * extents.y * extents.z * extents.w;
    let lanes = vec4(0u, 1u, 2u, 3u);

    // Element `e` of the group is pixel `x0 + e % z` and so on.
    var sum = vec4(0.0);
    for (var e = member; e < texels; e += TEAM) {
        let line = e / (extents.z * extents.w);
        let row = row0 + line / extents.y * src.h + line % extents.y;
        let s = slice0 + e / extents.z % extents.w;
        sum += read_input(src, row_start(src, row) + s * src.pitch + x0 + e % extents.z);
    }
    let mean = workgroup_sum(lane, sum) / bitcast<f32>(values.x);
    sum = vec4(0.0);
    for (var e = member; e < texels; e += TEAM) {
        let line = e / (extents.z * extents.w);
        let row = row0 + line / extents.y * src.h + line % extents.y;
        let s = slice0 + e / extents.z % extents.w;
        let off = read_input(src, row_start(src, row) + s * src.pitch + x0 + e % extents.z) - mean;
        sum += select(vec4(0.0), off * off, lanes + s * 4u < vec4(src.c));
    }
    let variance = workgroup_sum(lane, sum) / bitcast<f32>(values.x);
    let scale = 1.0 / sqrt(variance + bitcast<f32>(values.y));
    if id < items {
        for (var e = member; e < texels; e += TEAM) {
            let line = e / (extents.z * extents.w);
            let row = row0 + line / extents.y * src.h + line % extents.y;
            if row < param(0u).y || row >= values.z { continue; }
            let s = slice0 + e / extents.z % extents.w;
            let x = x0 + e % extents.z;
            store_output(dst, row, x, s, (read_input(src, row_start(src, row) + s * src.pitch + x) - mean) * scale);
        }
    }
}
