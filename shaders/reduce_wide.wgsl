// Reductions of very many texels to one of the result, means too. A workgroup for each: a lane takes every LANES-th texel,
// and the lanes' parts are put together in an order that never changes.

struct Params {
    reduced: vec4<u32>,   // whether B, H, W, C are
    divisor: f32,         // of a mean
}

var<workgroup> values: array<vec4<f32>, LANES>;
var<workgroup> indices: array<vec4<u32>, LANES>;

// Texel `i` of the region: pixels first, then slices, rows, batches.
fn place_of(region: Region, src: Tensor, i: u32) -> RegionTexel {
    let pixels = region.pixels.y - region.pixels.x;
    let slices = region.slices.y - region.slices.x;
    let pixel = divided(i, pixels);
    let slice = divided(pixel.quotient, slices);
    let first = row_place(region, src, slice.quotient);
    let texel = first.texel + slice.rest * src.pitch + pixel.rest;
    return RegionTexel(texel, first.b, first.y, first.x + pixel.rest, first.slice + slice.rest);
}

@compute @workgroup_size(LANES)
fn main(
    @builtin(global_invocation_id) global: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    // Every lane reaches every barrier: a group beyond the last texel repeats it and stores nothing.
    let id = begin(global);
    let dispatch = dispatch_params();
    let args = params();
    let dst = output_tensor();
    let src = input_tensor();
    let o = output_texel(dst, dispatch.first_row, min(id, dispatch.items - 1u) / LANES);
    let region = region_of(args.reduced, src, o);
    let across = args.reduced.w != 0u;
    let texels = rows_of(region) * row_texels_of(region);

    var best = begin_best(read_input(src, row_place(region, src, 0u).texel), across);
    if looks_for_best() {
        for (var best_texel = lane; best_texel < texels; best_texel += LANES) {
            let place = place_of(region, src, best_texel);
            best = best_with(best, read_input(src, place.texel), src, place, args.reduced);
        }
        values[lane] = best.value;
        indices[lane] = best.index;
        workgroupBarrier();
        for (var best_lane = 0u; best_lane < LANES; best_lane++) {
            best = choose(best, Best(values[best_lane], indices[best_lane]));
        }
        best = best_across(best, across);
        workgroupBarrier();
    }
    let base = finite(best.value);
    var all = neutral();
    if adds_up() {
        for (var texel = lane; texel < texels; texel += LANES) {
            let place = place_of(region, src, texel);
            all = joined(all, counted_term(read_input(src, place.texel), base, src, place.slice, across));
        }
        values[lane] = all;
        workgroupBarrier();
        all = neutral();
        for (var part = 0u; part < LANES; part++) { all = joined(all, values[part]); }
        all = result_of(joined_across(all, across), base);
    }
    if lane != 0u || id >= dispatch.items { return; }
    var value = select(all, best.value, is_extremum());
    if is_index() { value = vec4<f32>(best.index); }
    if KIND == REDUCE_MEAN { value = all / args.divisor; }
    store_output(dst, o.row, o.x, o.slice, value);
}
