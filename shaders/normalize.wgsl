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
// Texels that a lane takes in a round: 16 of a large group, else one.
override TAKEN: u32 = 1u;
// True if groups are the channels of one pixel, so that texels of a group are its slices.
override ONE_PIXEL: bool = false;
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

// Locates the first texel of group `which`.
fn group_start(src: Tensor, which: u32) -> GroupTexel {
    let args = params();
    let column = divided(which, args.columns);
    let depth = divided(column.quotient, args.depths);
    let outer = dispatch_params().first + depth.quotient;
    // The first row of the group: rows and images count through all batches, row numbers within one.
    let row = select(outer, outer * src.h, args.joined.y != 0u && args.joined.x == 0u);
    return GroupTexel(row, depth.rest, column.rest);
}

// Locates texel `i` of the group that begins at `start`. Texels are numbered by pixels first, then slices, rows and
// batches.
fn group_texel(src: Tensor, start: GroupTexel, i: u32) -> GroupTexel {
    if ONE_PIXEL { return GroupTexel(start.row, start.slice + i, start.x); }
    let args = params();
    let pixel = divided(i, args.pixels);
    let slice = divided(pixel.quotient, args.slices);
    let image = divided(slice.quotient, args.rows);
    let row = start.row + image.quotient * src.h + image.rest;
    return GroupTexel(row, start.slice + slice.rest, start.x + pixel.rest);
}

fn read_group(src: Tensor, t: GroupTexel) -> vec4<f32> {
    return read_input(src, texel_of(src, t.row, t.slice, t.x));
}

// The sum with texel `i` of a group; with the square of its distance from the mean.
fn sum_with(src: Tensor, start: GroupTexel, i: u32, texels: u32, sum: vec4<f32>) -> vec4<f32> {
    if i >= texels { return sum; }
    return sum + read_group(src, group_texel(src, start, i));
}

fn sum_with_four(src: Tensor, start: GroupTexel, i: u32, texels: u32, sum: vec4<f32>) -> vec4<f32> {
    let two = sum_with(src, start, i + TEAM, texels, sum_with(src, start, i, texels, sum));
    return sum_with(src, start, i + 3u * TEAM, texels, sum_with(src, start, i + 2u * TEAM, texels, two));
}

fn squares_with(src: Tensor, start: GroupTexel, i: u32, texels: u32, mean: vec4<f32>, sum: vec4<f32>) -> vec4<f32> {
    if i >= texels { return sum; }
    let t = group_texel(src, start, i);
    let off = read_group(src, t) - mean;
    return sum + select(vec4(0.0), off * off, has_channels(src, t.slice));
}

fn squares_with_four(src: Tensor, start: GroupTexel, i: u32, texels: u32, mean: vec4<f32>, sum: vec4<f32>) -> vec4<f32> {
    let two = squares_with(src, start, i + TEAM, texels, mean, squares_with(src, start, i, texels, mean, sum));
    let three = squares_with(src, start, i + 2u * TEAM, texels, mean, two);
    return squares_with(src, start, i + 3u * TEAM, texels, mean, three);
}

// A group and what its values are normalized by.
struct Normalized {
    start: GroupTexel,
    texels: u32,
    mean: vec4<f32>,
    scale: vec4<f32>,
    // Rows that are stored.
    first_row: u32,
    end_row: u32,
}

fn store_texel(src: Tensor, dst: Tensor, group: Normalized, i: u32) {
    if i < group.texels {
        let t = group_texel(src, group.start, i);
        if t.row >= group.first_row && t.row < group.end_row {
            store_output(dst, t.row, t.x, t.slice, (read_group(src, t) - group.mean) * group.scale);
        }
    }
}

fn store_four(src: Tensor, dst: Tensor, group: Normalized, i: u32) {
    store_texel(src, dst, group, i);
    store_texel(src, dst, group, i + TEAM);
    store_texel(src, dst, group, i + 2u * TEAM);
    store_texel(src, dst, group, i + 3u * TEAM);
}

@compute @workgroup_size(LANES)
fn main(
    @builtin(global_invocation_id) global: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    // Every lane reaches every barrier: a team beyond the last group repeats it and stores nothing.
    let id = begin(global);
    let dispatch = dispatch_params();
    let args = params();
    let which = min(id, dispatch.items - 1u) / TEAM;
    let member = id % TEAM;
    let dst = output_tensor();
    let src = input_tensor();
    let start = group_start(src, which);
    let texels = args.batches * args.rows * args.pixels * args.slices;
    var mean = vec4(0.0);
    var sum = vec4(0.0);
    if CENTRED {
        for (var i = member; i < texels; i += TEAM * TAKEN) {
            if TAKEN == 1u {
                sum = sum_with(src, start, i, texels, sum);
            } else {
                sum = sum_with_four(src, start, i, texels, sum);
                sum = sum_with_four(src, start, i + 4u * TEAM, texels, sum);
                sum = sum_with_four(src, start, i + 8u * TEAM, texels, sum);
                sum = sum_with_four(src, start, i + 12u * TEAM, texels, sum);
            }
        }
        mean = workgroup_sum(lane, sum) / args.values;
        sum = vec4(0.0);
    }
    for (var i = member; i < texels; i += TEAM * TAKEN) {
        if TAKEN == 1u {
            sum = squares_with(src, start, i, texels, mean, sum);
        } else {
            sum = squares_with_four(src, start, i, texels, mean, sum);
            sum = squares_with_four(src, start, i + 4u * TEAM, texels, mean, sum);
            sum = squares_with_four(src, start, i + 8u * TEAM, texels, mean, sum);
            sum = squares_with_four(src, start, i + 12u * TEAM, texels, mean, sum);
        }
    }
    let root = sqrt(workgroup_sum(lane, sum) / args.divisor + args.epsilon) + args.offset;
    // Uses `select`, since `max` may drop NaN.
    let scale = 1.0 / select(root, vec4(args.least), root < vec4(args.least));
    if id < dispatch.items {
        let normalized = Normalized(start, texels, mean, scale, dispatch.first_row, dispatch.end_row);
        for (var i = member; i < texels; i += TEAM * TAKEN) {
            if TAKEN == 1u {
                store_texel(src, dst, normalized, i);
            } else {
                store_four(src, dst, normalized, i);
                store_four(src, dst, normalized, i + 4u * TEAM);
                store_four(src, dst, normalized, i + 8u * TEAM);
                store_four(src, dst, normalized, i + 12u * TEAM);
            }
        }
    }
}
