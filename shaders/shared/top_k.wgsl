// Code shared by the TopK kernels: the channels of a pixel in the requested order.
override LARGEST: bool = true;
// True if the result is the channels' numbers instead of their values.
override INDICES: bool = false;

// A channel. The order is that of the keys; of equal keys the lower number comes first.
struct Channel {
    key: u32,
    number: u32,
}

fn comes_before(a: Channel, b: Channel) -> bool {
    return a.key < b.key || (a.key == b.key && a.number < b.number);
}

// The keys of a slice's channels: integers in the order of the values. Both zeros are one; NaN is above all numbers.
fn keys_at(src: Tensor, start: u32, slice: u32) -> vec4<u32> {
    let x = read_input(src, start + slice * src.pitch);
    let one_zero = bitcast<vec4<u32>>(select(x, vec4(0.0), x == vec4(0.0)));
    let bits = select(one_zero, vec4(0x7fc00000u), no_number(x));
    let ascending = bits ^ select(vec4(0x80000000u), vec4(0xffffffffu), (bits >> vec4(31u)) == vec4(1u));
    return select(ascending, ~ascending, LARGEST);
}

// Returns the output for a channel: its number or its value.
fn answer(channel: Channel) -> f32 {
    if INDICES { return f32(channel.number); }
    let ascending = select(channel.key, ~channel.key, LARGEST);
    return bitcast<f32>(ascending ^ select(0xffffffffu, 0x80000000u, (ascending >> 31u) == 1u));
}
