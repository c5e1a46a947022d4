// Code shared by every kernel: parameters, the position of a tensor's texels, and the epilogue applied before a value
// is stored.
//
// `crates/texpool-ops/src/kernels/shader.rs` puts constants in front, and the functions that read parameters into the
// structs that stand here and in front of each kernel: `dispatch_params`, `step_params`, `tensor`, `params`. The Rust
// side states both (`crates/texpool-ops/src/kernels/params.rs` those of this file), and writes the last three of a
// dispatch in that order, then row tables, into its block, which `table` is; `dispatch_table` is the first. Where both
// lie, `crates/texpool-gpu/src/param_binding.rs` says. `crates/texpool-gpu/src/tensor_memory.rs` declares the bindings of
// tensors and weights, with `load_input`, `load_second`, `load_weight` and `write_texel`. In front of this comes one of
// `format_*.wgsl`, which reads and writes values with those, and behind it one of `weight_*.wgsl`, which reads weights as
// they are packed.
// Two counts for each node of the graph: finite values outside the 16-bit range, and indices outside their axis.
@group(0) @binding(6) var<storage, read_write> counters: array<atomic<u32>>;

// The epilogue: `THEN(FIRST(value) + added tensor)`, where functions are those of `activate`.
override FIRST: u32 = ACT_NONE;
override ADD: bool = false;
override THEN: u32 = ACT_NONE;

// Always 0, which compilers cannot know: since the table index cannot be folded, drivers do not recompile the shader
// for the parameters of each dispatch. It is the same for all invocations, which compilers can know.
var<private> origin: u32;

// Parameters that may differ between the dispatches of an operator.
struct DispatchParams {
    items: u32,          // invocations that compute something
    first_row: u32,      // of the result
    end_row: u32,        // behind the last
    first: u32,          // number of what is computed first, where a kernel counts something else than rows
    weight_base: u32,    // the operator's first weight texel
    weight_shift: u32,   // log2 of the weight texture's width; above SHIFT_BITS bits, texels before the weights
    first_slice: u32,    // of the result
    bias: u32,           // first weight texel of the biases
}

struct StepParams {
    alphas: vec2<f32>,   // first parameters of FIRST and THEN
    betas: vec2<u32>,    // second parameters of FIRST and THEN, as `activate` wants them
}

// Parameters of the epilogue, and the tensor that it adds.
var<private> epilogue: StepParams;
var<private> added: Tensor;

struct Tensor {
    rows: u32,     // word of the row table
    mask: u32,     // which bits of a row's number count in the table: all of them, or none
    stride: u32,   // from a row to the next, where none do
    shift: u32,    // log2 of the texture's width; above SHIFT_BITS bits, in a pool of bytes, the multiple that byte 0 is
    w: u32,
    h: u32,
    b: u32,
    c: u32,
    slices: u32,
    pitch: u32,    // from a slice of a row to the next
    storage: u32,  // in a pool of bytes: texels from a plane of a row to the next, or the bits of the scale
}

fn param(i: u32) -> vec4<u32> {
    return table[origin + i];
}

fn dispatch_param(i: u32) -> vec4<u32> {
    return dispatch_table.groups[origin + i];
}

// Adds to one of the counts of the dispatch's node. The first count's number stands behind the output tensor's
// parameters.
fn count_clamped(which: u32, number: u32) {
    let first = param(OUTPUT_TENSOR + COUNTER_GROUP)[COUNTER_LANE];
    atomicAdd(&counters[first + which], number);
}

// Linear index of this invocation; every GRID_ROW workgroups the grid begins a new row along y. Comes before anything
// that reads parameters. A kernel reads its parameters before its first branch: there, drivers that see an address
// shared by all invocations read one value for all of them instead of one for each.
fn begin(global: vec3<u32>) -> u32 {
    // The first word is a number of invocations, below 2^31.
    origin = dispatch_table.groups[0].x >> 31u;
    if FIRST != ACT_NONE || THEN != ACT_NONE { epilogue = step_params(); }
    if ADD { added = second_tensor(); }
    return global.x + global.y * (GRID_ROW * LANES);
}

