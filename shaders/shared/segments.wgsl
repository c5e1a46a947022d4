// Code shared by the reductions of segments.

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
    if !hit || x >= src.w { return value; }
    return combined(value, read_input(src, texel_of(src, o.row, o.slice, x)));
}
