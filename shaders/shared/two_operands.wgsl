// Reads both operands of a kernel that computes one texel of the result from one texel of each. Extents of one are
// repeated. One operand may be constant: the kernel's parameter `constant`, whose texels are the first weights.

// Set to the constant operand, if there is one.
override CONSTANT: u32 = CONSTANT_NONE;

// The row of `t` that is read for a texel of the result.
fn repeated_row(t: Tensor, o: OutputTexel) -> u32 {
    return select(o.b, 0u, t.b == 1u) * t.h + select(o.y, 0u, t.h == 1u);
}

// The texel in that row that is read for a texel of the result.
fn repeated_texel(t: Tensor, o: OutputTexel) -> u32 {
    return select(o.slice, 0u, t.c == 1u) * t.pitch + select(o.x, 0u, t.w == 1u);
}

fn repeated_lanes(t: Tensor, v: vec4<f32>) -> vec4<f32> {
    return select(v, v.xxxx, t.c == 1u);
}

struct Operands {
    left: vec4<f32>,
    right: vec4<f32>,
}

// The values of both operands for a texel of the result.
fn two_operands(o: OutputTexel) -> Operands {
    let src = input_tensor();
    let placed = repeated_lanes(src, read_input(src, row_start(src, repeated_row(src, o)) + repeated_texel(src, o)));
    if CONSTANT == CONSTANT_NONE {
        let other = second_tensor();
        let texel = row_start(other, repeated_row(other, o)) + repeated_texel(other, o);
        return Operands(placed, repeated_lanes(other, read_second(other, texel)));
    }
    let t = params().constant;
    let i = repeated_row(t, o) * (t.slices * t.pitch) + repeated_texel(t, o);
    let constant = repeated_lanes(t, read_weight(i));
    switch CONSTANT {
        case CONSTANT_LEFT: { return Operands(constant, placed); }
        case CONSTANT_RIGHT: { return Operands(placed, constant); }
        default: { return Operands(nan(), nan()); }
    }
}
