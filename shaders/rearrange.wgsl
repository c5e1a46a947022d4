// Operators that only move values: each element of the result is an element of the input, or a fixed value.
// One texel an invocation.
// Own words: 8  which axis of the result each input axis follows; 9  first index; 10  stride (both as signed bits);
//            11  fixed value as bits, block edge; 12  elements cut off the input's front; 13  elements kept.
// 0: each input index is `first + stride * index of an axis`; 1: reshape; 2: depth to space, a block's row, column and
// channel; 3: its inverse; 4: depth to space, channel, row and column.
override KIND: u32 = 0u;
// What lies outside. 0: the fixed value; 1: mirrored without the border; 2: mirrored with it; 3: the border; 4: the
// elements again.
override AROUND: u32 = 0u;
// The four lanes of a texel of the result are the four lanes of a texel of the input.
override WHOLE: bool = false;

// The index in `0..n` that stands for index `i`.
fn around(i: vec4<i32>, n: vec4<i32>) -> vec4<i32> {
    switch AROUND {
        case 1u: {
            let period = max(2 * n - 2, vec4(1));
            let at = (i % period + period) % period;
            return min(at, period - at);
        }
        case 2u: {
            let at = (i % (2 * n) + 2 * n) % (2 * n);
            return min(at, 2 * n - 1 - at);
        }
        case 3u: { return clamp(i, vec4(0), n - 1); }
        case 4u: { return (i % n + n) % n; }
        default: { return i; }
    }
}

// The input element, `B, H, W, C`, that makes element `o` of the result; it may lie outside.
fn source_of(o: vec4<u32>, dst: Tensor, src: Tensor) -> vec4<i32> {
    let block = param(11u).y;
    switch KIND {
        case 0u: {
            let axes = param(8u);
            let index = vec4<i32>(vec4(o[axes.x], o[axes.y], o[axes.z], o[axes.w]));
            let at = bitcast<vec4<i32>>(param(9u)) + index * bitcast<vec4<i32>>(param(10u));
            if AROUND == 0u { return at; }
            let cut = bitcast<vec4<i32>>(param(12u));
            return around(at - cut, bitcast<vec4<i32>>(param(13u))) + cut;
        }
        case 1u: {
            let element = ((o.x * dst.h + o.y) * dst.w + o.z) * dst.c + o.w;
            let pixel = element / src.c;
            let row = pixel / src.w;
            return vec4<i32>(vec4(row / src.h, row % src.h, pixel % src.w, element % src.c));
        }
        case 2u: {
            let part = (o.y % block) * block + o.z % block;
            return vec4<i32>(vec4(o.x, o.y / block, o.z / block, part * dst.c + o.w));
        }
        case 4u: {
            let part = (o.y % block) * block + o.z % block;
            return vec4<i32>(vec4(o.x, o.y / block, o.z / block, o.w * block * block + part));
        }
        default: {
            let part = o.w / src.c;
            return vec4<i32>(vec4(o.x, o.y * block + part / block, o.z * block + part % block, o.w % src.c));
        }
    }
}

fn read_at(src: Tensor, s: vec4<u32>) -> vec4<f32> {
    return read_input(src, row_start(src, s.x * src.h + s.y) + (s.w >> 2u) * src.pitch + s.z);
}

@compute @workgroup_size(LANES)
fn main(@builtin(global_invocation_id) global: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>) {
    let id = begin(global, group);
    if id >= param(0u).x { return; }
    let dst = output_tensor();
    let src = input_tensor();
    let fixed_value = bitcast<f32>(param(11u).x);
    let extents = vec4(src.b, src.h, src.w, src.c);
    let row_texels = dst.slices * dst.w;
    let row = param(0u).y + id / row_texels;
    let slice = (id % row_texels) / dst.w;
    let x = (id % row_texels) % dst.w;
    let first = vec4(row / dst.h, row % dst.h, x, slice * 4u);
    var value: vec4<f32>;
    if WHOLE {
        // What lies below zero wraps to beyond any extent.
        let s = vec4<u32>(source_of(first, dst, src));
        let lanes = vec4(0u, 1u, 2u, 3u) + s.w < vec4(src.c);
        let here = lanes & vec4(all(s < extents));
        value = select(vec4(fixed_value), read_at(src, min(s, extents - 1u)), here);
    } else {
        for (var lane = 0u; lane < 4u; lane++) {
            // Lanes past the last channel repeat it, so that every source is one that there is; `store_output` clears them.
            let o = vec4(first.xyz, min(first.w + lane, dst.c - 1u));
            let s = vec4<u32>(source_of(o, dst, src));
            let texel = read_at(src, min(s, extents - 1u));
            value[lane] = select(fixed_value, texel[s.w & 3u], all(s < extents));
        }
    }
    store_output(dst, row, x, slice, value);
}
