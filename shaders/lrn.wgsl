// Local response normalization over channels: x / (bias + alpha / size * sum of the window's squares)^beta. One texel an
// invocation.

struct Params {
    scale: f32,    // alpha / size
    beta: f32,
    bias: f32,
    before: u32,   // channels of the window in front of the channel
    behind: u32,   // and behind it
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
        for (var lane = 0u; lane < 4u; lane++) {
            let c = s * 4u + lane;
            let inside = (vec4(c + args.before) >= channels) & (vec4(c) <= channels + args.behind);
            sum += select(vec4(0.0), vec4(v[lane] * v[lane]), inside);
        }
    }
    let v = read_input(src, start + o.slice * src.pitch);
    return v / raised(args.bias + args.scale * sum, vec4(args.beta));
}
