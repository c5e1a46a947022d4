// Copies elements of the input that lie at strides of its dense order. One texel an invocation.

struct Params {
    // Axes of the result in dense order, from the innermost, without the outermost: extents, and distances in the input.
    inner: vec4<u32>,
    inner_strides: vec4<i32>,
    outer: vec4<u32>,
    outer_strides: vec4<i32>,
    outermost_stride: i32,
    offset: i32,         // the input element that comes first
}

// Number of axes.
override AXES: u32 = 1u;
// True if the four lanes of a result texel are the four lanes of one input texel.
override WHOLE_TEXELS: bool = false;
// True if the lanes of a result texel come from a single input pixel.
override ONE_PIXEL: bool = false;

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
    if AXES > 1u { at.inner.x = split(&at, inner.x); }
    if AXES > 2u {
        at.inner.y = split(&at, inner.y);
        at.inner.z = split(&at, inner.z);
    }
    if AXES > 4u {
        at.inner.w = split(&at, inner.w);
        at.outer.x = split(&at, outer.x);
    }
    if AXES > 6u {
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
    if AXES > 1u { next.inner.x = counted(next.inner.x, inner.x, &carry); }
    if AXES > 2u {
        next.inner.y = counted(next.inner.y, inner.y, &carry);
        next.inner.z = counted(next.inner.z, inner.z, &carry);
    }
    if AXES > 4u {
        next.inner.w = counted(next.inner.w, inner.w, &carry);
        next.outer.x = counted(next.outer.x, outer.x, &carry);
    }
    if AXES > 6u {
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

fn read_channel(src: Tensor, at: Channel) -> vec4<f32> {
    return read_input(src, at.pixel + (at.channel >> 2u) * src.pitch);
}

fn compute(dst: Tensor, o: OutputTexel) -> vec4<f32> {
    let src = input_tensor();
    let channel = o.slice * 4u;
    var at = index_of(((o.b * dst.h + o.y) * dst.w + o.x) * dst.c + channel);
    let first = strided(at);
    let source = channel_of(src, first);
    if WHOLE_TEXELS { return read_channel(src, source); }
    var value: vec4<f32>;
    for (var lane = 0u; lane < 4u; lane++) {
        let element = strided(at);
        var copied = Channel(source.pixel, source.channel + (element - first));
        if !ONE_PIXEL { copied = channel_of(src, element); }
        value[lane] = read_channel(src, copied)[copied.channel & 3u];
        // Lanes past the last channel repeat it, so that every source exists; `store_output` clears them.
        if channel + lane + 1u < dst.c { at = next_index(at); }
    }
    return value;
}
