// Reductions over any axes, means apart (`mean.wgsl`): row by row, within a row from left to right. One texel of the
// result an invocation.

struct Params {
    reduced: vec4<u32>,   // whether B, H, W, C are
}

fn compute(dst: Tensor, o: OutputTexel) -> vec4<f32> {
    let src = input_tensor();
    let reduced = params().reduced;
    let region = region_of(reduced, src, o);
    let across = reduced.w != 0u;
    let rows = rows_of(region);
    let texels = row_texels_of(region);

    var best = begin_best(read_input(src, row_place(region, src, 0u).texel), across);
    if looks_for_best() {
        for (var best_row = 0u; best_row < rows; best_row++) {
            var place = row_place(region, src, best_row);
            for (var best_texel = 0u; best_texel < texels; best_texel++) {
                best = best_with(best, read_input(src, place.texel), src, place, reduced);
                place = next_place(region, src, place);
            }
        }
        best = best_across(best, across);
    }
    if is_index() { return vec4<f32>(best.index); }
    if !adds_up() { return best.value; }
    let base = finite(best.value);
    var all = neutral();
    for (var row = 0u; row < rows; row++) {
        var place = row_place(region, src, row);
        var line = neutral();
        for (var texel = 0u; texel < texels; texel++) {
            line = joined(line, counted_term(read_input(src, place.texel), base, src, place.slice, across));
            place = next_place(region, src, place);
        }
        all = joined(all, line);
    }
    return result_of(joined_across(all, across), base);
}
