// A function of one value. One texel an invocation.

struct Params {
    alpha: f32,
    beta: u32,   // as `activate` wants it
}

// A function of `crates/texpool-ops/src/kernels/functions.rs`, or of `activate`.
override FUNCTION: u32 = ACT_NONE;

const HALF_PI: f32 = 1.57079632679;
const QUARTER_PI: f32 = 0.78539816339;

// Inverse hyperbolic tangent of `x` in 0 to 1/3, by its series.
fn small_atanh(x: vec4<f32>) -> vec4<f32> {
    let z = x * x;
    return x + x * z * (1.0 / 3.0 + z * (1.0 / 5.0 + z * (1.0 / 7.0 + z * (1.0 / 9.0 + z * (1.0 / 11.0
        + z * (1.0 / 13.0))))));
}

// log(1 + x) for `x >= 0`, accurate for small `x`.
fn log_plus_one(x: vec4<f32>) -> vec4<f32> {
    let s = min(x, vec4(1.0));
    return select(logarithm(1.0 + x), 2.0 * small_atanh(s / (2.0 + s)), x < vec4(1.0));
}

// Cephes' `atanf`: three ranges and a polynomial.
fn arc_tangent(v: vec4<f32>) -> vec4<f32> {
    let x = abs(v);
    let far = x > vec4(2.414213562373095);
    let middle = x > vec4(0.4142135623730950);
    let base = select(select(vec4(0.0), vec4(QUARTER_PI), middle), vec4(HALF_PI), far);
    let y = select(select(x, (x - 1.0) / (x + 1.0), middle), -1.0 / x, far);
    let z = y * y;
    let p = ((z * 8.05374449538e-2 - 1.38776856032e-1) * z + 1.99777106478e-1) * z - 3.33329491539e-1;
    return sign(v) * (base + (p * z * y + y));
}

// Cephes' `asinf` for `x` in 0 to 1/2.
fn small_asin(x: vec4<f32>) -> vec4<f32> {
    let z = x * x;
    return ((((z * 4.2163199048e-2 + 2.4181311049e-2) * z + 4.5470025998e-2) * z + 7.4953002686e-2) * z
        + 1.6666752422e-1) * z * x + x;
}

// Arc cosine of |x| where that is above a half.
fn outer_acos(x: vec4<f32>) -> vec4<f32> {
    return 2.0 * small_asin(sqrt(0.5 * (1.0 - x)));
}

// An angle as quarters of a turn, modulo four, and the rest in radians: at most an eighth of a turn of either sign.
struct Angle {
    quarters: i32,
    rest: f32,
}

// Four angles.
struct Angles {
    quarters: vec4<i32>,
    rest: vec4<f32>,
}

// Largest angle that can be reduced precisely enough with a quarter of a turn split in three parts: multiples of the
// first two parts are exact.
const NEAR_ANGLE: f32 = 4096.0;

// The binary digits of 2 / pi, behind 32 zeros. Vectors, since glslang rejects the HLSL that naga writes for a constant
// array.
const TWO_OVER_PI_FRONT = vec4<u32>(0u, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u);
const TWO_OVER_PI_BACK = vec4<u32>(0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu);

fn two_over_pi_word(i: u32) -> u32 {
    let four = select(TWO_OVER_PI_BACK, TWO_OVER_PI_FRONT, i < 4u);
    return four[i & 3u];
}

// The high word of a product.
fn high_product(a: u32, b: u32) -> u32 {
    let low = (a & 0xffffu) * (b & 0xffffu);
    let middle = (a >> 16u) * (b & 0xffffu) + (low >> 16u);
    let other = (a & 0xffffu) * (b >> 16u) + (middle & 0xffffu);
    return (a >> 16u) * (b >> 16u) + (middle >> 16u) + (other >> 16u);
}

// 32 binary digits of 2 / pi from digit `first` of the table on.
fn two_over_pi(first: u32) -> u32 {
    let word = two_over_pi_word(first / 32u);
    let next = two_over_pi_word(first / 32u + 1u);
    let shift = first % 32u;
    return select((word << shift) | (next >> ((32u - shift) & 31u)), word, shift == 0u);
}

