// The best boxes that overlap no better one. A workgroup selects those of a row of scores, one after another: its lanes drop
// the boxes that overlap the one selected last, and find the best that is left, until none is.

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
// Texels of scores that a lane visits in a round: 1, or the 8 of a word.
override TAKEN: u32 = 1u;

// The index of no box.
const NONE: u32 = 0xffffffffu;
// Texels of scores whose flags are in a word, four flags each.
const TEXELS_A_WORD: u32 = 8u;
// Candidates that a lane compares when the lanes' are joined: those of 64 lanes, in two steps.
const JOINED: u32 = 8u;

struct Candidate {
    index: u32,
    score: f32,
}

// A box that was selected.
struct Selected {
    index: u32,
    low: vec2<f32>,
    high: vec2<f32>,
    area: f32,   // 0 if it overlaps nothing
}

// A word of flags that is being visited.
struct Word {
    first: u32,   // texel of the first four flags
    left: u32,    // flags that are not visited yet
    kept: u32,    // flags without those of dropped boxes
}

// Flags of the boxes that are left. A lane has every LANES-th texel of scores, because candidates are often neighbours, and
// each word belongs to one lane.
var<workgroup> flags: array<u32, BOX_WORDS>;
var<workgroup> bests: array<Candidate, LANES>;
var<workgroup> joined: array<Candidate, JOINED>;
var<workgroup> winner: Candidate;

// The one of two candidates that is selected first.
fn better(a: Candidate, b: Candidate) -> Candidate {
    let is_before = b.index == NONE || a.score > b.score || (a.score == b.score && a.index < b.index);
    if a.index != NONE && is_before { return a; }
    return b;
}

// Marks the lanes that are NaN or infinite.
fn not_finite(v: vec4<f32>) -> vec4<bool> {
    return (bitcast<vec4<u32>>(v) & vec4(0x7f800000u)) == vec4(0x7f800000u);
}

fn selected(index: u32, corners: vec4<f32>) -> Selected {
    let low = min(corners.xy, corners.zw);
    let high = max(corners.xy, corners.zw);
    let area = (high.x - low.x) * (high.y - low.y);
    return Selected(index, low, high, select(area, 0.0, any(not_finite(corners))));
}

// Marks those of four boxes that overlap a selected one more than a limit. A column has the corners of a box.
fn colliding(boxes: mat4x4<f32>, last: Selected, limit: f32) -> vec4<bool> {
    let sides = transpose(boxes);
    let low_x = min(sides[0], sides[2]);
    let low_y = min(sides[1], sides[3]);
    let high_x = max(sides[0], sides[2]);
    let high_y = max(sides[1], sides[3]);
    let areas = (high_x - low_x) * (high_y - low_y);
    let width = max(min(high_x, vec4(last.high.x)) - max(low_x, vec4(last.low.x)), vec4(0.0));
    let height = max(min(high_y, vec4(last.high.y)) - max(low_y, vec4(last.low.y)), vec4(0.0));
    let both = width * height;
    let quotient = both / (areas + last.area - both);
    let infinite = not_finite(sides[0]) | not_finite(sides[1]) | not_finite(sides[2]) | not_finite(sides[3]);
    let empty = (areas <= vec4(0.0)) | vec4(last.area <= 0.0);
    let overlap = select(quotient, vec4(0.0), infinite | empty | no_number(quotient));
    return (overlap > vec4(limit)) | ((overlap == vec4(limit)) & vec4(OVERLAP_INCLUDED));
}

// Marks the scores that exceed a limit.
fn exceeding(scores: vec4<f32>, limit: f32) -> vec4<bool> {
    let reached = (scores == vec4(limit)) & vec4(SCORE_INCLUDED);
    return ((scores > vec4(limit)) | reached) & !no_number(scores);
}

// The number whose lowest bits are four flags.
fn bits_of(four: vec4<bool>) -> u32 {
    let bits = select(vec4(0u), vec4(1u, 2u, 4u, 8u), four);
    return bits.x | bits.y | bits.z | bits.w;
}

// The corners of a box. Behind the last box come no texels of the row, so the last one stands there.
fn corners_of(boxes: Tensor, start: u32, index: u32) -> vec4<f32> {
    return read_input(boxes, start + min(index, boxes.w - 1u));
}

// The better one of `best` and a box with a flag. Lanes visit boxes in their order, so of equal scores the first stays.
fn best_with(best: Candidate, is_left: bool, index: u32, score: f32) -> Candidate {
    if is_left && (best.index == NONE || score > best.score) { return Candidate(index, score); }
    return best;
}

// Visits the next texel of a word: drops its boxes that collide with the box selected last, and finds the best left.
fn visit(
    boxes: Tensor,
    scores: Tensor,
    starts: vec2<u32>,
    last: Selected,
    limit: f32,
    word: ptr<function, Word>,
    best: ptr<function, Candidate>,
) {
    let left = (*word).left;
    if left == 0u { return; }
    let bit = firstTrailingBit(left) & ~3u;
    let texel = (*word).first + bit / 4u * LANES;
    let index = texel * 4u;
    var four = (vec4(left >> bit) & vec4(1u, 2u, 4u, 8u)) != vec4(0u);
    if last.index != NONE {
        let a = corners_of(boxes, starts.x, index);
        let b = corners_of(boxes, starts.x, index + 1u);
        let c = corners_of(boxes, starts.x, index + 2u);
        let d = corners_of(boxes, starts.x, index + 3u);
        let is_last = channels_of(texel) == vec4(last.index);
        four &= !(colliding(mat4x4(a, b, c, d), last, limit) | is_last);
    }
    let value = read_second(scores, starts.y + texel * scores.pitch);
    var found = best_with(*best, four.x, index, value.x);
    found = best_with(found, four.y, index + 1u, value.y);
    found = best_with(found, four.z, index + 2u, value.z);
    *best = best_with(found, four.w, index + 3u, value.w);
    let visited = 15u << bit;
    (*word).left = left & ~visited;
    (*word).kept = ((*word).kept & ~visited) | (bits_of(four) << bit);
}

