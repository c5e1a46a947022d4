// Reductions over any axes, means apart (`mean.wgsl`): row by row, within a row from left to right. One texel of the
// result an invocation.
// Own words: 8  whether B, H, W, C are reduced
// Codes of `src/kernels/reduce.rs`. 1: sum; 2: sum of squares; 3: greatest; 4: least; 5: product; 6: sum of absolute
// values; 7: root of 2; 8: logarithm of 1; 9: logarithm of the sum of powers of e; 10, 11: index of the first greatest,
// least; 12, 13: of the last.
override KIND: u32 = 1u;

// The values found in order, and where: the index along the axis that is reduced.
struct Best {
    value: vec4<f32>,
    index: vec4<u32>,
}

fn is_index() -> bool { return KIND >= 10u; }
fn is_least() -> bool { return KIND == 4u || KIND == 11u || KIND == 13u; }

// The indices `.x..<.y` of an axis that make one of the result.
fn span(reduced: u32, index: u32, extent: u32) -> vec2<u32> {
    return select(vec2(index, index + 1u), vec2(0u, extent), reduced != 0u);
}

// What comes before what: what is no number, then the better value; of equal ones the lower index, or the higher.
fn better(a: Best, b: Best) -> vec4<bool> {
    let none_a = no_number(a.value);
    let none_b = no_number(b.value);
    let above = select((a.value > b.value), (a.value < b.value), vec4(is_least())) | (none_a & !none_b);
    let nearer = select((a.index < b.index), (a.index > b.index), vec4(KIND >= 12u));
    return (above & !none_b) | (((a.value == b.value) | (none_a & none_b)) & nearer);
}

fn choose(a: Best, b: Best) -> Best {
    let take = better(b, a);
    return Best(select(a.value, b.value, take), select(a.index, b.index, take));
}

fn part(x: vec4<f32>, base: vec4<f32>) -> vec4<f32> {
    switch KIND {
        case 2u, 7u: { return x * x; }
        case 6u: { return abs(x); }
        case 9u: { return exponential(x - base); }
        default: { return x; }
    }
}

// A number that can be subtracted: infinities are known by their bits.
fn finite(x: vec4<f32>) -> vec4<f32> {
    return select(x, vec4(0.0), (bitcast<vec4<u32>>(x) & vec4(0x7f800000u)) == vec4(0x7f800000u));
}

@compute @workgroup_size(LANES)
fn main(@builtin(global_invocation_id) global: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>) {
    let id = begin(global, group);
    if id >= param(0u).x { return; }
    let dst = output_tensor();
    let src = input_tensor();
    let reduced = param(8u);
    let row_texels = dst.slices * dst.w;
    let row = param(0u).y + id / row_texels;
    let slice = (id % row_texels) / dst.w;
    let ox = (id % row_texels) % dst.w;
    let batches = span(reduced.x, row / dst.h, src.b);
    let lines = span(reduced.y, row % dst.h, src.h);
    let pixels = span(reduced.z, ox, src.w);
    let slices = span(reduced.w, slice, src.slices);
    let across = reduced.w != 0u;
    let lanes = vec4(0u, 1u, 2u, 3u);

    // Greatest, least and index start at the first value, which is then found again.
    let first = read_input(src, row_start(src, batches.x * src.h + lines.x) + slices.x * src.pitch + pixels.x);
    var best = Best(select(first, first.xxxx, across), vec4(0u));
    if KIND == 3u || KIND == 4u || KIND >= 9u {
        for (var b = batches.x; b < batches.y; b++) {
            for (var y = lines.x; y < lines.y; y++) {
                let start = row_start(src, b * src.h + y);
                for (var x = pixels.x; x < pixels.y; x++) {
                    for (var s = slices.x; s < slices.y; s++) {
                        let value = read_input(src, start + s * src.pitch + x);
                        let there = !vec4(across) | (lanes + s * 4u < vec4(src.c));
                        let along = select(vec4(b * reduced.x + y * reduced.y + x * reduced.z), lanes + s * 4u, across);
                        let next = choose(best, Best(value, along));
                        best.value = select(best.value, next.value, there);
                        best.index = select(best.index, next.index, there);
                    }
                }
            }
        }
        if across {
            best = choose(best, Best(best.value.yxwz, best.index.yxwz));
            best = choose(best, Best(best.value.zwxy, best.index.zwxy));
        }
    }
    var value = best.value;
    if is_index() { value = vec4<f32>(best.index); }
    if KIND < 3u || (KIND > 4u && KIND < 10u) {
        let neutral = select(0.0, 1.0, KIND == 5u);
        let base = finite(best.value);
        var all = vec4(neutral);
        for (var b = batches.x; b < batches.y; b++) {
            for (var y = lines.x; y < lines.y; y++) {
                let start = row_start(src, b * src.h + y);
                var line = vec4(neutral);
                for (var x = pixels.x; x < pixels.y; x++) {
                    for (var s = slices.x; s < slices.y; s++) {
                        let there = !vec4(across) | (lanes + s * 4u < vec4(src.c));
                        let one = select(vec4(neutral), part(read_input(src, start + s * src.pitch + x), base), there);
                        line = select(line + one, line * one, KIND == 5u);
                    }
                }
                all = select(all + line, all * line, KIND == 5u);
            }
        }
        if across {
            let sum = (all.x + all.y) + (all.z + all.w);
            all = vec4(select(sum, (all.x * all.y) * (all.z * all.w), KIND == 5u));
        }
        value = all;
        if KIND == 7u { value = sqrt(all); }
        if KIND == 8u || KIND == 9u { value = base * f32(KIND == 9u) + logarithm(all); }
    }
    store_output(dst, row, ox, slice, value);
}