// A finite angle of an eighth of a radian or more, however large, by the method of Payne and Hanek: the significand
// times those 96 digits of 2 / pi that decide the quarters modulo four and 62 bits of the rest.
fn far_angle(x: f32) -> Angle {
    let magnitude = bitcast<u32>(x) & 0x7fffffffu;
    let significand = (magnitude & 0x7fffffu) | 0x800000u;
    // The first digit that matters gives half a turn when it meets the lowest bit of the significand.
    let first = (magnitude >> 23u) - 120u;
    let last = high_product(significand, two_over_pi(first + 64u));
    let middle = two_over_pi(first + 32u);
    let low = significand * middle + last;
    let carry = u32(low < last);
    // Two bits of quarters, then a fraction of one.
    let high = significand * two_over_pi(first) + high_product(significand, middle) + carry;
    let fraction = (high << 2u) | (low >> 30u);
    let negative = fraction >= 0x80000000u;
    let turn = i32(high >> 30u) + i32(negative);
    // The two words of the fraction's magnitude.
    let under = select(low << 2u, ~(low << 2u), negative);
    let over = select(fraction, ~fraction, negative);
    let rest = (f32(over) * 2.3283064e-10 + f32(under) * 5.4210109e-20) * HALF_PI;
    return Angle(select(turn, -turn, x < 0.0), select(rest, -rest, negative != (x < 0.0)));
}

fn angles(x: vec4<f32>) -> Angles {
    let quarters = round(x * (2.0 / 3.14159265));
    let rest = ((x - quarters * 1.5703125) - quarters * 4.83751297e-4) - quarters * 7.54978995e-8;
    var found = Angles(vec4<i32>(quarters), rest);
    let far = (abs(x) > vec4(NEAR_ANGLE)) & ((bitcast<vec4<u32>>(x) & vec4(0x7fffffffu)) < vec4(INFINITE_BITS));
    if any(far) {
        for (var lane = 0u; lane < 4u; lane++) {
            if far[lane] {
                let angle = far_angle(x[lane]);
                found.quarters[lane] = angle.quarters;
                found.rest[lane] = angle.rest;
            }
        }
    }
    return found;
}

// Cephes' `sinf` and `cosf`: sine for a `quarter` of 0, cosine for 1. Drivers' own may be off by a two-thousandth.
fn circular(angles: Angles, quarter: i32) -> vec4<f32> {
    let r = angles.rest;
    let z = r * r;
    let sine = r + r * z * (-1.6666654611e-1 + z * (8.3321608736e-3 - z * 1.9515295891e-4));
    let cosine = 1.0 - 0.5 * z
        + z * z * (4.166664568298827e-2 + z * (-1.388731625493765e-3 + z * 2.443315711809948e-5));
    let turn = angles.quarters + quarter;
    let value = select(sine, cosine, (turn & vec4(1)) != vec4(0));
    return select(value, -value, (turn & vec4(2)) != vec4(0));
}

fn tangent_of(angles: Angles) -> vec4<f32> {
    return circular(angles, 0) / circular(angles, 1);
}

fn arc_sine(v: vec4<f32>) -> vec4<f32> {
    let x = abs(v);
    return sign(v) * select(small_asin(x), HALF_PI - outer_acos(x), x > vec4(0.5));
}

fn arc_cosine(v: vec4<f32>) -> vec4<f32> {
    let x = abs(v);
    let outer = outer_acos(x);
    let inner = HALF_PI - sign(v) * small_asin(x);
    return select(inner, select(outer, 2.0 * HALF_PI - outer, v < vec4(0.0)), x > vec4(0.5));
}

fn hyperbolic_sine(x: vec4<f32>) -> vec4<f32> {
    let z = x * x;
    let small = x + x * z * (1.0 / 6.0 + z * (1.0 / 120.0 + z * (1.0 / 5040.0 + z * (1.0 / 362880.0))));
    return select(0.5 * (exponential(x) - exp(-x)), small, abs(x) < vec4(1.0));
}

fn inverse_hyperbolic_sine(v: vec4<f32>) -> vec4<f32> {
    let x = abs(v);
    let z = x * x;
    // Beyond 2^12 the square root is x, and far beyond it the square is infinite.
    let near = log_plus_one(x + z / (1.0 + sqrt(z + 1.0)));
    return sign(v) * select(near, logarithm(x) + 0.69314718, x > vec4(4096.0));
}

fn inverse_hyperbolic_cosine(x: vec4<f32>) -> vec4<f32> {
    let t = x - 1.0;
    let found = select(log_plus_one(t + sqrt(t * (t + 2.0))), logarithm(x) + 0.69314718, x > vec4(4096.0));
    // Below -1 the root is a number again, but no answer.
    return select(found, nan(), x < vec4(1.0));
}

