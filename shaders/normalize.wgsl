// x / max(sqrt(sum of squares / divisor + epsilon) + offset, least) over any axes; where CENTRED, x less its mean, also
// in the sum. A team of TEAM lanes takes a group of values with one sum: each lane every TEAM-th texel, and the lanes'
// parts are put together in an order that never changes.

// The first of a dispatch is one of the outer groups: rows, images or row numbers.
struct Params {
    joined: vec4<u32>,   // whether B, H, W, C are of one group
    columns: u32,        // pixels that are groups of their own
    depths: u32,         // slices that are
    // Extents of a group.
    batches: u32,
    rows: u32,
    pixels: u32,
    slices: u32,
    values: f32,
    divisor: f32,         // of the sum of squares
    epsilon: f32,
    offset: f32,
    least: f32,
}

override TEAM: u32 = LANES;
// True if the mean is subtracted first.
override CENTRED: bool = true;

var<workgroup> parts: array<vec4<f32>, LANES>;

// The sum of the parts of the lane's team.
fn workgroup_sum(lane: u32, value: vec4<f32>) -> vec4<f32> {
    workgroupBarrier();
    parts[lane] = value;
    workgroupBarrier();
    let base = lane / TEAM * TEAM;
    var sum = vec4(0.0);
    for (var member = 0u; member < TEAM; member++) { sum += parts[base + member]; }
    return select(sum, vec4((sum.x + sum.y) + (sum.z + sum.w)), params().joined.w != 0u);
}

struct GroupTexel {
    row: u32,
    slice: u32,
    x: u32,
}

// Locates texel `i` of group `which`. Texels are numbered by pixels first, then slices, rows and batches.
fn group_texel(src: Tensor, which: u32, i: u32) -> GroupTexel {
    let args = params();
    let x0 = which % args.columns;
    let slice0 = which / args.columns % args.depths;
    let outer = dispatch_params().first + which / (args.columns * args.depths);
    // The first row of the group: rows and images count through all batches, row numbers within one.
    let row0 = select(outer, outer * src.h, args.joined.y != 0u && args.joined.x == 0u);
    let line = i / (args.pixels * args.slices);
    let row = row0 + line / args.rows * src.h + line % args.rows;
    return GroupTexel(row, slice0 + i / args.pixels % args.slices, x0 + i % args.pixels);
}

fn read_group(src: Tensor, t: GroupTexel) -> vec4<f32> {
    return read_input(src, texel_of(src, t.row, t.slice, t.x));
}

@compute @workgroup_size(LANES)
fn main(
    @builtin(global_invocation_id) global: vec3<u32>,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    // Every lane reaches every barrier: a team beyond the last group repeats it and stores nothing.
    let id = begin(global, group);
    let dispatch = dispatch_params();
    let args = params();
    let which = min(id, dispatch.items - 1u) / TEAM;
    let member = id % TEAM;
    let dst = output_tensor();
    let src = input_tensor();
    let texels = args.batches * args.rows * args.pixels * args.slices;
    var mean = vec4(0.0);
    var sum = vec4(0.0);
    if CENTRED {
        for (var i = member; i < texels; i += TEAM) {
            sum += read_group(src, group_texel(src, which, i));
        }
        mean = workgroup_sum(lane, sum) / args.values;
        sum = vec4(0.0);
    }
    for (var i = member; i < texels; i += TEAM) {
        let t = group_texel(src, which, i);
        let off = read_group(src, t) - mean;
        sum += select(vec4(0.0), off * off, has_channels(src, t.slice));
    }
    let root = sqrt(workgroup_sum(lane, sum) / args.divisor + args.epsilon) + args.offset;
    // Uses `select`, since `max` may drop NaN.
    let scale = 1.0 / select(root, vec4(args.least), root < vec4(args.least));
    if id < dispatch.items {
        for (var i = member; i < texels; i += TEAM) {
            let t = group_texel(src, which, i);
            if t.row < dispatch.first_row || t.row >= dispatch.end_row { continue; }
            store_output(dst, t.row, t.x, t.slice, (read_group(src, t) - mean) * scale);
        }
    }
}
