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

// Rows of the region, of all its batches.
fn rows_of(region: Region) -> u32 {
    return (region.batches.y - region.batches.x) * (region.rows.y - region.rows.x);
}

// Texels of the region in a row.
fn row_texels_of(region: Region) -> u32 {
    return (region.pixels.y - region.pixels.x) * (region.slices.y - region.slices.x);
}

// A texel of the region: where it lies in the texture, and its indices.
struct RegionTexel {
    texel: u32,
    b: u32,
    y: u32,
    x: u32,
    slice: u32,
}

// The first texel of row `i` of the region.
fn row_place(region: Region, src: Tensor, i: u32) -> RegionTexel {
    let place = divided(i, region.rows.y - region.rows.x);
    let b = region.batches.x + place.quotient;
    let y = region.rows.x + place.rest;
    let texel = texel_of(src, b * src.h + y, region.slices.x, region.pixels.x);
    return RegionTexel(texel, b, y, region.pixels.x, region.slices.x);
}

// The next texel of the same row: slice by slice, then pixel by pixel.
fn next_place(region: Region, src: Tensor, place: RegionTexel) -> RegionTexel {
    let last = place.slice + 1u == region.slices.y;
    let x = select(place.x, place.x + 1u, last);
    let slice = select(place.slice + 1u, region.slices.x, last);
    // Wraps where the place goes back to the first slice.
    let texel = place.texel + (slice - place.slice) * src.pitch + (x - place.x);
    return RegionTexel(texel, place.b, place.y, x, slice);
}
