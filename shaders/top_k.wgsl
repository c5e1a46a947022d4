// The greatest or least channels of a pixel in order, or their numbers, where they are few. An invocation computes one
// texel of the result, four places of the order: it finds one place after another, from the first on.

// The first channel behind `last`, or the first of all.
fn next(src: Tensor, start: u32, last: Channel, any: bool) -> Channel {
    var best = Channel(0xffffffffu, 0xffffffffu);
    for (var s = 0u; s < src.slices; s++) {
        let four = keys_at(src, start, s);
        for (var lane = 0u; lane < min(4u, src.c - s * 4u); lane++) {
            let here = Channel(four[lane], s * 4u + lane);
            if (any || comes_before(last, here)) && comes_before(here, best) { best = here; }
        }
    }
    return best;
}

fn compute(dst: Tensor, o: OutputTexel) -> vec4<f32> {
    let src = input_tensor();
    let start = row_start(src, o.row) + o.x;
    let first = o.slice * 4u;
    var last: Channel;
    var value: vec4<f32>;
    for (var place = 0u; place < min(first + 4u, dst.c); place++) {
        last = next(src, start, last, place == 0u);
        if place >= first { value[place - first] = answer(last); }
    }
    return value;
}
