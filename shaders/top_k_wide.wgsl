// The greatest or least channels of a pixel in order, or their numbers. A workgroup computes a window of the order, at
// most TOP_K_WINDOW places of one pixel: it finds the window's last channel (and its first) by a radix select, collects
// the channels between them, and sorts those.

// Bytes in which two channels can differ: four of the key, then those of the number.
override DIGITS: u32 = 8u;
// Places that are sorted: those of a window, filled up to a power of two that is a multiple of four.
override SORTED: u32 = TOP_K_WINDOW;
// True if a window may begin behind the first place.
override WINDOWED: bool = true;

// Slices that a lane takes in a round: 16 of a long axis, else one.
override TAKEN: u32 = 1u;

const BINS: u32 = 256u;
const BINS_A_LANE: u32 = BINS / LANES;

// One byte of the channel being searched for.
struct Digit {
    value: u32,
    before: u32,   // how many of the channels that are left have a lower one
    last: u32,     // whether the bound needs no further byte
}

var<workgroup> histogram: array<atomic<u32>, BINS>;
var<workgroup> sums: array<u32, LANES>;
var<workgroup> digit: Digit;
var<workgroup> taken: atomic<u32>;
var<workgroup> entries: array<Channel, TOP_K_WINDOW>;

// Counts a channel by one byte if its bytes in front of that are those of `prefix`.
fn tally(src: Tensor, channel: Channel, prefix: Channel, mask: Channel, of_number: bool, shift: u32) {
    let left = (channel.key & mask.key) == prefix.key && (channel.number & mask.number) == prefix.number;
    if left && channel.number < src.c {
        atomicAdd(&histogram[extractBits(select(channel.key, channel.number, of_number), shift, 8u)], 1u);
    }
}

fn tally_slice(src: Tensor, start: u32, s: u32, prefix: Channel, mask: Channel, of_number: bool, shift: u32) {
    if s < src.slices {
        let keys = keys_at(src, start, s);
        tally(src, Channel(keys.x, s * 4u), prefix, mask, of_number, shift);
        tally(src, Channel(keys.y, s * 4u + 1u), prefix, mask, of_number, shift);
        tally(src, Channel(keys.z, s * 4u + 2u), prefix, mask, of_number, shift);
        tally(src, Channel(keys.w, s * 4u + 3u), prefix, mask, of_number, shift);
    }
}

fn tally_four(src: Tensor, start: u32, s: u32, prefix: Channel, mask: Channel, of_number: bool, shift: u32) {
    tally_slice(src, start, s, prefix, mask, of_number, shift);
    tally_slice(src, start, s + LANES, prefix, mask, of_number, shift);
    tally_slice(src, start, s + 2u * LANES, prefix, mask, of_number, shift);
    tally_slice(src, start, s + 3u * LANES, prefix, mask, of_number, shift);
}

// Counts the channels of the slices of a round.
fn tally_round(src: Tensor, start: u32, s: u32, prefix: Channel, mask: Channel, of_number: bool, shift: u32) {
    if TAKEN == 1u {
        tally_slice(src, start, s, prefix, mask, of_number, shift);
    } else {
        tally_four(src, start, s, prefix, mask, of_number, shift);
        tally_four(src, start, s + 4u * LANES, prefix, mask, of_number, shift);
        tally_four(src, start, s + 8u * LANES, prefix, mask, of_number, shift);
        tally_four(src, start, s + 12u * LANES, prefix, mask, of_number, shift);
    }
}

// A bound of the channels up to `wanted` (`upper`), or from it on: a place of the order, the first being 0. Each round
// finds a byte by a histogram of the channels that are left, until the bytes found divide the channels as the whole
// channel would. All lanes go all rounds, because compilers must see that they reach each barrier together.
fn bound(src: Tensor, start: u32, lane: u32, wanted: u32, upper: bool) -> Channel {
    var prefix = Channel(0u, 0u);
    var mask = Channel(0u, 0u);
    var place = wanted;
    var found = false;
    for (var byte = 0u; byte < DIGITS; byte++) {
        let of_number = byte >= 4u;
        let shift = 8u * select(3u - byte, DIGITS - 1u - byte, of_number);
        let bins = lane * BINS_A_LANE;
        for (var bin = bins; bin < bins + BINS_A_LANE; bin++) { atomicStore(&histogram[bin], 0u); }
        workgroupBarrier();
        if !found {
            for (var s = lane; s < src.slices; s += LANES * TAKEN) {
                tally_round(src, start, s, prefix, mask, of_number, shift);
            }
        }
        workgroupBarrier();
        var own = 0u;
        for (var bin = bins; bin < bins + BINS_A_LANE; bin++) { own += atomicLoad(&histogram[bin]); }
        sums[lane] = own;
        workgroupBarrier();
        var before = 0u;
        if !found {
            for (var other = 0u; other < lane; other++) { before += sums[other]; }
        }
        // One lane has the bin in which the place lies.
        if !found && before <= place && place < before + own {
            for (var bin = bins; bin < bins + BINS_A_LANE; bin++) {
                let count = atomicLoad(&histogram[bin]);
                if place < before + count {
                    digit = Digit(bin, before, u32(place - before == select(0u, count - 1u, upper)));
                    break;
                }
                before += count;
            }
        }
        workgroupBarrier();
        if !found {
            place -= digit.before;
            found = digit.last != 0u;
            if of_number {
                prefix.number |= digit.value << shift;
                mask.number = 0xffffffffu << shift;
            } else {
                prefix.key |= digit.value << shift;
                mask.key = 0xffffffffu << shift;
            }
        }
    }
    if upper { return Channel(prefix.key | ~mask.key, prefix.number | ~mask.number); }
    return prefix;
}

