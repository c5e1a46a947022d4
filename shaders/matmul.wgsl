// Matrix product of two tensors, `[B, H, M, K]` by `[B, H, K, N]` or by `[B, H, N, K]`; extents of one of B and H are
// repeated. An invocation computes PIXELS rows of the product by SLICES slices of its columns.
// Own words: 8  blocks of rows; 9, 10  the constant operand as a tensor; its texels are the first weights: rows, slices,
//            pixels.
override PIXELS: u32 = 8u;
override SLICES: u32 = 2u;
// Whether the second matrix lies with its columns as pixels.
override TRANSPOSED: bool = false;
// 0: both operands are placed; 1: the left one is a constant; 2: the right one is.
override CONSTANT: u32 = 0u;

fn left_tensor() -> Tensor {
    if CONSTANT == 1u { return tensor(9u); }
    return input_tensor();
}

fn right_tensor() -> Tensor {
    switch CONSTANT {
        case 0u: { return second_tensor(); }
        case 1u: { return input_tensor(); }
        default: { return tensor(9u); }
    }
}

fn left(t: Tensor, texel: u32) -> vec4<f32> {
    if CONSTANT == 1u { return read_weight(texel); }
    return read_input(t, texel);
}

fn right(t: Tensor, texel: u32) -> vec4<f32> {
    switch CONSTANT {
        case 0u: { return read_second(t, texel); }
        case 1u: { return read_input(t, texel); }
        default: { return read_weight(texel); }
    }
}

// First texel of the row of `t` that is read for a row of the result.
fn repeated_start(t: Tensor, dst: Tensor, row: u32, constant: bool) -> u32 {
    let source = select(row / dst.h, 0u, t.b == 1u) * t.h + select(row % dst.h, 0u, t.h == 1u);
    if constant { return source * t.slices * t.pitch; }
    return row_start(t, source);
}

@compute @workgroup_size(LANES)
fn main(@builtin(global_invocation_id) global: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>) {
    let id = begin(global, group);
    if id >= param(0u).x { return; }
    let dst = output_tensor();
    let a = left_tensor();
    let b = right_tensor();
    let blocks = param(8u).x;
    let first = (id % blocks) * PIXELS;
    let groups = (dst.slices + SLICES - 1u) / SLICES;
    let slice = ((id / blocks) % groups) * SLICES;
    let row = param(0u).y + id / (blocks * groups);
    let a_start = repeated_start(a, dst, row, CONSTANT == 1u);
    let b_start = repeated_start(b, dst, row, CONSTANT == 2u);

    var a_texel: array<u32, 8>;
    for (var p = 0u; p < PIXELS; p++) { a_texel[p] = a_start + min(first + p, dst.w - 1u); }
    var sum: array<array<vec4<f32>, 4>, 8>;
    for (var s = 0u; s < SLICES; s++) {
        for (var p = 0u; p < PIXELS; p++) { sum[p][s] = vec4(0.0); }
    }
    if TRANSPOSED {
        // Texels of both hold four of K, and zeros past the last.
        for (var k = 0u; k < a.slices; k++) {
            var x: array<vec4<f32>, 8>;
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
        var b_texel: array<u32, 4>;
        for (var s = 0u; s < SLICES; s++) { b_texel[s] = b_start + min(slice + s, b.slices - 1u) * b.pitch; }
        let whole = b.w / 4u;
        for (var k = 0u; k < whole; k++) {
            var x: array<vec4<f32>, 8>;
            for (var p = 0u; p < PIXELS; p++) {
                x[p] = left(a, a_texel[p]);
                a_texel[p] += a.pitch;
            }
            for (var s = 0u; s < SLICES; s++) {
                let w0 = right(b, b_texel[s]);
                let w1 = right(b, b_texel[s] + 1u);
                let w2 = right(b, b_texel[s] + 2u);
                let w3 = right(b, b_texel[s] + 3u);
                b_texel[s] += 4u;
                for (var p = 0u; p < PIXELS; p++) {
                    sum[p][s] += x[p].x * w0 + x[p].y * w1 + x[p].z * w2 + x[p].w * w3;
                }
            }
        }
        // The last rows of the second matrix, where they are no four: behind them lies something else.
        for (var k = whole * 4u; k < b.w; k++) {
            for (var s = 0u; s < SLICES; s++) {
                let w = right(b, b_texel[s]);
                b_texel[s] += 1u;
                for (var p = 0u; p < PIXELS; p++) { sum[p][s] += left(a, a_texel[p])[k & 3u] * w; }
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
