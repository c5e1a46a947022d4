// Operators that only move values: each element of the result is an element of the input, or a fixed value.
// One texel an invocation.

struct Params {
    axes: vec4<u32>,     // which axis of the result each input axis follows
    first: vec4<i32>,    // the input index for index 0 of that axis
    stride: vec4<i32>,
    fixed_value: f32,
    block: vec2<u32>,    // rows and columns of the blocks of pixels
    cut: vec4<i32>,      // elements at the input's front that are left out
    kept: vec4<i32>,     // elements behind those that are not
}

override MAP: u32 = MAP_AXES;
// Source of elements outside the input.
override OUTSIDE: u32 = PAD_CONSTANT;
// True if the four lanes of a result texel are the four lanes of one input texel.
override WHOLE_TEXELS: bool = false;

// The index in `0..n` that stands for index `i`.
fn index_inside(i: vec4<i32>, n: vec4<i32>) -> vec4<i32> {
    switch OUTSIDE {
        case PAD_REFLECT: {
            let period = max(2 * n - 2, vec4(1));
            let at = (i % period + period) % period;
            return min(at, period - at);
        }
        case PAD_SYMMETRIC: {
            let at = (i % (2 * n) + 2 * n) % (2 * n);
            return min(at, 2 * n - 1 - at);
        }
        case PAD_EDGE: { return clamp(i, vec4(0), n - 1); }
        case PAD_WRAP: { return (i % n + n) % n; }
        case PAD_CONSTANT, default: { return i; }
    }
}

// Returns the input element, `B, H, W, C`, for element `o` of the result; it may lie outside the input.
fn source_of(o: vec4<u32>, dst: Tensor, src: Tensor) -> vec4<i32> {
    let args = params();
    let block = args.block;
    switch MAP {
        case MAP_AXES: {
            let axes = args.axes;
            let index = vec4<i32>(vec4(o[axes.x], o[axes.y], o[axes.z], o[axes.w]));
            let at = args.first + index * args.stride;
            if OUTSIDE == PAD_CONSTANT { return at; }
            return index_inside(at - args.cut, args.kept) + args.cut;
        }
        // A block's row, column and channel.
        case MAP_DEPTH_TO_SPACE_DCR: {
            let y = divided(o.y, block.x);
            let x = divided(o.z, block.y);
            let part = y.rest * block.y + x.rest;
            return vec4<i32>(vec4(o.x, y.quotient, x.quotient, part * dst.c + o.w));
        }
        // Channel, a block's row and column.
        case MAP_DEPTH_TO_SPACE_CRD: {
            let y = divided(o.y, block.x);
            let x = divided(o.z, block.y);
            let part = y.rest * block.y + x.rest;
            return vec4<i32>(vec4(o.x, y.quotient, x.quotient, o.w * block.x * block.y + part));
        }
        case MAP_SPACE_TO_DEPTH, default: {
            let part = divided(o.w, src.c);
            let place = divided(part.quotient, block.y);
            let y = o.y * block.x + place.quotient;
            return vec4<i32>(vec4(o.x, y, o.z * block.y + place.rest, part.rest));
        }
    }
}

fn read_at(src: Tensor, s: vec4<u32>) -> vec4<f32> {
    return read_input(src, texel_of(src, s.x * src.h + s.y, s.w >> 2u, s.z));
}

fn compute(dst: Tensor, o: OutputTexel) -> vec4<f32> {
    let src = input_tensor();
    let fixed_value = params().fixed_value;
    let extents = vec4(src.b, src.h, src.w, src.c);
    let first = vec4(o.b, o.y, o.x, o.slice * 4u);
    var value: vec4<f32>;
    if WHOLE_TEXELS {
        // Negative indices wrap around to numbers beyond any extent.
        let s = vec4<u32>(source_of(first, dst, src));
        let lanes = vec4(0u, 1u, 2u, 3u) + s.w < vec4(src.c);
        let here = lanes & vec4(all(s < extents));
        value = select(vec4(fixed_value), read_at(src, min(s, extents - 1u)), here);
    } else {
        for (var lane = 0u; lane < 4u; lane++) {
            // Lanes past the last channel repeat it, so that every source exists; `store_output` clears them.
            let element = vec4(first.xyz, min(first.w + lane, dst.c - 1u));
            let s = vec4<u32>(source_of(element, dst, src));
            let texel = read_at(src, min(s, extents - 1u));
            value[lane] = select(fixed_value, texel[s.w & 3u], all(s < extents));
        }
    }
    return value;
}