fn output_tensor() -> Tensor { return tensor(OUTPUT_TENSOR); }
fn input_tensor() -> Tensor { return tensor(INPUT_TENSOR); }
fn second_tensor() -> Tensor { return tensor(SECOND_TENSOR); }

// First texel of a row. Row `r` of a tensor is image row `r % h` of batch `r / h`.
fn row_start(t: Tensor, row: u32) -> u32 {
    let i = t.rows + (row & t.mask);
    return table[origin + (i >> 2u)][i & 3u] + row * t.stride;
}

// The texel of pixel `x` of `slice` of a row.
fn texel_of(t: Tensor, row: u32, slice: u32, x: u32) -> u32 {
    return row_start(t, row) + slice * t.pitch + x;
}

struct Division {
    quotient: u32,
    rest: u32,
}

// Divides `n`, which is below 2^31, by a positive number. Processors divide vectors of integers lane by lane, so this
// takes the reciprocal and then corrects the quotient twice: rounding leaves it off by up to 2^-20 of itself at first.
fn divided(n: u32, by: u32) -> Division {
    let divisor = i32(by);
    let reciprocal = 1.0 / f32(divisor);
    let first = i32(f32(i32(n)) * reciprocal);
    let more = i32(floor(f32(i32(n) - first * divisor) * reciprocal));
    let quotient = u32(first + more);
    let rest = n - quotient * by;
    // A rest next to the divisor may have been rounded to either side of it.
    let below = rest >= 0x80000000u;
    let above = !below && rest >= by;
    let corrected = quotient + select(0u, 1u, above) - select(0u, 1u, below);
    return Division(corrected, rest - select(0u, by, above) + select(0u, by, below));
}

// The division of the number that follows.
fn next_division(number: Division, by: u32) -> Division {
    let last = number.rest + 1u == by;
    return Division(select(number.quotient, number.quotient + 1u, last), select(number.rest + 1u, 0u, last));
}

// Position of a texel of the result: pixel `x` of `slice` of `row`, which is image row `y` of batch `b`.
struct OutputTexel {
    row: u32,
    b: u32,
    y: u32,
    x: u32,
    slice: u32,
}

// Texel `i` of the rows from `first_row` on.
fn output_texel(dst: Tensor, first_row: u32, i: u32) -> OutputTexel {
    let line = divided(i, dst.slices * dst.w);
    let place = divided(line.rest, dst.w);
    let row = first_row + line.quotient;
    let image = divided(row, dst.h);
    return OutputTexel(row, image.quotient, image.rest, place.rest, place.quotient);
}

// The channels that the four lanes of a slice are.
fn channels_of(slice: u32) -> vec4<u32> {
    return vec4(0u, 1u, 2u, 3u) + slice * 4u;
}

// Marks the lanes of a slice that are channels of the tensor.
fn has_channels(t: Tensor, slice: u32) -> vec4<bool> {
    return channels_of(slice) < vec4(t.c);
}

// Column and row of a texel in a texture of width `1 << shift`.
fn at(texel: u32, shift: u32) -> vec2<u32> {
    return vec2(extractBits(texel, 0u, shift), texel >> shift);
}

// Contribution of four input channels to four output channels: column `j` belongs to input channel `j`.
struct WeightMatrix {
    c0: vec4<f32>,
    c1: vec4<f32>,
    c2: vec4<f32>,
    c3: vec4<f32>,
}

// One where true, else zero.
fn truth(yes: vec4<bool>) -> vec4<f32> {
    return select(vec4(0.0), vec4(1.0), yes);
}

// NaN, also the result of a `switch` without a case for its selector. WGSL refuses a constant NaN, so the bits
// depend on `origin`, which is zero.
fn nan() -> vec4<f32> {
    return bitcast<vec4<f32>>(vec4(0x7fc00000u | origin));
}

