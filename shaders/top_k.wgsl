// The greatest or least channels of a pixel in order, or their numbers. One texel of the result, four places in that
// order, an invocation: it looks for the place in front of its own, then for the four that follow.
override LARGEST: bool = true;
override INDICES: bool = false;

// A channel as something that can be counted: the first in order has the greatest key; of equal keys the lower channel
// comes first.
struct Channel {
    key: u32,
    number: u32,
}

// Bits that are in the order of the values. Both zeros are one, and what is no number is above all.
fn keys(x: vec4<f32>) -> vec4<u32> {
    let one_zero = bitcast<vec4<u32>>(select(x, vec4(0.0), x == vec4(0.0)));
    let bits = select(one_zero, vec4(0x7fc00000u), no_number(x));
    let ordered = bits ^ select(vec4(0x80000000u), vec4(0xffffffffu), (bits >> vec4(31u)) == vec4(1u));
    return select(~ordered, ordered, LARGEST);
}

fn value_of(key: u32) -> f32 {
    let ordered = select(~key, key, LARGEST);
    return bitcast<f32>(ordered ^ select(0xffffffffu, 0x80000000u, (ordered >> 31u) == 1u));
}

fn keys_at(src: Tensor, start: u32, slice: u32) -> vec4<u32> {
    return keys(read_input(src, start + slice * src.pitch));
}

// How many channels have a key of at least so much.
fn count(src: Tensor, start: u32, key: u32) -> u32 {
    var found = vec4(0u);
    for (var s = 0u; s < src.slices; s++) {
        let there = has_channels(src, s) & (keys_at(src, start, s) >= vec4(key));
        found += select(vec4(0u), vec4(1u), there);
    }
    return (found.x + found.y) + (found.z + found.w);
}

// The first channel behind `last`, or the first of all.
fn next(src: Tensor, start: u32, last: Channel, any: bool) -> Channel {
    var best = Channel(0u, 0u);
    var found = false;
    for (var s = 0u; s < src.slices; s++) {
        let four = keys_at(src, start, s);
        for (var lane = 0u; lane < min(4u, src.c - s * 4u); lane++) {
            let here = Channel(four[lane], s * 4u + lane);
            let behind = any || here.key < last.key || (here.key == last.key && here.number > last.number);
            if behind && (!found || here.key > best.key) {
                best = here;
                found = true;
            }
        }
    }
    return best;
}

// The channel in place `place` of the order, the first being 1: its key bit by bit, then its number.
fn channel_in(src: Tensor, start: u32, place: u32) -> Channel {
    var key = 0u;
    for (var bit = 0x80000000u; bit != 0u; bit >>= 1u) {
        if count(src, start, key | bit) >= place { key |= bit; }
    }
    var left = place;
    if key != 0xffffffffu { left -= count(src, start, key + 1u); }
    for (var s = 0u; s < src.slices; s++) {
        let four = keys_at(src, start, s);
        for (var lane = 0u; lane < min(4u, src.c - s * 4u); lane++) {
            if four[lane] == key {
                left--;
                if left == 0u { return Channel(key, s * 4u + lane); }
            }
        }
    }
    return Channel(key, 0u);
}

fn compute(dst: Tensor, o: OutputTexel) -> vec4<f32> {
    let src = input_tensor();
    let slice = o.slice;
    let start = row_start(src, o.row) + o.x;
    var last = Channel(0u, 0u);
    var any = true;
    // One after another takes a walk over the channels for each place, bit by bit 34 walks for any.
    if slice > 8u {
        last = channel_in(src, start, slice * 4u);
        any = false;
    } else {
        for (var i = 0u; i < slice * 4u; i++) {
            last = next(src, start, last, any);
            any = false;
        }
    }
    var value: vec4<f32>;
    for (var lane = 0u; lane < min(4u, dst.c - slice * 4u); lane++) {
        last = next(src, start, last, any);
        any = false;
        if INDICES {
            value[lane] = f32(last.number);
        } else {
            value[lane] = value_of(last.key);
        }
    }
    return value;
}
