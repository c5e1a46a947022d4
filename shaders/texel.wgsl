// What every kernel shares: where a tensor's texels lie, and what is done to a value before it is stored.
//
// A step's words (`src/kernels/words.rs` writes them):
//   0  items, first output row, alpha of `first`, alpha of `then` (the alphas as bits)
//   1  weight base, weight shift, texel of the PReLU alphas of `first`, of `then` (both from the base)
//   2  output tensor, two words; 4  first input; 6  second input; 8.. the family's own; then the row tables
@group(0) @binding(1) var target_texture: Writable;
@group(0) @binding(2) var input_texture: Readable;
@group(0) @binding(3) var weight_texture: Readable;
@group(0) @binding(4) var second_texture: Readable;

// Lanes of a workgroup, all along x.
override LANES: u32 = 64u;
// The tail: codes of `src/kernels/tail.rs`.
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
}

fn tensor(i: u32) -> Tensor {
    let a = param(i);
    let b = param(i + 1u);
    return Tensor(a.x, a.y, a.z, a.w, b.x, b.y, b.z);
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

fn activate(code: u32, x: vec4<f32>, slice: u32, alpha: u32, alphas: u32) -> vec4<f32> {
    switch code {
        case 1u: { return max(x, vec4(0.0)); }
        case 2u: { return clamp(x, vec4(0.0), vec4(6.0)); }
        case 3u: { return clamp(x, vec4(-1.0), vec4(1.0)); }
        case 4u: { return select(x, x * bitcast<f32>(alpha), x < vec4(0.0)); }
        case 5u: { return select(x, exp(x) - 1.0, x < vec4(0.0)); }
        case 6u: { return x * clamp(x + 3.0, vec4(0.0), vec4(6.0)) * (1.0 / 6.0); }
        case 7u: { return 1.0 / (1.0 + exp(-x)); }
        case 8u: { return tanh(x); }
        case 9u: { return exp(x); }
        case 10u: { return sqrt(x); }
        case 11u: { return inverseSqrt(x); }
        case 12u: { return x * x; }
        case 13u: { return abs(x); }
        case 14u: { return -x; }
        case 15u: { return select(x, x * read_weight(alphas + slice), x < vec4(0.0)); }
        default: { return x; }
    }
}

// Applies the tail and stores pixel `x` of `row` and `slice`. Lanes past the last channel become zero.
fn emit(t: Tensor, row: u32, x: u32, slice: u32, value: vec4<f32>) {
    let alpha = param(0u).zw;
    let alphas = param(1u).zw;
    var v = activate(FIRST, value, slice, alpha.x, alphas.x);
    if ADD {
        let s = second_tensor();
        if slice < s.slices {
            v += read_second(s, row_start(s, row) + slice * s.w + x);
        }
    }
    v = activate(THEN, v, slice, alpha.y, alphas.y);
    let lanes = vec4(0u, 1u, 2u, 3u) + slice * 4u < vec4(t.c);
    textureStore(target_texture, at(row_start(t, row) + slice * t.w + x, t.shift), select(vec4(0.0), v, lanes));
}