// Marks the lanes that are NaN. Tests the bits, since compilers may assume that comparisons never see NaN.
fn no_number(v: vec4<f32>) -> vec4<bool> {
    return (bitcast<vec4<u32>>(v) & vec4(0x7fffffffu)) > vec4(0x7f800000u);
}

// `min(max(v, least), most)` that passes NaN on, which `min`, `max` and `clamp` do not guarantee. No slower: lavapipe
// implements those by a comparison and a selection, too.
fn bounded(v: vec4<f32>, least: vec4<f32>, most: vec4<f32>) -> vec4<f32> {
    let above = select(v, least, v < least);
    return select(above, most, above > most);
}

// `max(v, 0)` that passes NaN on.
fn positive(v: vec4<f32>) -> vec4<f32> {
    return select(v, vec4(0.0), v < vec4(0.0));
}

// `e^x` that passes NaN on; SwiftShader's `exp` returns infinity for it.
fn exponential(x: vec4<f32>) -> vec4<f32> {
    return select(exp(x), x, no_number(x));
}

// `ln x` that passes NaN on and is NaN below zero; SwiftShader's `log` returns numbers for both.
fn logarithm(x: vec4<f32>) -> vec4<f32> {
    let found = select(log(x), nan(), x < vec4(0.0));
    return select(found, x, no_number(x));
}

// `x^y` for `x >= 0` that passes NaN on; drivers return arbitrary numbers, since they go through the logarithm.
fn raised(x: vec4<f32>, y: vec4<f32>) -> vec4<f32> {
    return select(pow(x, y), x, no_number(x));
}

// The error function as XLA and Eigen have it: a rational approximation of the odd part, within 3 units of the last
// place.
fn erf(v: vec4<f32>) -> vec4<f32> {
    let x = bounded(v, vec4(-4.0), vec4(4.0));
    let s = x * x;
    let p = ((((((s * -2.72614225801306e-10 + 2.77068142495902e-8) * s - 2.10102402082508e-6) * s
        - 5.69250639462346e-5) * s - 7.34990630326855e-4) * s - 2.95459980854025e-3) * s - 1.60960333262415e-2) * x;
    let q = (((s * -1.45660718464996e-5 - 2.13374055278905e-4) * s - 1.68282697438203e-3) * s
        - 7.37332916720468e-3) * s - 1.42647390514189e-2;
    return bounded(p / q, vec4(-1.0), vec4(1.0));
}

// log(1 + exp(x)) without overflow, and with digits left where it is small.
fn softplus(x: vec4<f32>) -> vec4<f32> {
    let e = exp(-abs(x));
    let small = e * (1.0 - e * (0.5 - e * (1.0 / 3.0)));
    return positive(x) + select(log(1.0 + e), small, e < vec4(0.01));
}

// The hyperbolic tangent, with digits left where it is small: WGSL promises an absolute error alone.
fn tangent(x: vec4<f32>) -> vec4<f32> {
    let s = x * x;
    return select(tanh(x), x * (1.0 - s * (1.0 / 3.0 - s * (2.0 / 15.0))), abs(x) < vec4(0.1));
}

// `x * tanh(softplus(x))`, in powers of `e^x`.
fn mish(x: vec4<f32>) -> vec4<f32> {
    let e = exp(min(x, vec4(20.0)));
    let n = e * (e + 2.0);
    return x * (n / (n + 2.0));
}

// The signed halves of a word.
fn signed_halves(word: u32) -> vec2<f32> {
    return vec2(f32(extractBits(bitcast<i32>(word), 0u, 16u)), f32(extractBits(bitcast<i32>(word), 16u, 16u)));
}

// Bounds values by the two halves of a word.
fn within_limits(x: vec4<f32>, limits: u32) -> vec4<f32> {
    let bounds = signed_halves(limits);
    return bounded(x, vec4(bounds.x), vec4(bounds.y));
}

// Integers of 8 bits, counted from the zero point. The halves of a word are that and the least integer.
fn quantized_byte(steps: vec4<f32>, word: u32) -> vec4<f32> {
    let range = signed_halves(word);
    return bounded(round(steps + range.x), vec4(range.y), vec4(range.y + 255.0)) - range.x;
}

