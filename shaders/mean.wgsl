// Mean over any axes: row by row, within a row from left to right. One texel of the result an invocation.
// Where both W and rows are reduced it is the mean of the rows' means, each as if it had been stored: a mean of rows
// that was computed row by row is then the same to the bit. The mean of a row is rounded before it is stored, too, for
// devices round as they like.
// Own words: 8  whether B, H, W, C are reduced
//            9  as the bits of a float: how many values make one, how many of them in a row; 1 where it is of both, 2 where it is of W.

// The indices `.x..<.y` of an axis that make one of the result.
fn span(reduced: u32, index: u32, extent: u32) -> vec2<u32> {
    return select(vec2(index, index + 1u), vec2(0u, extent), reduced != 0u);
}

@compute @workgroup_size(LANES)
fn main(@builtin(global_invocation_id) global: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>) {
    let id = begin(global, group);
    if id >= param(0u).x { return; }
    let dst = output_tensor();
    let src = input_tensor();
    let reduced = param(8u);
    let row_texels = dst.slices * dst.w;
    let row = param(0u).y + id / row_texels;
    let slice = (id % row_texels) / dst.w;
    let ox = (id % row_texels) % dst.w;
    let batches = span(reduced.x, row / dst.h, src.b);
    let lines = span(reduced.y, row % dst.h, src.h);
    let pixels = span(reduced.z, ox, src.w);
    let slices = span(reduced.w, slice, src.slices);
    let values = param(9u);
    var sum = vec4(0.0);
    for (var b = batches.x; b < batches.y; b++) {
        for (var y = lines.x; y < lines.y; y++) {
            let start = row_start(src, b * src.h + y);
            var line = vec4(0.0);
            for (var x = pixels.x; x < pixels.y; x++) {
                for (var s = slices.x; s < slices.y; s++) {
                    line += read_input(src, start + s * src.pitch + x);
                }
            }
            if values.z == 1u { line = stored(line / bitcast<f32>(values.y)); }
            sum += line;
        }
    }
    // Lanes past the last channel are zero, so all four may be added.
    if reduced.w != 0u { sum = vec4((sum.x + sum.y) + (sum.z + sum.w), 0.0, 0.0, 0.0); }
    var mean = sum / bitcast<f32>(values.x);
    if values.z == 2u { mean = stored(mean); }
    store_output(dst, row, ox, slice, mean);
}
