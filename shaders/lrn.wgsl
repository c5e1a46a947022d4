// Local response normalization over channels: x / (bias + alpha / size * sum of the window's squares)^beta. One texel an
// invocation.

struct Params {
    scale: f32,    // alpha / size
    beta: f32,
    bias: f32,
    before: u32,   // channels of the window in front of the own one
    behind: u32,   // and behind it
}

fn compute(dst: Tensor, o: OutputTexel) -> vec4<f32> {
    let src = input_tensor();
    let own = params();
    let start = row_start(src, o.row) + o.x;
    let channels = channels_of(o.slice);
    // Lanes past the last channel are zero and add nothing.
    let first = (max(channels.x, own.before) - own.before) / 4u;
    let last = min((channels.w + own.behind) / 4u, src.slices - 1u);
    var sum = vec4(0.0);
    for (var s = first; s <= last; s++) {
        let v = read_input(src, start + s * src.pitch);
        for (var lane = 0u; lane < 4u; lane++) {
            let c = s * 4u + lane;
            let inside = (vec4(c + own.before) >= channels) & (vec4(c) <= channels + own.behind);
            sum += select(vec4(0.0), vec4(v[lane] * v[lane]), inside);
        }
    }
    let v = read_input(src, start + o.slice * src.pitch);
    return v / raised(own.bias + own.scale * sum, vec4(own.beta));
}