// Words of a lane that have flags are marked in 64 bits.
fn marked(word: u32) -> vec2<u32> {
    return select(vec2(1u << (word & 31u), 0u), vec2(0u, 1u << (word & 31u)), word >= 32u);
}

fn first_marked(words: vec2<u32>) -> u32 {
    return select(firstTrailingBit(words.y) + 32u, firstTrailingBit(words.x), words.x != 0u);
}

fn without_first(words: vec2<u32>, is_done: bool) -> vec2<u32> {
    let rest = select(vec2(0u, words.y & (words.y - 1u)), vec2(words.x & (words.x - 1u), words.y), words.x != 0u);
    return select(words, rest, is_done);
}

// The candidate that comes first of eight, which lie at a distance from each other.
fn first_of_bests(i: u32) -> Candidate {
    let a = better(better(bests[i], bests[i + JOINED]), better(bests[i + 2u * JOINED], bests[i + 3u * JOINED]));
    let b = better(bests[i + 4u * JOINED], bests[i + 5u * JOINED]);
    return better(a, better(b, better(bests[i + 6u * JOINED], bests[i + 7u * JOINED])));
}

fn first_of_joined() -> Candidate {
    let a = better(better(joined[0], joined[1]), better(joined[2], joined[3]));
    return better(a, better(better(joined[4], joined[5]), better(joined[6], joined[7])));
}

// The best of all lanes' candidates, the same for every lane.
fn best_of_lanes(lane: u32, best: Candidate) -> Candidate {
    bests[lane] = best;
    workgroupBarrier();
    if lane < JOINED { joined[lane] = first_of_bests(lane); }
    workgroupBarrier();
    if lane == 0u { winner = first_of_joined(); }
    return workgroupUniformLoad(&winner);
}

@compute @workgroup_size(LANES)
fn main(
    @builtin(global_invocation_id) global: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    // Every lane reaches every barrier: a group beyond the last row repeats it and stores nothing.
    let id = begin(global);
    let dispatch = dispatch_params();
    let args = params();
    let boxes = input_tensor();
    let scores = second_tensor();
    let dst = output_tensor();
    let row = dispatch.first_row + min(id, dispatch.items - 1u) / LANES;
    let starts = vec2(row_start(boxes, row / dst.h), row_start(scores, row));

    var occupied = vec2(0u);
    var gathered = 0u;
    for (var texel = lane; texel < scores.slices; texel += LANES) {
        let own = texel / LANES;
        let value = read_second(scores, starts.y + texel * scores.pitch);
        let four = exceeding(value, args.score) & has_channels(scores, texel);
        let nibble = own % TEXELS_A_WORD;
        gathered = select(gathered, 0u, nibble == 0u) | (bits_of(four) << (nibble * 4u));
        flags[own / TEXELS_A_WORD * LANES + lane] = gathered;
        occupied |= select(vec2(0u), marked(own / TEXELS_A_WORD), gathered != 0u);
    }

    var last = selected(NONE, vec4(0.0));
    var count = 0u;
    var is_any_left = true;
    // Behind the places comes the number of boxes. Lanes store a window of these together.
    for (var window = 0u; window <= PLACES; window += LANES) {
        var value = vec4(args.unused, 0.0, 0.0);
        for (var place = window; is_any_left && place < min(window + LANES, PLACES); place++) {
            var best = Candidate(NONE, 0.0);
            var word = Word(0u, 0u, 0u);
            // A word stays the lowest until its texels are visited.
            for (var words = occupied; any(words != vec2(0u)); words = without_first(words, word.left == 0u)) {
                let number = first_marked(words);
                let slot = number * LANES + lane;
                if word.left == 0u {
                    let all = flags[slot];
                    word = Word(number * TEXELS_A_WORD * LANES + lane, all, all);
                }
                visit(boxes, scores, starts, last, args.overlap, &word, &best);
                if TAKEN != 1u {
                    visit(boxes, scores, starts, last, args.overlap, &word, &best);
                    visit(boxes, scores, starts, last, args.overlap, &word, &best);
                    visit(boxes, scores, starts, last, args.overlap, &word, &best);
                    visit(boxes, scores, starts, last, args.overlap, &word, &best);
                    visit(boxes, scores, starts, last, args.overlap, &word, &best);
                    visit(boxes, scores, starts, last, args.overlap, &word, &best);
                    visit(boxes, scores, starts, last, args.overlap, &word, &best);
                }
                if word.left == 0u {
                    flags[slot] = word.kept;
                    occupied &= ~select(vec2(0u), marked(number), word.kept == 0u);
                }
            }
            let found = best_of_lanes(lane, best);
            is_any_left = found.index != NONE;
            if is_any_left {
                last = selected(found.index, corners_of(boxes, starts.x, found.index));
                count++;
                if place - window == lane { value = vec4(f32(found.index), found.score, 0.0, 0.0); }
            }
        }
        let place = window + lane;
        if place == PLACES { value = vec4(f32(count), 0.0, 0.0, 0.0); }
        if id < dispatch.items && place <= PLACES { store_output(dst, row, place, 0u, value); }
    }
}
