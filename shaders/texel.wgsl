// What every kernel shares: where a tensor's texels lie, and what is done to a value before it is stored.
//
// A step's words (`src/kernels/words.rs` writes them):
//   0  items, first output row, first parameter of `first`, of `then` (as bits)
//   1  weight base, weight shift, second parameter of `first`, of `then` (as bits; of PReLU: the texel of its alphas,
//      from the base)
//   2  output tensor, two words; 4  first input; 6  second input; 8.. the family's own; then the row tables
@group(0) @binding(1) var target_texture: Writable;
@group(0) @binding(2) var input_texture: Readable;
@group(0) @binding(3) var weight_texture: Readable;
@group(0) @binding(4) var second_texture: Readable;

// Lanes of a workgroup, all along x.
override LANES: u32 = 64u;
// The epilogue: codes of `src/kernels/epilogue.rs`.
override FIRST: u32 = 0u;
override ADD: bool = false;
override THEN: u32 = 0u;

// Always 0, which no compiler can know: a table index that cannot be folded keeps drivers from
// compiling the shader again for each step's parameters.
var<private> origin: u32;

fn param(i: u32) -> vec4<u32> {
    return table[origin + i];
}

// Linear index of this invocation; the grid is folded along y every 32768 workgroups.
fn begin(global: vec3<u32>, group: vec3<u32>) -> u32 {
    origin = group.z;
    return global.x + global.y * (32768u * LANES);
}

struct Tensor {
    rows: u32,    // word of the row table
    shift: u32,   // log2 of the texture's width
    w: u32,
    h: u32,
    b: u32,
    c: u32,
    slices: u32,
    pitch: u32,   // from a slice of a row to the next
}

fn tensor(i: u32) -> Tensor {
    let a = param(i);
    let b = param(i + 1u);
    return Tensor(a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w);
}

fn output_tensor() -> Tensor { return tensor(2u); }
fn input_tensor() -> Tensor { return tensor(4u); }
fn second_tensor() -> Tensor { return tensor(6u); }

// First texel of a row. Row `r` of a tensor is image row `r % h` of batch `r / h`.
fn row_start(t: Tensor, row: u32) -> u32 {
    let i = t.rows + row;
    return table[origin + (i >> 2u)][i & 3u];
}

// Where a texel of a texture of width `1 << shift` lies.
fn at(texel: u32, shift: u32) -> vec2<u32> {
    return vec2(extractBits(texel, 0u, shift), texel >> shift);
}

fn read_input(t: Tensor, texel: u32) -> vec4<f32> {
    return textureLoad(input_texture, at(texel, t.shift));
}

fn read_second(t: Tensor, texel: u32) -> vec4<f32> {
    return textureLoad(second_texture, at(texel, t.shift));
}

// Texel `i` of the step's own weights.
fn read_weight(i: u32) -> vec4<f32> {
    let place = param(1u);
    return textureLoad(weight_texture, at(place.x + i, place.y));
}

// Which lanes are no number. By their bits: comparisons may be compiled as if there were none.
fn no_number(v: vec4<f32>) -> vec4<bool> {
    return (bitcast<vec4<u32>>(v) & vec4(0x7fffffffu)) > vec4(0x7f800000u);
}

// `min(max(v, least), most)`, and what is no number stays none, which `min`, `max` and `clamp` leave open. It is no
// slower: lavapipe computes those by a comparison and a selection, too.
fn bounded(v: vec4<f32>, least: vec4<f32>, most: vec4<f32>) -> vec4<f32> {
    let above = select(v, least, v < least);
    return select(above, most, above > most);
}

// `max(v, 0)` likewise.
fn positive(v: vec4<f32>) -> vec4<f32> {
    return select(v, vec4(0.0), v < vec4(0.0));
}

// `e^x`, and of what is no number none: SwiftShader makes an infinity of it.
fn exponential(x: vec4<f32>) -> vec4<f32> {
    return select(exp(x), x, no_number(x));
}

// `ln x`, and of what is no number none: SwiftShader makes a number of it.
fn logarithm(x: vec4<f32>) -> vec4<f32> {
    return select(log(x), x, no_number(x));
}

// `x^y` of what is not negative, and of what is no number none: drivers make something of its logarithm.
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

// The nearest value of a grid of `scale` within bounds that are whole numbers of it, two signed halves of `limits`. Halves
// are rounded away from zero.
fn fake_quantised(x: vec4<f32>, scale: f32, limits: u32) -> vec4<f32> {
    let q = x / scale;
    let down = trunc(q);
    let near = down + select(vec4(0.0), sign(q), abs(q - down) >= vec4(0.5));
    let least = f32(extractBits(bitcast<i32>(limits), 0u, 16u));
    let most = f32(extractBits(bitcast<i32>(limits), 16u, 16u));
    return bounded(near, vec4(least), vec4(most)) * scale;
}

// The function `code` of `src/kernels/epilogue.rs` with its two parameters as bits.
fn activate(code: u32, x: vec4<f32>, slice: u32, first: u32, second: u32) -> vec4<f32> {
    let alpha = bitcast<f32>(first);
    switch code {
        case 1u: { return positive(x); }
        case 2u: { return bounded(x, vec4(0.0), vec4(6.0)); }
        case 3u: { return bounded(x, vec4(-1.0), vec4(1.0)); }
        case 4u: { return select(x, x * alpha, x < vec4(0.0)); }
        case 5u: { return select(x, alpha * (exp(x) - 1.0), x < vec4(0.0)); }
        case 6u: { return x * clamp(x + 3.0, vec4(0.0), vec4(6.0)) * (1.0 / 6.0); }
        case 7u: { return 1.0 / (1.0 + exponential(-x)); }
        case 8u: { return tangent(x); }
        case 9u: { return exponential(x); }
        case 10u: { return sqrt(x); }
        case 11u: { return inverseSqrt(x); }
        case 12u: { return x * x; }
        case 13u: { return abs(x); }
        case 14u: { return -x; }
        case 15u: { return select(x, x * read_weight(second + slice), x < vec4(0.0)); }
        case 16u: { return bounded(x, vec4(alpha), vec4(bitcast<f32>(second))); }
        case 17u: { return bounded(alpha * x + bitcast<f32>(second), vec4(0.0), vec4(1.0)); }
        case 18u: { return x / (1.0 + exp(-x)); }
        case 19u: { return 0.5 * x * (1.0 + erf(x * 0.70710678)); }
        case 20u: {
            let inner = 0.79788456 * (x + 0.044715 * x * x * x);
            return 0.5 * x * (1.0 + tanh(clamp(inner, vec4(-15.0), vec4(15.0))));
        }
        case 21u: { return softplus(x); }
        case 22u: { return mish(x); }
        case 23u: { return fake_quantised(x, alpha, second); }
        default: { return x; }
    }
}

// Applies the epilogue and stores pixel `x` of `row` and `slice`. Lanes past the last channel become zero.
fn store_output(t: Tensor, row: u32, x: u32, slice: u32, value: vec4<f32>) {
    let first = param(0u).zw;
    let second = param(1u).zw;
    var v = activate(FIRST, value, slice, first.x, second.x);
    if ADD {
        let s = second_tensor();
        if slice < s.slices {
            v += read_second(s, row_start(s, row) + slice * s.pitch + x);
        }
    }
    v = saturated(activate(THEN, v, slice, first.y, second.y));
    let lanes = vec4(0u, 1u, 2u, 3u) + slice * 4u < vec4(t.c);
    textureStore(target_texture, at(row_start(t, row) + slice * t.pitch + x, t.shift), select(vec4(0.0), v, lanes));
}
