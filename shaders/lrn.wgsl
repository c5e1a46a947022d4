// Local response normalization over channels: x / (bias + alpha / size * sum of the window's squares)^beta. One texel an
// invocation.
// Own words: 8  alpha / size, beta, bias as bits; 9  channels of the window before the own one, behind it

@compute @workgroup_size(LANES)
fn main(@builtin(global_invocation_id) global: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>) {
    let id = begin(global, group);
    if id >= param(0u).x { return; }
    let dst = output_tensor();
    let src = input_tensor();
    let factors = bitcast<vec4<f32>>(param(8u));
    let before = param(9u).x;
    let behind = param(9u).y;
    let row_texels = dst.slices * dst.w;
    let row = param(0u).y + id / row_texels;
    let slice = (id % row_texels) / dst.w;
    let x = (id % row_texels) % dst.w;
    let start = row_start(src, row) + x;
    let own = vec4(0u, 1u, 2u, 3u) + slice * 4u;
    // Lanes past the last channel are zero and add nothing.
    let first = (max(own.x, before) - before) / 4u;
    let last = min((own.w + behind) / 4u, src.slices - 1u);
    var sum = vec4(0.0);
    for (var s = first; s <= last; s++) {
        let v = read_input(src, start + s * src.pitch);
        for (var lane = 0u; lane < 4u; lane++) {
            let c = s * 4u + lane;
            let inside = (vec4(c + before) >= own) & (vec4(c) <= own + behind);
            sum += select(vec4(0.0), vec4(v[lane] * v[lane]), inside);
        }
    }
    let v = read_input(src, start + slice * src.pitch);
    store_output(dst, row, x, slice, v / raised(factors.z + factors.x * sum, vec4(factors.y)));
}
