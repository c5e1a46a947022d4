// Local response normalization over channels: x / (bias + alpha / size * sum of the window's squares)^beta. One texel an
// invocation.

struct Params {
    scale: f32,    // alpha / size
    beta: f32,
    bias: f32,
    before: u32,   // channels of the window in front of the channel
    behind: u32,   // and behind it
}

// The square of channel `c`, for the channels in whose windows it lies.
fn square_of(value: f32, c: u32, channels: vec4<u32>, args: Params) -> vec4<f32> {
    let inside = (vec4(c + args.before) >= channels) & (vec4(c) <= channels + args.behind);
    return select(vec4(0.0), vec4(value * value), inside);
}

fn compute(dst: Tensor, o: OutputTexel) -> vec4<f32> {
    let src = input_tensor();
    let args = params();
    let start = row_start(src, o.row) + o.x;
    let channels = channels_of(o.slice);
    // Lanes past the last channel are zero and add nothing.
    let first = (max(channels.x, args.before) - args.before) / 4u;
    let last = min((channels.w + args.behind) / 4u, src.slices - 1u);
    var sum = vec4(0.0);
    for (var s = first; s <= last; s++) {
        let v = read_input(src, start + s * src.pitch);
        let c = s * 4u;
        sum += square_of(v.x, c, channels, args);
        sum += square_of(v.y, c + 1u, channels, args);
        sum += square_of(v.z, c + 2u, channels, args);
        sum += square_of(v.w, c + 3u, channels, args);
    }
    let v = read_input(src, start + o.slice * src.pitch);
    return v / raised(args.bias + args.scale * sum, vec4(args.beta));
}
