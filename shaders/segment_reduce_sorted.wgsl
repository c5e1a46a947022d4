// Reductions of the pixels of each segment, which are listed in ascending order: row `i` of the lists has the segments
// of as many pixels as it has channels in its first pixel, and the numbers of these pixels within the row in its
// second. One texel an invocation, which finds its own pixels in each row.

struct Params {
    neutral: f32,   // the result of a segment without pixels
}

// Texels of a row that are taken in a round: 4 of many pixels, else one.
override TAKEN: u32 = 1u;

// The number of segments of a row that come before one.
fn segments_before(lists: Tensor, row: u32, segment: f32) -> u32 {
    var found = 0u;
    for (var step = 1u << firstLeadingBit(lists.c); step > 0u; step >>= 1u) {
        let last = min(found + step, lists.c) - 1u;
        let other = read_second(lists, texel_of(lists, row, last >> 2u, 0u))[last & 3u];
        found = select(found, found + step, found + step <= lists.c && other < segment);
    }
    return found;
}

// The value with those pixels of texel `i` of a row that are of the segment.
fn with_texel(value: vec4<f32>, src: Tensor, lists: Tensor, o: OutputTexel, row: u32, i: u32) -> vec4<f32> {
    if i >= lists.slices { return value; }
    let texel = texel_of(lists, row, i, 0u);
    // Lanes behind the last segment hold zeros.
    let hit = (read_second(lists, texel) == vec4(f32(o.x))) & has_channels(lists, i);
    if !any(hit) { return value; }
    let pixels = vec4<u32>(max(read_second(lists, texel + 1u), vec4(0.0))) + row * lists.c;
    let two = with_pixel(with_pixel(value, src, o, pixels.x, hit.x), src, o, pixels.y, hit.y);
    return with_pixel(with_pixel(two, src, o, pixels.z, hit.z), src, o, pixels.w, hit.w);
}

fn compute(dst: Tensor, o: OutputTexel) -> vec4<f32> {
    let src = input_tensor();
    let lists = second_tensor();
    let segment = f32(o.x);
    var value = vec4(params().neutral);
    for (var row = 0u; row < lists.h; row++) {
        for (var i = segments_before(lists, row, segment) >> 2u; i < lists.slices; i += TAKEN) {
            value = with_texel(value, src, lists, o, row, i);
            if TAKEN == 4u {
                value = with_texel(value, src, lists, o, row, i + 1u);
                value = with_texel(value, src, lists, o, row, i + 2u);
                value = with_texel(value, src, lists, o, row, i + 3u);
            }
            if read_second(lists, texel_of(lists, row, i, 0u)).w > segment { break; }
        }
    }
    return value;
}
