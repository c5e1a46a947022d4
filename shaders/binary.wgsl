// A function of two values; extents of one are repeated. One texel an invocation.
// Own words: 8, 9  the constant operand as a tensor; its texels are the first weights: rows, slices, pixels.
// Codes of `src/kernels/binary.rs`.
override FUNCTION: u32 = 0u;
// 0: both operands are placed; 1: the left one is a constant; 2: the right one is.
override CONSTANT: u32 = 0u;

// The row of `t` that is read for a row of the result.
fn repeated_row(t: Tensor, dst: Tensor, row: u32) -> u32 {
    return select(row / dst.h, 0u, t.b == 1u) * t.h + select(row % dst.h, 0u, t.h == 1u);
}

// The texel in a row of `t` that is read for pixel `x` of `slice` of the result.
fn repeated_texel(t: Tensor, x: u32, slice: u32) -> u32 {
    return select(slice, 0u, t.c == 1u) * t.w + select(x, 0u, t.w == 1u);
}

fn repeated_lanes(t: Tensor, v: vec4<f32>) -> vec4<f32> {
    return select(v, v.xxxx, t.c == 1u);
}

fn both(a: vec4<f32>, b: vec4<f32>) -> vec4<f32> {
    switch FUNCTION {
        case 0u: { return a + b; }
        case 1u: { return a - b; }
        case 2u: { return a * b; }
        case 3u: { return a / b; }
        case 4u: { return max(a, b); }
        case 5u: { return min(a, b); }
        default: { return select(a, a * b, a < vec4(0.0)); }
    }
}

@compute @workgroup_size(LANES)
fn main(@builtin(global_invocation_id) global: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>) {
    let id = begin(global, group);
    if id >= param(0u).x { return; }
    let dst = output_tensor();
    let src = input_tensor();
    let row_texels = dst.slices * dst.w;
    let row = param(0u).y + id / row_texels;
    let slice = (id % row_texels) / dst.w;
    let x = (id % row_texels) % dst.w;
    let place = row_start(src, repeated_row(src, dst, row)) + repeated_texel(src, x, slice);
    let placed = repeated_lanes(src, read_input(src, place));
    var value: vec4<f32>;
    if CONSTANT == 0u {
        let other = second_tensor();
        let place = row_start(other, repeated_row(other, dst, row)) + repeated_texel(other, x, slice);
        value = both(placed, repeated_lanes(other, read_second(other, place)));
    } else {
        let t = tensor(8u);
        let i = repeated_row(t, dst, row) * (t.slices * t.w) + repeated_texel(t, x, slice);
        let constant = repeated_lanes(t, read_weight(i));
        if CONSTANT == 1u {
            value = both(constant, placed);
        } else {
            value = both(placed, constant);
        }
    }
    emit(dst, row, x, slice, value);
}