fn inverse_hyperbolic_tangent(x: vec4<f32>) -> vec4<f32> {
    return select(0.5 * logarithm((1.0 + x) / (1.0 - x)), small_atanh(x), abs(x) < vec4(0.3));
}

// Infinity and NaN are detected by their bits, since compilers may assume that comparisons never see them.
const INFINITE_BITS: u32 = 0x7f800000u;

// The nearest value of 16 bits, ties to even, by arithmetic that every backend has.
fn to_half(x: vec4<f32>) -> vec4<f32> {
    let bits = bitcast<vec4<u32>>(x);
    let magnitude = bits & vec4(0x7fffffffu);
    let negative = bits & vec4(0x80000000u);
    let even = (magnitude >> vec4(13u)) & vec4(1u);
    var near = (magnitude + 0xfffu + even) & vec4(0xffffe000u);
    // From 65520 on it is infinite.
    near = select(near, vec4(INFINITE_BITS), near > vec4(0x477fe000u));
    near = select(near, magnitude, no_number(x));
    // Below 2^-14 the steps are 2^-24.
    let small = round(x * 16777216.0) * (1.0 / 16777216.0);
    return select(bitcast<vec4<f32>>(near | negative), small, magnitude < vec4(0x38800000u));
}

fn function(x: vec4<f32>, slice: u32) -> vec4<f32> {
    let args = params();
    let alpha = args.alpha;
    let beta = bitcast<f32>(args.beta);
    let magnitude = bitcast<vec4<u32>>(x) & vec4(0x7fffffffu);
    switch FUNCTION {
        case UNARY_SELU: { return beta * select(x, alpha * (exp(x) - 1.0), x <= vec4(0.0)); }
        case UNARY_CELU: { return positive(x) + min(alpha * (exp(x / alpha) - 1.0), vec4(0.0)); }
        case UNARY_THRESHOLDED_RELU: { return select(vec4(0.0), x, x > vec4(alpha)); }
        case UNARY_SOFTSIGN: { return x / (1.0 + abs(x)); }
        case UNARY_SHRINK: { return select(select(vec4(0.0), x - alpha, x > vec4(beta)), x + alpha, x < vec4(-beta)); }
        case UNARY_LOG: { return logarithm(x); }
        case UNARY_RECIPROCAL: { return 1.0 / x; }
        case UNARY_SIGN: { return select(sign(x), x, no_number(x)); }
        case UNARY_ERF: { return erf(x); }
        case UNARY_SIN: { return circular(angles(x), 0); }
        case UNARY_COS: { return circular(angles(x), 1); }
        case UNARY_TAN: { return tangent_of(angles(x)); }
        case UNARY_ASIN: { return arc_sine(x); }
        case UNARY_ACOS: { return arc_cosine(x); }
        case UNARY_ATAN: { return arc_tangent(x); }
        case UNARY_SINH: { return hyperbolic_sine(x); }
        case UNARY_COSH: { return 0.5 * (exponential(x) + exp(-x)); }
        case UNARY_ASINH: { return inverse_hyperbolic_sine(x); }
        case UNARY_ACOSH: { return inverse_hyperbolic_cosine(x); }
        case UNARY_ATANH: { return inverse_hyperbolic_tangent(x); }
        case UNARY_FLOOR: { return floor(x); }
        case UNARY_CEIL: { return ceil(x); }
        case UNARY_ROUND: { return round(x); }
        case UNARY_TRUNC: { return trunc(x); }
        case UNARY_TO_HALF: { return to_half(x); }
        case UNARY_NOT: { return truth(x == vec4(0.0)); }
        case UNARY_NOT_ZERO: { return truth(magnitude != vec4(0u)); }
        case UNARY_IS_NAN: { return truth(no_number(x)); }
        case UNARY_IS_INF: {
            let negative = bitcast<vec4<u32>>(x) != magnitude;
            // `alpha` is whether negative infinity counts, `beta` whether the positive one does.
            let counts = select(vec4(beta), vec4(alpha), negative) != vec4(0.0);
            return truth((magnitude == vec4(INFINITE_BITS)) & counts);
        }
        default: { return activate(FUNCTION, x, slice, alpha, args.beta); }
    }
}

fn compute(dst: Tensor, o: OutputTexel) -> vec4<f32> {
    let src = input_tensor();
    return function(read_input(src, texel_of(src, o.row, o.slice, o.x)), o.slice);
}