// The nearest whole numbers, with halves rounded away from zero.
fn rounded_away(x: vec4<f32>) -> vec4<f32> {
    let down = trunc(x);
    return down + select(vec4(0.0), sign(x), abs(x - down) >= vec4(0.5));
}

// `x * significand * 2^(exponent - 31)`, rounded twice as TensorFlow Lite's `MultiplyByQuantizedMultiplier` rounds.
// `FixedPoint::times` in `crates/texpool-ops/src/graph/requantize.rs` is the same in 64 bits.
fn fixed_point_product(x: vec4<i32>, significand: vec4<u32>, exponent: vec4<i32>) -> vec4<i32> {
    let shifted = x << vec4<u32>(max(exponent, vec4(0)));
    let negative = shifted < vec4(0);
    // The product of magnitudes in 64 bits, from halves of 16 bits.
    let a = bitcast<vec4<u32>>(abs(shifted));
    let half = vec4(0xffffu);
    let low = (a & half) * (significand & half);
    let left = (a & half) * (significand >> vec4(16u));
    let right = (a >> vec4(16u)) * (significand & half);
    let middle = (low >> vec4(16u)) + (left & half) + (right & half);
    var high = (a >> vec4(16u)) * (significand >> vec4(16u)) + (left >> vec4(16u)) + (right >> vec4(16u));
    high += middle >> vec4(16u);
    let before = (middle << vec4(16u)) | (low & half);
    // First rounding, to 31 bits less: halves go up.
    let nudged = before + select(vec4(0x40000000u), vec4(0x3fffffffu), negative);
    high += select(vec4(0u), vec4(1u), nudged < before);
    let magnitude = bitcast<vec4<i32>>((high << vec4(1u)) | (nudged >> vec4(31u)));
    let once = select(magnitude, -magnitude, negative);
    // Second rounding: halves go away from zero.
    let by = vec4<u32>(max(-exponent, vec4(0)));
    let mask = (vec4(1u) << by) - vec4(1u);
    let threshold = (mask >> vec4(1u)) + select(vec4(0u), vec4(1u), once < vec4(0));
    return (once >> by) + select(vec4(0), vec4(1), (bitcast<vec4<u32>>(once) & mask) > threshold);
}

// Integers of the result from sums of products of integers. `texel` is the first of the REQUANTIZE_ROWS texels of the
// slice: two digits of the addends, three digits of 11 bits of the factors, and their exponents. `limits` has two digits
// of 12 bits.
fn requantized(sum: vec4<f32>, texel: u32, limits: f32, is_fixed: bool) -> vec4<f32> {
    let step = i32(REQUANTIZE_ADDEND);
    let addend = (vec4<i32>(read_weight(texel + 1u)) * step + vec4<i32>(read_weight(texel))) * step;
    let low = vec4<u32>(read_weight(texel + 2u));
    let middle = vec4<u32>(read_weight(texel + 3u)) << vec4(11u);
    let bits = low | middle | (vec4<u32>(read_weight(texel + 4u)) << vec4(22u));
    let whole = vec4<i32>(sum) + addend;
    var result = vec4(0.0);
    if is_fixed {
        result = vec4<f32>(fixed_point_product(whole, bits, vec4<i32>(read_weight(texel + 5u))));
    } else {
        result = round(vec4<f32>(whole) * bitcast<vec4<f32>>(bits));
    }
    let least = floor(limits * (1.0 / 4096.0));
    let most = limits - least * 4096.0;
    return clamp(result, vec4(least - 2048.0), vec4(most - 2048.0));
}

