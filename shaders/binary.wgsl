// A function of two values; extents of one are repeated. One texel an invocation.

struct Params {
    constant: Tensor,   // the constant operand; its texels are the first weights: rows, slices, pixels
}

// A function of `crates/texpool-ops/src/kernels/binary.rs`.
override FUNCTION: u32 = BINARY_ADD;

const INFINITE_BITS: u32 = 0x7f800000u;
const HIDDEN_BIT: u32 = 0x800000u;

// Exponents of floats, taken from their bits. Subnormals and zero get exponent 1, as if they were normal.
fn exponents(magnitudes: vec4<u32>) -> vec4<u32> {
    return max(magnitudes >> vec4(23u), vec4(1u));
}

// Their significands, whole numbers of 24 bits.
fn significands(magnitudes: vec4<u32>) -> vec4<u32> {
    return (magnitudes & vec4(HIDDEN_BIT - 1u)) | select(vec4(0u), vec4(HIDDEN_BIT), magnitudes >= vec4(HIDDEN_BIT));
}

// `a - b * trunc(a / b)` without any rounding: a long division of the significands, which finds eight bits of the
// quotient at a time. It has the sign of `a`. NaN where `a` is infinite or `b` is zero.
fn rest_of(a: vec4<f32>, b: vec4<f32>) -> vec4<f32> {
    let dividend = bitcast<vec4<u32>>(a) & vec4(0x7fffffffu);
    let divisor = bitcast<vec4<u32>>(b) & vec4(0x7fffffffu);
    let by = max(significands(divisor), vec4(1u));
    let exponent = exponents(divisor);
    // Bits of the quotient that are left: at most 253.
    var left = max(exponents(dividend), exponent) - exponent;
    var rest = significands(dividend) % by;
    for (var byte = 0u; byte < 32u; byte++) {
        if all(left == vec4(0u)) { break; }
        let bits = min(left, vec4(8u));
        rest = (rest << bits) % by;
        left -= bits;
    }
    // Converts the remainder back to a float: its highest bit becomes the hidden one, unless the exponent gets too
    // small.
    let up = min(countLeadingZeros(rest) - 8u, exponent - 1u);
    let significand = rest << up;
    let normal = (significand & vec4(HIDDEN_BIT - 1u)) | ((exponent - up) << vec4(23u));
    var bits = select(significand, normal, significand >= vec4(HIDDEN_BIT));
    bits = select(bits, dividend, dividend < divisor);
    let none = (dividend >= vec4(INFINITE_BITS)) | (divisor == vec4(0u)) | (divisor > vec4(INFINITE_BITS));
    bits = select(bits, vec4(0x7fc00000u), none);
    return bitcast<vec4<f32>>(bits | (bitcast<vec4<u32>>(a) & vec4(0x80000000u)));
}

// `a / b` rounded towards zero. A device's division need not be exact, but it divides a multiple of `b` here, so that
// the nearest whole number is right. Beyond 2^24 the result is as near as the division is.
fn whole_quotient(a: vec4<f32>, b: vec4<f32>) -> vec4<f32> {
    let rest = rest_of(a, b);
    let multiple = a - rest;
    let q = round(multiple / b);
    let exact = select(q, q + round((multiple - q * b) / b), abs(q) < vec4(16777216.0));
    return select(exact, a / b, no_number(rest));
}

// Marks the lanes that are infinite, by their bits, since compilers may assume that there are none.
fn is_infinite(x: vec4<f32>) -> vec4<bool> {
    return (bitcast<vec4<u32>>(x) & vec4(0x7fffffffu)) == vec4(0x7f800000u);
}

// `a^b`. Whole exponents of a few factors are multiplied out: powers of whole numbers are then exact.
fn power(a: vec4<f32>, b: vec4<f32>) -> vec4<f32> {
    let whole = b == trunc(b);
    let odd = whole & (abs(b) - 2.0 * trunc(abs(b) * 0.5) == vec4(1.0));
    let negative = a < vec4(0.0);
    // The logarithm of zero has a bound, so that a zero to the power of a negative number is as large as there is.
    var by_logarithm = select(exp2(b * log2(abs(a))), vec4(0.0), (a == vec4(0.0)) & (b > vec4(0.0)));
    by_logarithm = select(by_logarithm, -by_logarithm, negative & odd);
    // A negative number has no fractional powers, except infinity.
    by_logarithm = select(by_logarithm, nan(), negative & !whole & !is_infinite(a));
    var product = vec4(1.0);
    for (var factor = 0u; factor < 16u; factor++) {
        product = select(product, product * a, vec4(f32(factor)) < abs(b));
    }
    product = select(product, 1.0 / product, b < vec4(0.0));
    by_logarithm = select(by_logarithm, a + b, no_number(a) | no_number(b));
    // One is one, whatever the exponent.
    by_logarithm = select(by_logarithm, vec4(1.0), (a == vec4(1.0)) | ((a == vec4(-1.0)) & is_infinite(b)));
    return select(by_logarithm, product, whole & (abs(b) <= vec4(16.0)));
}

fn apply(a: vec4<f32>, b: vec4<f32>) -> vec4<f32> {
    // NaN counts as true and compares as different from everything, but `!=` may return false for it in shaders.
    let yes_a = !(a == vec4(0.0));
    let yes_b = !(b == vec4(0.0));
    switch FUNCTION {
        case BINARY_ADD: { return a + b; }
        case BINARY_SUB: { return a - b; }
        case BINARY_MUL: { return a * b; }
        case BINARY_DIV: { return a / b; }
        case BINARY_MAXIMUM: { return select(b, a, (a > b) | no_number(a)); }
        case BINARY_MINIMUM: { return select(b, a, (a < b) | no_number(a)); }
        case BINARY_POW: { return power(a, b); }
        case BINARY_MOD: {
            let rest = rest_of(a, b);
            return select(rest, rest + b, (rest != vec4(0.0)) & ((rest < vec4(0.0)) != (b < vec4(0.0))));
        }
        case BINARY_FMOD: { return rest_of(a, b); }
        case BINARY_FLOOR_DIV: {
            let q = whole_quotient(a, b);
            let rest = rest_of(a, b);
            return select(q, q - 1.0, (rest != vec4(0.0)) & ((rest < vec4(0.0)) != (b < vec4(0.0))));
        }
        case BINARY_TRUNC_DIV: { return whole_quotient(a, b); }
        case BINARY_SQUARED_DIFFERENCE: { return (a - b) * (a - b); }
        case BINARY_EQUAL: { return truth(a == b); }
        case BINARY_NOT_EQUAL: { return truth(!(a == b)); }
        case BINARY_LESS: { return truth(a < b); }
        case BINARY_LESS_EQUAL: { return truth(a <= b); }
        case BINARY_GREATER: { return truth(a > b); }
        case BINARY_GREATER_EQUAL: { return truth(a >= b); }
        case BINARY_AND: { return truth(yes_a & yes_b); }
        case BINARY_OR: { return truth(yes_a | yes_b); }
        case BINARY_XOR: { return truth(yes_a != yes_b); }
        case BINARY_ZERO_UNLESS: { return select(vec4(0.0), b, yes_a); }
        case BINARY_ZERO_IF: { return select(b, vec4(0.0), yes_a); }
        case BINARY_PRELU: { return select(a, a * b, a < vec4(0.0)); }
        default: { return nan(); }
    }
}

fn compute(dst: Tensor, o: OutputTexel) -> vec4<f32> {
    // One call of `apply`, whose loops are counted once for each.
    let operands = two_operands(o);
    return apply(operands.left, operands.right);
}
