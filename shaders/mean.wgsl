// Mean over any axes: row by row, within a row from left to right. One texel of the result an invocation.
// Where both W and rows are reduced it is the mean of the rows' means, each as if it had been stored: a mean of rows
// that was computed row by row is then the same to the bit. The mean of a row is rounded before it is stored, too, for
// devices round as they like.

struct Params {
    reduced: vec4<u32>,   // whether B, H, W, C are
    divisor: f32,         // how many values make one, of rows' means where there are any
    row_divisor: f32,     // how many of them are in a row
    stored: u32,          // which means are made as if they had been stored
}

fn compute(dst: Tensor, o: OutputTexel) -> vec4<f32> {
    let src = input_tensor();
    let args = params();
    let region = region_of(args.reduced, src, o);
    var sum = vec4(0.0);
    for (var row = 0u; row < rows_of(region); row++) {
        var place = row_place(region, src, row);
        var line = vec4(0.0);
        for (var texel = 0u; texel < row_texels_of(region); texel++) {
            line += read_input(src, place.texel);
            place = next_place(region, src, place);
        }
        if args.stored == STORED_ROW_MEANS { line = stored(line / args.row_divisor); }
        sum += line;
    }
    // Lanes past the last channel are zero, so all four may be added.
    if args.reduced.w != 0u { sum = vec4((sum.x + sum.y) + (sum.z + sum.w), 0.0, 0.0, 0.0); }
    var mean = sum / args.divisor;
    if args.stored == STORED_MEAN { mean = stored(mean); }
    return mean;
}
