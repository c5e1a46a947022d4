// Matrix product of two tensors, `[B, H, M, K]` by `[B, H, K, N]` or by `[B, H, N, K]`; extents of one of B and H are
// repeated. An invocation computes PIXELS rows of the product by SLICES slices of its columns.

struct Params {
    blocks: u32,        // of rows of the product
    constant: Tensor,   // the constant operand; its texels are the first weights: rows, slices, pixels
}

override PIXELS: u32 = 8u;
override SLICES: u32 = 2u;
// True if the second matrix has its columns as pixels.
override TRANSPOSED: bool = false;
// Set to the constant operand, if there is one.
override CONSTANT: u32 = CONSTANT_NONE;

fn left_tensor() -> Tensor {
    if CONSTANT == CONSTANT_LEFT { return params().constant; }
    return input_tensor();
}

fn right_tensor() -> Tensor {
    switch CONSTANT {
        case CONSTANT_NONE: { return second_tensor(); }
        case CONSTANT_LEFT: { return input_tensor(); }
        case CONSTANT_RIGHT, default: { return params().constant; }
    }
}

fn left(t: Tensor, texel: u32) -> vec4<f32> {
    if CONSTANT == CONSTANT_LEFT { return read_weight(texel); }
    return read_input(t, texel);
}

fn right(t: Tensor, texel: u32) -> vec4<f32> {
    switch CONSTANT {
        case CONSTANT_NONE: { return read_second(t, texel); }
        case CONSTANT_LEFT: { return read_input(t, texel); }
        case CONSTANT_RIGHT: { return read_weight(texel); }
        default: { return nan(); }
    }
}

// First texel of the row of `t` that is read for a row of the result.
fn repeated_start(t: Tensor, dst: Tensor, row: u32, constant: bool) -> u32 {
    let place = divided(row, dst.h);
    let source = select(place.quotient, 0u, t.b == 1u) * t.h + select(place.rest, 0u, t.h == 1u);
    if constant { return source * t.slices * t.pitch; }
    return row_start(t, source);
}

@compute @workgroup_size(LANES)
fn main(@builtin(global_invocation_id) global: vec3<u32>) {
    let id = begin(global);
    let dispatch = dispatch_params();
    let dst = output_tensor();
    let a = left_tensor();
    let b = right_tensor();
    let blocks = params().blocks;
    if id >= dispatch.items { return; }
    let block = divided(id, blocks);
    let first = block.rest * PIXELS;
    let groups = (dst.slices + SLICES - 1u) / SLICES;
    let line = divided(block.quotient, groups);
    let slice = line.rest * SLICES;
    let row = dispatch.first_row + line.quotient;
    let a_start = repeated_start(a, dst, row, CONSTANT == CONSTANT_LEFT);
    let b_start = repeated_start(b, dst, row, CONSTANT == CONSTANT_RIGHT);

    var a_texel: array<u32, MAX_PIXELS>;
    for (var p = 0u; p < PIXELS; p++) { a_texel[p] = a_start + min(first + p, dst.w - 1u); }
    var sum: array<array<vec4<f32>, MAX_SLICES>, MAX_PIXELS>;
    for (var s = 0u; s < SLICES; s++) {
        for (var p = 0u; p < PIXELS; p++) { sum[p][s] = vec4(0.0); }
    }
    if TRANSPOSED {
        // Texels of both hold four of K, and zeros past the last.
        for (var k = 0u; k < a.slices; k++) {
            var x: array<vec4<f32>, MAX_PIXELS>;
            for (var p = 0u; p < PIXELS; p++) {
                x[p] = left(a, a_texel[p]);
                a_texel[p] += a.pitch;
            }
            for (var s = 0u; s < SLICES; s++) {
                let column = (slice + s) * 4u;
                let start = b_start + k * b.pitch;
                let w0 = right(b, start + min(column, b.w - 1u));
                let w1 = right(b, start + min(column + 1u, b.w - 1u));
                let w2 = right(b, start + min(column + 2u, b.w - 1u));
                let w3 = right(b, start + min(column + 3u, b.w - 1u));
                for (var p = 0u; p < PIXELS; p++) {
                    sum[p][s] += vec4(dot(x[p], w0), dot(x[p], w1), dot(x[p], w2), dot(x[p], w3));
                }
            }
        }
    } else {
        var b_texel: array<u32, MAX_SLICES>;
        for (var s = 0u; s < SLICES; s++) { b_texel[s] = b_start + min(slice + s, b.slices - 1u) * b.pitch; }
        let whole = b.w / 4u;
        for (var four = 0u; four < whole; four++) {
            var x: array<vec4<f32>, MAX_PIXELS>;
            for (var p = 0u; p < PIXELS; p++) {
                x[p] = left(a, a_texel[p]);
                a_texel[p] += a.pitch;
            }
            for (var s = 0u; s < SLICES; s++) {
                let start = b_texel[s];
                let w = WeightMatrix(right(b, start), right(b, start + 1u), right(b, start + 2u), right(b, start + 3u));
                b_texel[s] += 4u;
                for (var p = 0u; p < PIXELS; p++) {
                    sum[p][s] += product(x[p], w);
                }
            }
        }
        // The last one to three rows of the second matrix are read one by one, since the texels behind them hold
        // something else.
        for (var rest = whole * 4u; rest < b.w; rest++) {
            for (var s = 0u; s < SLICES; s++) {
                let w = right(b, b_texel[s]);
                b_texel[s] += 1u;
                for (var p = 0u; p < PIXELS; p++) { sum[p][s] += left(a, a_texel[p])[rest & 3u] * w; }
            }
        }
    }
    for (var p = 0u; p < PIXELS; p++) {
        if first + p >= dst.w { break; }
        for (var s = 0u; s < SLICES; s++) {
            if slice + s < dst.slices { store_output(dst, row, first + p, slice + s, sum[p][s]); }
        }
    }
}