// Collects a channel that lies between two bounds.
fn collect(src: Tensor, channel: Channel, first: Channel, last: Channel) {
    if channel.number >= src.c || comes_before(channel, first) || comes_before(last, channel) { return; }
    let slot = atomicAdd(&taken, 1u);
    if slot < SORTED { entries[slot] = channel; }
}

fn collect_slice(src: Tensor, start: u32, s: u32, first: Channel, last: Channel) {
    if s < src.slices {
        let keys = keys_at(src, start, s);
        collect(src, Channel(keys.x, s * 4u), first, last);
        collect(src, Channel(keys.y, s * 4u + 1u), first, last);
        collect(src, Channel(keys.z, s * 4u + 2u), first, last);
        collect(src, Channel(keys.w, s * 4u + 3u), first, last);
    }
}

fn collect_four(src: Tensor, start: u32, s: u32, first: Channel, last: Channel) {
    collect_slice(src, start, s, first, last);
    collect_slice(src, start, s + LANES, first, last);
    collect_slice(src, start, s + 2u * LANES, first, last);
    collect_slice(src, start, s + 3u * LANES, first, last);
}

// Collects the channels of the slices of a round.
fn collect_round(src: Tensor, start: u32, s: u32, first: Channel, last: Channel) {
    if TAKEN == 1u {
        collect_slice(src, start, s, first, last);
    } else {
        collect_four(src, start, s, first, last);
        collect_four(src, start, s + 4u * LANES, first, last);
        collect_four(src, start, s + 8u * LANES, first, last);
        collect_four(src, start, s + 12u * LANES, first, last);
    }
}

// A bitonic sort of the collected channels.
fn sort(lane: u32) {
    for (var run = 2u; run <= SORTED; run *= 2u) {
        for (var distance = run / 2u; distance > 0u; distance /= 2u) {
            workgroupBarrier();
            for (var pair = lane; pair < SORTED / 2u; pair += LANES) {
                let low = 2u * pair - (pair & (distance - 1u));
                let high = low + distance;
                let a = entries[low];
                let b = entries[high];
                // Every second run is sorted backwards, so that two of them make one that rises and falls.
                if comes_before(b, a) != ((low & run) != 0u) {
                    entries[low] = b;
                    entries[high] = a;
                }
            }
        }
    }
    workgroupBarrier();
}

@compute @workgroup_size(LANES)
fn main(
    @builtin(global_invocation_id) global: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    // Every lane reaches every barrier: a group beyond the last window repeats it and stores nothing.
    let id = begin(global);
    let dispatch = dispatch_params();
    let dst = output_tensor();
    let src = input_tensor();
    let numbered = min(id, dispatch.items - 1u) / LANES;
    let windows = (dst.c + TOP_K_WINDOW - 1u) / TOP_K_WINDOW;
    let window = divided(numbered, windows);
    let place = window.rest * TOP_K_WINDOW;
    let places = min(TOP_K_WINDOW, dst.c - place);
    let pixel = divided(window.quotient, src.w);
    let row = dispatch.first_row + pixel.quotient;
    let x = pixel.rest;
    let start = row_start(src, row) + x;
    var first = Channel(0u, 0u);
    if WINDOWED { first = bound(src, start, lane, place, false); }
    let last = bound(src, start, lane, place + places - 1u, true);
    if lane == 0u { atomicStore(&taken, 0u); }
    workgroupBarrier();
    for (var s = lane; s < src.slices; s += LANES * TAKEN) { collect_round(src, start, s, first, last); }
    // Padding entries that sort behind all channels.
    for (var fill = places + lane; fill < SORTED; fill += LANES) {
        entries[fill] = Channel(0xffffffffu, 0xffffffffu);
    }
    sort(lane);
    if id < dispatch.items {
        for (var out = lane; out * 4u < places; out += LANES) {
            let i = out * 4u;
            let front = vec2(answer(entries[i]), answer(entries[i + 1u]));
            let back = vec2(answer(entries[i + 2u]), answer(entries[i + 3u]));
            store_output(dst, row, x, place / 4u + out, vec4(front, back));
        }
    }
}
