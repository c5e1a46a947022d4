// Arithmetic shared by all reductions, independent of the order in which they visit texels. Only `reduce_wide.wgsl`
// computes means.

// A reduction of `crates/texpool-ops/src/ops/reduce/kernel.rs`.
override KIND: u32 = REDUCE_SUM;

// Best values up to now, and their positions: indices along the reduced axis.
struct Best {
    value: vec4<f32>,
    index: vec4<u32>,
}

fn is_extremum() -> bool { return KIND == REDUCE_MAX || KIND == REDUCE_MIN; }
fn is_index() -> bool { return KIND >= REDUCE_FIRST_INDEX; }
fn is_least() -> bool { return KIND == REDUCE_MIN || KIND == REDUCE_ARG_MIN || KIND == REDUCE_LAST_ARG_MIN; }
fn takes_last() -> bool { return KIND == REDUCE_LAST_ARG_MAX || KIND == REDUCE_LAST_ARG_MIN; }
fn is_product() -> bool { return KIND == REDUCE_PROD; }

// True where `a` beats `b`: NaN first, then the better value; among equal values the lower index, or the higher.
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
        case REDUCE_MEAN, REDUCE_SUM, REDUCE_PROD, REDUCE_LOG_SUM: { return x; }
        default: { return nan(); }
    }
}

// A number that can be subtracted: infinities are known by their bits.
fn finite(x: vec4<f32>) -> vec4<f32> {
    return select(x, vec4(0.0), (bitcast<vec4<u32>>(x) & vec4(0x7f800000u)) == vec4(0x7f800000u));
}

fn looks_for_best() -> bool { return is_extremum() || is_index() || KIND == REDUCE_LOG_SUM_EXP; }
fn adds_up() -> bool { return !is_extremum() && !is_index(); }

fn neutral() -> vec4<f32> {
    let value = select(0.0, 1.0, is_product());
    return vec4(value);
}

fn joined(a: vec4<f32>, b: vec4<f32>) -> vec4<f32> { return select(a + b, a * b, is_product()); }

// Marks the lanes of a texel that count: all lanes, or only existing channels where those are reduced (`across`).
fn counted_lanes(src: Tensor, slice: u32, across: bool) -> vec4<bool> {
    return !vec4(across) | has_channels(src, slice);
}

// Greatest, least and index start at a texel of the region, which is then found again.
fn begin_best(value: vec4<f32>, across: bool) -> Best {
    return Best(select(value, value.xxxx, across), vec4(0u));
}

// Returns the better one of `best` and a texel.
fn best_with(best: Best, value: vec4<f32>, src: Tensor, place: RegionTexel, reduced: vec4<u32>) -> Best {
    let across = reduced.w != 0u;
    let there = counted_lanes(src, place.slice, across);
    let index = vec4(place.b * reduced.x + place.y * reduced.y + place.x * reduced.z);
    let next = choose(best, Best(value, select(index, channels_of(place.slice), across)));
    return Best(select(best.value, next.value, there), select(best.index, next.index, there));
}

// The best of all lanes where channels are reduced.
fn best_across(found: Best, across: bool) -> Best {
    if !across { return found; }
    let pairs = choose(found, Best(found.value.yxwz, found.index.yxwz));
    return choose(pairs, Best(pairs.value.zwxy, pairs.index.zwxy));
}

// The term that a texel contributes to the sum or product.
fn counted_term(value: vec4<f32>, base: vec4<f32>, src: Tensor, slice: u32, across: bool) -> vec4<f32> {
    return select(neutral(), term(value, base), counted_lanes(src, slice, across));
}

// The sum or product of all lanes where channels are reduced.
fn joined_across(all: vec4<f32>, across: bool) -> vec4<f32> {
    let sum = (all.x + all.y) + (all.z + all.w);
    return select(all, vec4(select(sum, (all.x * all.y) * (all.z * all.w), is_product())), across);
}

// Computes the result from the sum or product of all terms.
fn result_of(all: vec4<f32>, base: vec4<f32>) -> vec4<f32> {
    switch KIND {
        case REDUCE_L2: { return sqrt(all); }
        case REDUCE_LOG_SUM: { return logarithm(all); }
        case REDUCE_LOG_SUM_EXP: { return base + logarithm(all); }
        case REDUCE_MEAN, REDUCE_SUM, REDUCE_SUM_SQUARE, REDUCE_PROD, REDUCE_L1: { return all; }
        default: { return nan(); }
    }
}
