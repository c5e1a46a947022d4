// The least and the greatest value of each pixel's channels and zero, as two channels. One pixel an invocation.

fn compute(dst: Tensor, o: OutputTexel) -> vec4<f32> {
    let src = input_tensor();
    let first = texel_of(src, o.row, 0u, o.x);
    var range = range_of_zero();
    for (var slice = 0u; slice < src.slices; slice++) {
        range = extended(range, existing(src, first + slice * src.pitch, slice));
    }
    return vec4(ends(range), 0.0, 0.0);
}
