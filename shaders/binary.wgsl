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
    return select(slice, 0u, t.c == 1u) * t.pitch + select(x, 0u, t.w == 1u);
}

fn repeated_lanes(t: Tensor, v: vec4<f32>) -> vec4<f32> {
    return select(v, v.xxxx, t.c == 1u);
}

fn truth(yes: vec4<bool>) -> vec4<f32> {
    return select(vec4(0.0), vec4(1.0), yes);
}

// `a / b` rounded towards zero. A device's division need not be exact, so that of whole numbers is put right.
fn whole_quotient(a: vec4<f32>, b: vec4<f32>) -> vec4<f32> {
    let divisor = abs(b);
    var q = trunc(abs(a) / divisor);
    let rest = abs(a) - q * divisor;
    q = select(q, q - 1.0, rest < vec4(0.0));
    q = select(q, q + 1.0, rest >= divisor);
    return select(q, -q, (a < vec4(0.0)) != (b < vec4(0.0)));
}

// What `whole_quotient` leaves over; it has the sign of `a`.
fn rest_of(a: vec4<f32>, b: vec4<f32>) -> vec4<f32> {
    return a - whole_quotient(a, b) * b;
}

// Whole exponents of a few factors are multiplied out: powers of whole numbers are then exact.
fn power(a: vec4<f32>, b: vec4<f32>) -> vec4<f32> {
    let whole = b == trunc(b);
    let odd = whole & (abs(b) - 2.0 * trunc(abs(b) * 0.5) == vec4(1.0));
    let negative = a < vec4(0.0);
    // The logarithm of zero has a bound, so that a zero to the power of a negative number is as large as there is.
    var by_logarithm = select(exp2(b * log2(abs(a))), vec4(0.0), (a == vec4(0.0)) & (b > vec4(0.0)));
    by_logarithm = select(by_logarithm, -by_logarithm, negative & odd);
    // No number: the logarithm of a negative one.
    by_logarithm = select(by_logarithm, log2(a), negative & !whole);
    var product = vec4(1.0);
    for (var i = 1u; i <= 16u; i++) {
        product = select(product, product * a, vec4(f32(i)) <= abs(b));
    }
    product = select(product, 1.0 / product, b < vec4(0.0));
    by_logarithm = select(by_logarithm, a + b, no_number(a) | no_number(b));
    // One is one, whatever the exponent.
    by_logarithm = select(by_logarithm, vec4(1.0), a == vec4(1.0));
    return select(by_logarithm, product, whole & (abs(b) <= vec4(16.0)));
}

fn both(a: vec4<f32>, b: vec4<f32>) -> vec4<f32> {
    // What is no number is true, and differs from all: `!=` is false there.
    let yes_a = !(a == vec4(0.0));
    let yes_b = !(b == vec4(0.0));
    switch FUNCTION {
        case 0u: { return a + b; }
        case 1u: { return a - b; }
        case 2u: { return a * b; }
        case 3u: { return a / b; }
        case 4u: { return select(b, a, (a > b) | no_number(a)); }
        case 5u: { return select(b, a, (a < b) | no_number(a)); }
        case 7u: { return power(a, b); }
        case 8u: {
            let rest = rest_of(a, b);
            return select(rest, rest + b, (rest != vec4(0.0)) & ((rest < vec4(0.0)) != (b < vec4(0.0))));
        }
        case 9u: { return rest_of(a, b); }
        case 10u: {
            let q = whole_quotient(a, b);
            let rest = a - q * b;
            return select(q, q - 1.0, (rest != vec4(0.0)) & ((rest < vec4(0.0)) != (b < vec4(0.0))));
        }
        case 11u: { return whole_quotient(a, b); }
        case 12u: { return (a - b) * (a - b); }
        case 13u: { return truth(a == b); }
        case 14u: { return truth(!(a == b)); }
        case 15u: { return truth(a < b); }
        case 16u: { return truth(a <= b); }
        case 17u: { return truth(a > b); }
        case 18u: { return truth(a >= b); }
        case 19u: { return truth(yes_a & yes_b); }
        case 20u: { return truth(yes_a | yes_b); }
        case 21u: { return truth(yes_a != yes_b); }
        case 22u: { return select(vec4(0.0), b, yes_a); }
        case 23u: { return select(b, vec4(0.0), yes_a); }
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
        let i = repeated_row(t, dst, row) * (t.slices * t.pitch) + repeated_texel(t, x, slice);
        let constant = repeated_lanes(t, read_weight(i));
        if CONSTANT == 1u {
            value = both(constant, placed);
        } else {
            value = both(placed, constant);
        }
    }
    store_output(dst, row, x, slice, value);
}
