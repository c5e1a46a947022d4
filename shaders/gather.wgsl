// Elements looked up by index along one axis. One texel an invocation.

struct Params {
    axis: u32,
    extent: u32,        // of the axis
    indices: u32,       // where constant indices begin: a group of params holds four
    constant: Tensor,   // the operand, where its texels are the first weights: rows, slices, pixels
}

// True if the operand is stored among the weights.
override OPERAND_IN_WEIGHTS: bool = false;
// Location of the indices.
override INDICES: u32 = INDICES_IN_PARAMS;
// True if every element has its own index; otherwise the indices are the channels of one pixel.
override ELEMENTWISE: bool = false;
// True if the four lanes of a result texel are the four lanes of one operand texel.
override WHOLE_TEXELS: bool = false;

// The texel that holds element `B, H, W, C` of the operand.
fn operand_texel(t: Tensor, s: vec4<u32>) -> vec4<f32> {
    let row = s.x * t.h + s.y;
    let slice = s.w >> 2u;
    if OPERAND_IN_WEIGHTS {
        let dispatch = dispatch_params();
        let begins = dispatch.weight_base + (row * t.slices + slice) * (SCALE_TEXELS + tap_texels(t.pitch));
        let scale = weight_scale(begins, dispatch.weight_shift);
        return weight_tap(begins + SCALE_TEXELS, s.z, dispatch.weight_shift, scale);
    }
    return read_input(t, texel_of(t, row, slice, s.z));
}

// The index that is element `i` of the indices.
fn computed_index(i: vec4<u32>) -> f32 {
    if INDICES == INDICES_IN_INPUT {
        let t = input_tensor();
        return read_input(t, texel_of(t, i.x * t.h + i.y, i.w >> 2u, i.z))[i.w & 3u];
    }
    let t = second_tensor();
    return read_second(t, texel_of(t, i.x * t.h + i.y, i.w >> 2u, i.z))[i.w & 3u];
}

// The operand's element that element `o` of the result is. An index outside the axis names the nearest element, and is
// counted where `o` is `there`: the lanes past the last channel are not.
fn source_of(o: vec4<u32>, dst: Tensor, there: bool) -> vec4<u32> {
    let args = params();
    var s = o;
    if INDICES == INDICES_IN_PARAMS {
        let i = select(o[args.axis], ((o.x * dst.h + o.y) * dst.w + o.z) * dst.c + o.w, ELEMENTWISE);
        s[args.axis] = param(args.indices + (i >> 2u))[i & 3u];
    } else {
        let extent = i32(args.extent);
        let found = computed_index(select(vec4(0u, 0u, 0u, o[args.axis]), o, vec4(ELEMENTWISE)));
        let inside = found >= -f32(args.extent) && found < f32(args.extent);
        // Once for each index: by the first element of the result that it gives.
        let first = ELEMENTWISE || all((o == vec4(0u)) | (vec4(0u, 1u, 2u, 3u) == vec4(args.axis)));
        if there && first && !inside && !is_repeated { count_clamped(COUNT_OUTSIDE, 1u); }
        let index = i32(found);
        s[args.axis] = u32(clamp(select(index, index + extent, index < 0), 0, extent - 1));
    }
    return s;
}

fn compute(dst: Tensor, o: OutputTexel) -> vec4<f32> {
    var src = input_tensor();
    if OPERAND_IN_WEIGHTS { src = params().constant; }
    let first = vec4(o.b, o.y, o.x, o.slice * 4u);
    if WHOLE_TEXELS { return operand_texel(src, source_of(first, dst, true)); }
    var value: vec4<f32>;
    for (var lane = 0u; lane < 4u; lane++) {
        // Lanes past the last channel repeat it, so that every source exists; `store_output` clears them.
        let there = first.w + lane < dst.c;
        let s = source_of(vec4(first.xyz, min(first.w + lane, dst.c - 1u)), dst, there);
        value[lane] = operand_texel(src, s)[s.w & 3u];
    }
    return value;
}
