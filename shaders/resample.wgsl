// Resize by tables: each row and each column of the result is made of TAPS neighbours of the input, by parts.
// One texel an invocation.
// Own words: 8  where the tables begin: first row, first column (as signed bits, four in each word), parts of the rows,
//            parts of the columns (one word for each place); 9  what lies outside, as bits.
// 1, 2 or 4.
override TAPS: u32 = 2u;
// Whether a place may lie outside the image.
override OUTSIDE: bool = false;

const NOWHERE: i32 = -2147483647 - 1;

// Number `i` of the table of single words that begins at `at`.
fn number(at: u32, i: u32) -> i32 {
    return bitcast<i32>(param(at + (i >> 2u))[i & 3u]);
}

fn held(i: i32, extent: u32) -> u32 {
    return u32(clamp(i, 0, i32(extent) - 1));
}

@compute @workgroup_size(LANES)
fn main(@builtin(global_invocation_id) global: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>) {
    let id = begin(global, group);
    if id >= param(0u).x { return; }
    let dst = output_tensor();
    let src = input_tensor();
    let tables = param(8u);
    let row_texels = dst.slices * dst.w;
    let row = param(0u).y + id / row_texels;
    let slice = (id % row_texels) / dst.w;
    let ox = (id % row_texels) % dst.w;
    let oy = row % dst.h;
    let image = (row / dst.h) * src.h;
    let top = number(tables.x, oy);
    let left = number(tables.y, ox);
    var value = vec4(0.0);
    if OUTSIDE && (top == NOWHERE || left == NOWHERE) {
        value = vec4(bitcast<f32>(param(9u).x));
    } else if TAPS == 1u {
        value = read_input(src, row_start(src, image + held(top, src.h)) + slice * src.pitch + held(left, src.w));
    } else {
        let rows = bitcast<vec4<f32>>(param(tables.z + oy));
        let columns = bitcast<vec4<f32>>(param(tables.w + ox));
        for (var j = 0u; j < TAPS; j++) {
            let start = row_start(src, image + held(top + i32(j), src.h)) + slice * src.pitch;
            var line = vec4(0.0);
            for (var i = 0u; i < TAPS; i++) {
                line += columns[i] * read_input(src, start + held(left + i32(i), src.w));
            }
            value += rows[j] * line;
        }
    }
    store_output(dst, row, ox, slice, value);
}
