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
    // Axes of the result in dense order, from the innermost, without the outermost: extents, and distances in the input.
    inner: vec4<u32>,
    inner_strides: vec4<i32>,
    outer: vec4<u32>,
    outer_strides: vec4<i32>,
    offset: i32,         // the input element that comes first
    outermost_stride: i32,
}

override MAP: u32 = MAP_AXES;
// Source of elements outside the input.
override OUTSIDE: u32 = PAD_CONSTANT;
// Number of strided axes.
override STRIDED_AXES: u32 = 1u;
// True if the lanes of a result texel come from a single input pixel.
override ONE_PIXEL: bool = false;
// True if the four lanes of a result texel are the four lanes of one input texel.
override WHOLE_TEXELS: bool = false;

// The place of element `o` of the result in dense order.
fn place_of(o: vec4<u32>, dst: Tensor) -> u32 {
    return ((o.x * dst.h + o.y) * dst.w + o.z) * dst.c + o.w;
}

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

// The index of an element of the result along each strided axis.
struct Index {
    inner: vec4<u32>,
    outer: vec4<u32>,
    outermost: u32,
}

// The index of element `place` in dense order.
fn index_of(place: u32) -> Index {
    let inner = params().inner;
    let outer = params().outer;
    var at = Index(vec4(0u), vec4(0u), place);
    if STRIDED_AXES > 1u { at.inner.x = split(&at, inner.x); }
    if STRIDED_AXES > 2u {
        at.inner.y = split(&at, inner.y);
        at.inner.z = split(&at, inner.z);
    }
    if STRIDED_AXES > 4u {
        at.inner.w = split(&at, inner.w);
        at.outer.x = split(&at, outer.x);
    }
    if STRIDED_AXES > 6u {
        at.outer.y = split(&at, outer.y);
        at.outer.z = split(&at, outer.z);
    }
    return at;
}

// The index along an axis of `extent`; the outermost index counts the axes that are left.
fn split(at: ptr<function, Index>, extent: u32) -> u32 {
    let index = divided((*at).outermost, extent);
    (*at).outermost = index.quotient;
    return index.rest;
}

// The index of the element behind.
fn next_index(at: Index) -> Index {
    let inner = params().inner;
    let outer = params().outer;
    var next = at;
    var carry = 1u;
    if STRIDED_AXES > 1u { next.inner.x = counted(next.inner.x, inner.x, &carry); }
    if STRIDED_AXES > 2u {
        next.inner.y = counted(next.inner.y, inner.y, &carry);
        next.inner.z = counted(next.inner.z, inner.z, &carry);
    }
    if STRIDED_AXES > 4u {
        next.inner.w = counted(next.inner.w, inner.w, &carry);
        next.outer.x = counted(next.outer.x, outer.x, &carry);
    }
    if STRIDED_AXES > 6u {
        next.outer.y = counted(next.outer.y, outer.y, &carry);
        next.outer.z = counted(next.outer.z, outer.z, &carry);
    }
    next.outermost += carry;
    return next;
}

fn counted(index: u32, extent: u32, carry: ptr<function, u32>) -> u32 {
    let next = index + *carry;
    *carry = select(0u, 1u, next == extent);
    return select(next, 0u, next == extent);
}

// The input element, in dense order, that the result copies to an index.
fn strided(at: Index) -> u32 {
    let args = params();
    let source = args.offset + dot(vec4<i32>(at.inner), args.inner_strides) + dot(vec4<i32>(at.outer), args.outer_strides);
    return u32(source + i32(at.outermost) * args.outermost_stride);
}

// The first texel of the input pixel that has an element, and the element's channel.
struct Channel {
    pixel: u32,
    channel: u32,
}

fn channel_of(src: Tensor, element: u32) -> Channel {
    let pixel = divided(element, src.c);
    let row = divided(pixel.quotient, src.w);
    return Channel(row_start(src, row.quotient) + row.rest, pixel.rest);
}

fn copied_lanes(dst: Tensor, src: Tensor, place: u32, channel: u32) -> vec4<f32> {
    var at = index_of(place);
    let first = strided(at);
    let pixel = channel_of(src, first);
    var value: vec4<f32>;
    for (var lane = 0u; lane < 4u; lane++) {
        let element = strided(at);
        var source = Channel(pixel.pixel, pixel.channel + (element - first));
        if !ONE_PIXEL { source = channel_of(src, element); }
        let texel = read_input(src, source.pixel + (source.channel >> 2u) * src.pitch);
        value[lane] = texel[source.channel & 3u];
        // Lanes past the last channel repeat it, so that every source exists; `store_output` clears them.
        if channel + lane + 1u < dst.c { at = next_index(at); }
    }
    return value;
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
        case MAP_STRIDED: {
            let element = strided(index_of(place_of(o, dst)));
            let pixel = divided(element, src.c);
            let row = divided(pixel.quotient, src.w);
            let image = divided(row.quotient, src.h);
            return vec4<i32>(vec4(image.quotient, image.rest, row.rest, pixel.rest));
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
    } else if MAP == MAP_STRIDED {
        value = copied_lanes(dst, src, place_of(first, dst), first.w);
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