// The function `code` of `crates/texpool-ops/src/kernels/functions.rs` with its two parameters, of which `beta` may be
// the bits of a float, the texel of values per channel among the weights, or the limits of a grid.
fn activate(code: u32, x: vec4<f32>, slice: u32, alpha: f32, beta: u32) -> vec4<f32> {
    switch code {
        case ACT_NONE: { return x; }
        case ACT_LEAKY_RELU: { return select(x, x * alpha, x < vec4(0.0)); }
        case ACT_ELU: { return select(x, alpha * (exp(x) - 1.0), x < vec4(0.0)); }
        case ACT_HARD_SWISH: { return x * clamp(x + 3.0, vec4(0.0), vec4(6.0)) * (1.0 / 6.0); }
        case ACT_LOGISTIC: { return 1.0 / (1.0 + exponential(-x)); }
        case ACT_TANH: { return tangent(x); }
        case ACT_EXP: { return exponential(x); }
        case ACT_SQRT: { return sqrt(x); }
        case ACT_RSQRT: { return inverseSqrt(x); }
        case ACT_SQUARE: { return x * x; }
        case ACT_ABS: { return abs(x); }
        case ACT_NEG: { return -x; }
        case ACT_PRELU: { return select(x, x * read_weight(beta + slice), x < vec4(0.0)); }
        case ACT_PLUS: { return x + read_weight(beta + slice); }
        case ACT_TIMES: { return x * read_weight(beta + slice); }
        case ACT_DIVIDED_BY: { return x / read_weight(beta + slice); }
        case ACT_CLIP: { return bounded(x, vec4(alpha), vec4(bitcast<f32>(beta))); }
        case ACT_HARD_SIGMOID: { return bounded(alpha * x + bitcast<f32>(beta), vec4(0.0), vec4(1.0)); }
        case ACT_SILU: { return x / (1.0 + exp(-x)); }
        case ACT_GELU: { return 0.5 * x * (1.0 + erf(x * 0.70710678)); }
        case ACT_GELU_TANH: {
            let inner = 0.79788456 * (x + 0.044715 * x * x * x);
            return 0.5 * x * (1.0 + tanh(clamp(inner, vec4(-15.0), vec4(15.0))));
        }
        case ACT_SOFTPLUS: { return softplus(x); }
        case ACT_MISH: { return mish(x); }
        case ACT_FAKE_QUANT: { return within_limits(rounded_away(x / alpha), beta) * alpha; }
        case ACT_QUANTIZE: { return within_limits(rounded_away(x / alpha), beta); }
        case ACT_FAKE_QUANT_EVEN: { return within_limits(round(x / alpha), beta) * alpha; }
        case ACT_QUANTIZE_EVEN: { return within_limits(round(x / alpha), beta); }
        case ACT_QUANTIZE_BYTE: { return quantized_byte(x / alpha, beta); }
        case ACT_REQUANTIZE_BYTE: { return quantized_byte(x * alpha, beta); }
        case ACT_ROUND_AWAY: { return within_limits(rounded_away(x + alpha) - alpha, beta); }
        case ACT_REQUANTIZE_FIXED: { return requantized(x, beta + slice * REQUANTIZE_ROWS, alpha, true); }
        case ACT_REQUANTIZE_FLOAT: { return requantized(x, beta + slice * REQUANTIZE_ROWS, alpha, false); }
        default: { return nan(); }
    }
}

// Applies the epilogue and stores pixel `x` of `row` and `slice`.
fn store_output(t: Tensor, row: u32, x: u32, slice: u32, value: vec4<f32>) {
    var added_texel = 0u;
    if ADD { added_texel = texel_of(added, row, slice, x); }
    store_at(t, texel_of(t, row, slice, x), added_texel, slice, value);
}

// Applies the epilogue and stores a texel of `slice`. Lanes past the last channel become zero.
fn store_at(t: Tensor, texel: u32, added_texel: u32, slice: u32, value: vec4<f32>) {
    var v = activate(FIRST, value, slice, epilogue.alphas.x, epilogue.betas.x);
    if ADD {
        // The tensor may have fewer slices. Reads without a branch compile faster.
        let exists = slice < added.slices;
        v = select(v, v + read_second(added, select(0u, added_texel, exists)), vec4(exists));
    }
    v = activate(THEN, v, slice, epilogue.alphas.y, epilogue.betas.y);
    v = select(vec4(0.0), v, has_channels(t, slice));
    count_saturated(v);
    write_values(t, texel, saturated(v));
}
