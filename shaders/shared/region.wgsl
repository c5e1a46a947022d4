// The part of a tensor that reductions over axes make one texel of the result of.

// Indices `.x..<.y` of each axis.
struct Region {
    batches: vec2<u32>,
    rows: vec2<u32>,
    pixels: vec2<u32>,
    slices: vec2<u32>,
}

// The indices of an axis that make one of the result.
fn span(reduced: u32, index: u32, extent: u32) -> vec2<u32> {
    return select(vec2(index, index + 1u), vec2(0u, extent), reduced != 0u);
}

// `reduced` is whether B, H, W, C are.
fn region_of(reduced: vec4<u32>, src: Tensor, o: OutputTexel) -> Region {
    return Region(
        span(reduced.x, o.b, src.b),
        span(reduced.y, o.y, src.h),
        span(reduced.z, o.x, src.w),
        span(reduced.w, o.slice, src.slices),
    );
}
