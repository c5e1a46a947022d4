// Quantises values with the scale and the zero point in the two channels of a tensor of one pixel. One texel an
// invocation.

struct Params {
    steps: f32,   // number of steps from the least integer to the greatest
}

// True if integers are counted from the zero point, so that they may be negative.
override FROM_ZERO: bool = false;
// True if the scale and the zero point are the first texel of the weights.
override CONSTANT: bool = false;

fn scale_and_zero() -> vec2<f32> {
    if CONSTANT { return read_weight(0u).xy; }
    let other = second_tensor();
    return read_second(other, row_start(other, 0u)).xy;
}

fn compute(dst: Tensor, o: OutputTexel) -> vec4<f32> {
    let src = input_tensor();
    let by = scale_and_zero();
    let steps = round(read_input(src, texel_of(src, o.row, o.slice, o.x)) / by.x);
    let integers = bounded(steps + by.y, vec4(0.0), vec4(params().steps));
    return select(integers, integers - by.y, FROM_ZERO);
}
