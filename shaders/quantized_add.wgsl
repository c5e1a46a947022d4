// The sum of two tensors of 8-bit integers, rounded to integers as a runtime rounds it; extents of one are repeated.
// One texel an invocation.

struct Params {
    constant: Tensor,     // the constant operand
    factors: vec2<u32>,   // of the operands: significands; signed integers of SUM_SHIFT
    shifts: vec2<i32>,    // exponents of SUM_FIXED; shifts to a common unit of SUM_FLOAT
    zeros: vec2<i32>,     // zero points of the operands of SUM_FLOAT
    limits: vec2<i32>,    // smallest and largest integer of the result
    factor: u32,          // significand of the factor of SUM_FIXED
    shift: i32,           // exponent of the factor of SUM_FIXED; bits of fraction of others
    rest: vec2<u32>,      // what does not depend on the operands of SUM_FLOAT: low half, high half
    zero: i32,            // zero point of the result of SUM_FLOAT
}

// An arithmetic of `crates/texpool-ops/src/ops/quantized_add/kernel.rs`.
override ARITHMETIC: u32 = SUM_FIXED;

fn scaled(x: vec4<i32>, significand: u32, exponent: i32) -> vec4<i32> {
    return fixed_point_product(x, vec4(significand), vec4(exponent));
}

fn fixed_sum(a: vec4<i32>, b: vec4<i32>, args: Params) -> vec4<i32> {
    let left = scaled(a << vec4(FIXED_LEFT_SHIFT), args.factors.x, args.shifts.x);
    let right = scaled(b << vec4(FIXED_LEFT_SHIFT), args.factors.y, args.shifts.y);
    return scaled(left + right, args.factor, args.shift);
}

fn shifted_sum(a: vec4<i32>, b: vec4<i32>, args: Params) -> vec4<i32> {
    let factors = bitcast<vec2<i32>>(args.factors);
    let shift = u32(args.shift);
    let half = i32(1u << (shift - 1u));
    return (a * factors.x + b * factors.y + half) >> vec4(shift);
}

// Integers of 64 bits.
struct Wide {
    low: vec4<u32>,
    high: vec4<u32>,
}

fn plus(a: Wide, b: Wide) -> Wide {
    let low = a.low + b.low;
    return Wide(low, a.high + b.high + select(vec4(0u), vec4(1u), low < b.low));
}

fn negated_if(a: Wide, yes: vec4<bool>) -> Wide {
    let low = ~a.low + vec4(1u);
    let high = ~a.high + select(vec4(0u), vec4(1u), low == vec4(0u));
    return Wide(select(a.low, low, yes), select(a.high, high, yes));
}

fn is_negative(a: Wide) -> vec4<bool> {
    return bitcast<vec4<i32>>(a.high) < vec4(0);
}

// The nearest multiple of `1 << bits`, fewer than 63, with halves to even.
fn rounded(a: Wide, bits: vec4<u32>) -> Wide {
    let low_bits = vec4(1u) << min(bits, vec4(31u));
    let low_mask = select(low_bits - vec4(1u), vec4(0xffffffffu), bits >= vec4(32u));
    let high_mask = (vec4(1u) << (max(bits, vec4(32u)) - vec4(32u))) - vec4(1u);
    let odd = (select(a.low, a.high, bits >= vec4(32u)) >> (bits & vec4(31u))) & vec4(1u);
    // One less than half of the multiple, or exactly half if the multiple below is odd.
    let half = Wide((low_mask >> vec4(1u)) | (high_mask << vec4(31u)), high_mask >> vec4(1u));
    let to_even = Wide(select(odd, vec4(0u), bits == vec4(0u)), vec4(0u));
    let sum = plus(plus(a, half), to_even);
    return Wide(sum.low & ~low_mask, sum.high & ~high_mask);
}

// `x * (significand << shift) + other`, rounded to 24 bits as a fused operation on floats.
fn fused(x: vec4<i32>, significand: u32, shift: u32, other: Wide) -> Wide {
    // A significand has 24 bits and `x` has 8.
    let magnitude = vec4<u32>(abs(x)) * significand;
    let product = Wide(magnitude << vec4(shift), (magnitude >> vec4(1u)) >> vec4(31u - shift));
    let exact = plus(negated_if(product, x < vec4(0)), other);
    let negative = is_negative(exact);
    let positive = negated_if(exact, negative);
    let bits = vec4(64u) - select(
        countLeadingZeros(positive.high),
        vec4(32u) + countLeadingZeros(positive.low),
        positive.high == vec4(0u)
    );
    return negated_if(rounded(positive, max(bits, vec4(24u)) - vec4(24u)), negative);
}

fn float_sum(a: vec4<i32>, b: vec4<i32>, args: Params) -> vec4<i32> {
    let rest = Wide(vec4(args.rest.x), vec4(args.rest.y));
    let inner = fused(b + args.zeros.y, args.factors.y, u32(args.shifts.y), rest);
    let sum = fused(a + args.zeros.x, args.factors.x, u32(args.shifts.x), inner);
    let negative = is_negative(sum);
    let bits = u32(args.shift);
    let positive = rounded(negated_if(sum, negative), vec4(bits));
    // The whole part, which has at most 18 bits.
    var whole = positive.high >> vec4(bits & 31u);
    if bits < 32u {
        whole = (positive.low >> vec4(bits)) | ((positive.high << vec4(1u)) << vec4(31u - bits));
    }
    let integer = bitcast<vec4<i32>>(whole);
    return select(integer, -integer, negative) - args.zero;
}

fn compute(dst: Tensor, o: OutputTexel) -> vec4<f32> {
    let operands = two_operands(o);
    let a = vec4<i32>(operands.left);
    let b = vec4<i32>(operands.right);
    let args = params();
    var sum = vec4(0);
    switch ARITHMETIC {
        case SUM_FIXED: { sum = fixed_sum(a, b, args); }
        case SUM_SHIFT: { sum = shifted_sum(a, b, args); }
        case SUM_FLOAT: { sum = float_sum(a, b, args); }
        default: { return nan(); }
    }
    return vec4<f32>(clamp(sum, vec4(args.limits.x), vec4(args.limits.y)));
}
