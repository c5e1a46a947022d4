// Reductions over any axes, means apart (`mean.wgsl`): row by row, within a row from left to right. One texel of the
// result an invocation.

struct Params {
    reduced: vec4<u32>,   // whether B, H, W, C are
}

// A reduction of `src/ops/reduce/kernel.rs`.
override KIND: u32 = REDUCE_SUM;

// The values found in order, and where: the index along the axis that is reduced.
struct Best {
    value: vec4<f32>,
    index: vec4<u32>,
}

fn is_extremum() -> bool { return KIND == REDUCE_MAX || KIND == REDUCE_MIN; }
fn is_index() -> bool { return KIND >= REDUCE_FIRST_INDEX; }
fn is_least() -> bool { return KIND == REDUCE_MIN || KIND == REDUCE_ARG_MIN || KIND == REDUCE_LAST_ARG_MIN; }
fn takes_last() -> bool { return KIND == REDUCE_LAST_ARG_MAX || KIND == REDUCE_LAST_ARG_MIN; }
fn is_product() -> bool { return KIND == REDUCE_PROD; }

// What comes before what: what is no number, then the better value; of equal ones the lower index, or the higher.
fn better(a: Best, b: Best) -> vec4<bool> {
    let none_a = no_number(a.value);
    let none_b = no_number(b.value);
    let above = select((a.value > b.value), (a.value < b.value), vec4(is_least())) | (none_a & !none_b);
    let nearer = select((a.index < b.index), (a.index > b.index), vec4(takes_last()));
    return (above & !none_b) | (((a.value == b.value) | (none_a & none_b)) & nearer);
}

fn choose(a: Best, b: Best) -> Best {
    let take = better(b, a);
    return Best(select(a.value, b.value, take), select(a.index, b.index, take));
}

// The summand or factor that a value gives; extrema and indices have none.
fn term(x: vec4<f32>, base: vec4<f32>) -> vec4<f32> {
    switch KIND {
        case REDUCE_SUM_SQUARE, REDUCE_L2: { return x * x; }
        case REDUCE_L1: { return abs(x); }
        case REDUCE_LOG_SUM_EXP: { return exponential(x - base); }
        case REDUCE_SUM, REDUCE_PROD, REDUCE_LOG_SUM: { return x; }
        default: { return no_case(); }
    }
}

// A number that can be subtracted: infinities are known by their bits.
fn finite(x: vec4<f32>) -> vec4<f32> {
    return select(x, vec4(0.0), (bitcast<vec4<u32>>(x) & vec4(0x7f800000u)) == vec4(0x7f800000u));
}

fn compute(dst: Tensor, o: OutputTexel) -> vec4<f32> {
    let src = input_tensor();
    let reduced = params().reduced;
    let region = region_of(reduced, src, o);
    let across = reduced.w != 0u;

    // Greatest, least and index start at the first value, which is then found again.
    let first_row = region.batches.x * src.h + region.rows.x;
    let first = read_input(src, texel_of(src, first_row, region.slices.x, region.pixels.x));
    var best = Best(select(first, first.xxxx, across), vec4(0u));
    if is_extremum() || is_index() || KIND == REDUCE_LOG_SUM_EXP {
        for (var b = region.batches.x; b < region.batches.y; b++) {
            for (var y = region.rows.x; y < region.rows.y; y++) {
                let start = row_start(src, b * src.h + y);
                for (var x = region.pixels.x; x < region.pixels.y; x++) {
                    for (var s = region.slices.x; s < region.slices.y; s++) {
                        let value = read_input(src, start + s * src.pitch + x);
                        let there = !vec4(across) | has_channels(src, s);
                        let along = select(vec4(b * reduced.x + y * reduced.y + x * reduced.z), channels_of(s), across);
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
    if !is_extremum() && !is_index() {
        let neutral = select(0.0, 1.0, is_product());
        let base = finite(best.value);
        var all = vec4(neutral);
        for (var b = region.batches.x; b < region.batches.y; b++) {
            for (var y = region.rows.x; y < region.rows.y; y++) {
                let start = row_start(src, b * src.h + y);
                var line = vec4(neutral);
                for (var x = region.pixels.x; x < region.pixels.y; x++) {
                    for (var s = region.slices.x; s < region.slices.y; s++) {
                        let there = !vec4(across) | has_channels(src, s);
                        let one = select(vec4(neutral), term(read_input(src, start + s * src.pitch + x), base), there);
                        line = select(line + one, line * one, is_product());
                    }
                }
                all = select(all + line, all * line, is_product());
            }
        }
        if across {
            let sum = (all.x + all.y) + (all.z + all.w);
            all = vec4(select(sum, (all.x * all.y) * (all.z * all.w), is_product()));
        }
        value = all;
        if KIND == REDUCE_L2 { value = sqrt(all); }
        if KIND == REDUCE_LOG_SUM || KIND == REDUCE_LOG_SUM_EXP {
            value = base * f32(KIND == REDUCE_LOG_SUM_EXP) + logarithm(all);
        }
    }
    return value;
}
