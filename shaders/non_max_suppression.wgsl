// The best boxes that overlap no better one. A workgroup selects those of a row of scores: in each round its lanes drop
// the boxes that overlap the one selected last, and find the best that is left.

struct Params {
    score: f32,          // limit that scores exceed
    overlap: f32,        // limit that the overlap of boxes exceeds if the worse one is dropped
    unused: vec2<f32>,   // index and score of places without a box
}

// This is no parameter, because all lanes must provably reach the same barriers.
override PLACES: u32 = 1u;
// True if a limit itself counts as exceeding it.
override SCORE_INCLUDED: bool = false;
override OVERLAP_INCLUDED: bool = true;

// The index of no box.
const NONE: u32 = 0xffffffffu;

struct Candidate {
    index: u32,
    score: f32,
}

// Flags of the boxes that are left, 32 to a word. A word belongs to one lane.
var<workgroup> flags: array<u32, BOX_WORDS>;
var<workgroup> bests: array<Candidate, LANES>;

// True if `a` is selected before `b`.
fn is_before(a: Candidate, b: Candidate) -> bool {
    if a.index == NONE { return false; }
    return b.index == NONE || a.score > b.score || (a.score == b.score && a.index < b.index);
}

// Marks the lanes that are NaN or infinite.
fn not_finite(v: vec4<f32>) -> vec4<bool> {
    return (bitcast<vec4<u32>>(v) & vec4(0x7f800000u)) == vec4(0x7f800000u);
}

fn area(sides: vec2<f32>) -> f32 { return sides.x * sides.y; }

// True if boxes overlap too much.
fn collide(a: vec4<f32>, b: vec4<f32>) -> bool {
    let a_low = min(a.xy, a.zw);
    let a_high = max(a.xy, a.zw);
    let b_low = min(b.xy, b.zw);
    let b_high = max(b.xy, b.zw);
    let a_area = area(a_high - a_low);
    let b_area = area(b_high - b_low);
    let both = area(max(min(a_high, b_high) - max(a_low, b_low), vec2(0.0)));
    let quotient = both / (a_area + b_area - both);
    let odd = any(not_finite(a) | not_finite(b)) || a_area <= 0.0 || b_area <= 0.0;
    let overlap = select(quotient, 0.0, odd || no_number(vec4(quotient)).x);
    let limit = params().overlap;
    return overlap > limit || (OVERLAP_INCLUDED && overlap == limit);
}

// Marks the scores that exceed the limit.
fn exceeding(scores: vec4<f32>) -> vec4<bool> {
    let limit = vec4(params().score);
    let reached = (scores == limit) & vec4(SCORE_INCLUDED);
    return ((scores > limit) | reached) & !no_number(scores);
}

// Drops the boxes of a word that collide with the box selected last, and returns the better one of `before` and the
// best that is left.
fn best_of(boxes: Tensor, scores: Tensor, row: vec2<u32>, word: u32, last: u32, before: Candidate) -> Candidate {
    var best = before;
    var kept = flags[word];
    for (var left = kept; left != 0u; left &= left - 1u) {
        let bit = firstTrailingBit(left);
        let index = word * 32u + bit;
        var dropped = index == last;
        if last != NONE && !dropped {
            dropped = collide(read_input(boxes, row.x + index), read_input(boxes, row.x + last));
        }
        if dropped {
            kept &= ~(1u << bit);
        } else {
            let score = read_second(scores, row.y + index / 4u * scores.pitch)[index % 4u];
            let here = Candidate(index, score);
            if is_before(here, best) { best = here; }
        }
    }
    flags[word] = kept;
    return best;
}

// Joins the candidates of lanes at a distance.
fn join(lane: u32, distance: u32) {
    workgroupBarrier();
    if lane < distance {
        let other = bests[lane + distance];
        if is_before(other, bests[lane]) { bests[lane] = other; }
    }
}

@compute @workgroup_size(LANES)
fn main(
    @builtin(global_invocation_id) global: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    // Every lane reaches every barrier: a group beyond the last row repeats it and stores nothing.
    let id = begin(global);
    let dispatch = dispatch_params();
    let stores = id < dispatch.items && lane == 0u;
    let boxes = input_tensor();
    let scores = second_tensor();
    let dst = output_tensor();
    let row = dispatch.first_row + min(id, dispatch.items - 1u) / LANES;
    let starts = vec2(row_start(boxes, row / dst.h), row_start(scores, row));
    let words = (boxes.w + 31u) / 32u;
    for (var own = lane; own < words; own += LANES) {
        var word = 0u;
        for (var texel = own * 8u; texel < min(own * 8u + 8u, scores.slices); texel++) {
            let four = exceeding(read_second(scores, starts.y + texel * scores.pitch)) & has_channels(scores, texel);
            let bits = select(vec4(0u), vec4(1u, 2u, 4u, 8u), four);
            word |= (bits.x | bits.y | bits.z | bits.w) << (texel % 8u * 4u);
        }
        flags[own] = word;
    }
    var last = NONE;
    var count = 0u;
    for (var place = 0u; place < PLACES; place++) {
        var best = Candidate(NONE, 0.0);
        for (var word = lane; word < words; word += LANES) {
            best = best_of(boxes, scores, starts, word, last, best);
        }
        bests[lane] = best;
        join(lane, 32u);
        join(lane, 16u);
        join(lane, 8u);
        join(lane, 4u);
        join(lane, 2u);
        join(lane, 1u);
        workgroupBarrier();
        let found = bests[0];
        // Every lane has read the best box before the next round changes it.
        workgroupBarrier();
        let unused = params().unused;
        var value = vec4(unused, 0.0, 0.0);
        if found.index != NONE {
            value = vec4(f32(found.index), found.score, 0.0, 0.0);
            last = found.index;
            count++;
        }
        if stores { store_output(dst, row, place, 0u, value); }
    }
    if stores { store_output(dst, row, PLACES, 0u, vec4(f32(count), 0.0, 0.0, 0.0)); }
}
