// One part of a concatenation: writes a box of the result from the part, from the one that follows, and from constants.
// A texel where parts meet is written once, by the dispatch in whose box it lies. One texel an invocation. A line of the
// box is one of its image rows, of all its batches; the first of a dispatch is a line.

struct Params {
    // The box: pixel, slice, image row, batch.
    corner: vec4<u32>,
    extents: vec4<u32>,
    // First element of the first and of the second input in the result: B, H, W, C.
    first_begin: vec4<u32>,
    second_begin: vec4<u32>,
    constants: u32,        // first weight texel of the constants, which lie as the box does
    constant_slice: u32,   // their first slice
    constant_slices: u32,
}

override FIRST_PART: bool = true;
override SECOND_PART: bool = false;
override CONSTANTS: bool = false;
// The part begins with a texel, and nothing else is in its texels: they are copied.
override ALIGNED: bool = false;

// The channels of a part that the lanes of a texel of the result are, `first` the texel's first channel.
fn lanes_of(first: u32, begin: u32) -> vec4<u32> {
    // Channels in front of the part wrap around to numbers beyond any channel.
    return vec4(0u, 1u, 2u, 3u) + first - begin;
}

fn row_of(t: Tensor, o: vec3<u32>, begin: vec4<u32>) -> u32 {
    let i = min(o.xy - begin.xy, vec2(t.b, t.h) - 1u);
    return row_start(t, i.x * t.h + i.y) + min(o.z - begin.z, t.w - 1u);
}

@compute @workgroup_size(LANES)
fn main(@builtin(global_invocation_id) global: vec3<u32>) {
    let id = begin(global);
    let dispatch = dispatch_params();
    let args = params();
    let dst = output_tensor();
    if id >= dispatch.items { return; }
    let corner = args.corner;
    let box = args.extents;
    let in_line = divided(id, box.x * box.y);
    let in_slice = divided(in_line.rest, box.x);
    let line = dispatch.first + in_line.quotient;
    let in_image = divided(line, box.z);
    let x = corner.x + in_slice.rest;
    let slice = corner.y + in_slice.quotient;
    let y = corner.z + in_image.rest;
    let batch = corner.w + in_image.quotient;
    let row = batch * dst.h + y;
    let o = vec3(batch, y, x);
    var value = vec4(0.0);
    if CONSTANTS {
        if slice >= args.constant_slice {
            let line_start = args.constants + line * (args.constant_slices * box.x);
            value = read_weight(line_start + (slice - args.constant_slice) * box.x + (x - corner.x));
        }
    }
    if FIRST_PART {
        let t = input_tensor();
        let begin = args.first_begin;
        let start = row_of(t, o, begin);
        if ALIGNED {
            value = read_input(t, start + min(slice - (begin.w >> 2u), t.slices - 1u) * t.pitch);
        } else {
            let lanes = lanes_of(slice * 4u, begin.w);
            let near = read_input(t, start + min(lanes.x >> 2u, t.slices - 1u) * t.pitch);
            let far = read_input(t, start + min(lanes.w >> 2u, t.slices - 1u) * t.pitch);
            value = select(value, pick(near, far, lanes), lanes < vec4(t.c));
        }
    }
    if SECOND_PART {
        let t = second_tensor();
        let begin = args.second_begin;
        let start = row_of(t, o, begin);
        let lanes = lanes_of(slice * 4u, begin.w);
        let near = read_second(t, start + min(lanes.x >> 2u, t.slices - 1u) * t.pitch);
        let far = read_second(t, start + min(lanes.w >> 2u, t.slices - 1u) * t.pitch);
        value = select(value, pick(near, far, lanes), lanes < vec4(t.c));
    }
    store_output(dst, row, x, slice, value);
}

// Channels `lanes` out of the two texels that hold them.
fn pick(near: vec4<f32>, far: vec4<f32>, lanes: vec4<u32>) -> vec4<f32> {
    var picked: vec4<f32>;
    for (var i = 0u; i < 4u; i++) {
        let same = (lanes[i] >> 2u) == (lanes.x >> 2u);
        let lane = lanes[i] & 3u;
        picked[i] = select(far[lane], near[lane], same);
    }
    return picked;
}
