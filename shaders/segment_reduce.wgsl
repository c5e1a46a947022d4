// Reductions of the pixels of each segment: pixel `i` of a row of the result combines the pixels of the operand's row
// whose segment is `i`, in their order. Negative segments count from the end. One texel an invocation.

struct Params {
    neutral: f32,   // the result of a segment without pixels
}

// A reduction of `crates/texpool-ops/src/ops/segment_reduce/kernel.rs`.
override KIND: u32 = SEGMENT_SUM;

fn combined(a: vec4<f32>, b: vec4<f32>) -> vec4<f32> {
    switch KIND {
        case SEGMENT_PROD: { return a * b; }
        case SEGMENT_MAX: { return select(b, a, (a > b) | no_number(a)); }
        case SEGMENT_MIN: { return select(b, a, (a < b) | no_number(a)); }
        case SEGMENT_SUM: { return a + b; }
        default: { return nan(); }
    }
}

// The value with pixel `x` of the operand, if it is one of the segment.
fn with_pixel(value: vec4<f32>, src: Tensor, o: OutputTexel, x: u32, hit: bool) -> vec4<f32> {
    // Lanes behind the last segment hold zeros.
    if !hit || x >= src.w { return value; }
    return combined(value, read_input(src, texel_of(src, o.row, o.slice, x)));
}

fn compute(dst: Tensor, o: OutputTexel) -> vec4<f32> {
    let src = input_tensor();
    let segments = second_tensor();
    var value = vec4(params().neutral);
    // Four segments are in a texel, and few of them are the own one.
    for (var i = 0u; i < segments.slices; i++) {
        let segment = read_second(segments, texel_of(segments, 0u, i, 0u));
        let hit = (segment == vec4(f32(o.x))) | (segment == vec4(f32(o.x) - f32(dst.w)));
        if !any(hit) { continue; }
        value = with_pixel(value, src, o, i * 4u, hit.x);
        value = with_pixel(value, src, o, i * 4u + 1u, hit.y);
        value = with_pixel(value, src, o, i * 4u + 2u, hit.z);
        value = with_pixel(value, src, o, i * 4u + 3u, hit.w);
    }
    return value;
}
