// Reductions of the pixels of each segment: pixel `i` of a row of the result combines the pixels of the operand's row
// whose segment is `i`, in their order. Negative segments count from the end. One texel an invocation.

struct Params {
    neutral: f32,   // the result of a segment without pixels
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
        // Lanes behind the last segment hold zeros, and there are no pixels for them.
        value = with_pixel(value, src, o, i * 4u, hit.x);
        value = with_pixel(value, src, o, i * 4u + 1u, hit.y);
        value = with_pixel(value, src, o, i * 4u + 2u, hit.z);
        value = with_pixel(value, src, o, i * 4u + 3u, hit.w);
    }
    return value;
}
