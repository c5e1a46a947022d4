// Resize by tables: each row and each column of the result is made of TAPS neighbours of the input, by parts.
// One texel an invocation.

struct Params {
    // Groups of params at which the tables begin. Of the first pixels a group holds four, of the parts one.
    first_rows: u32,
    first_columns: u32,
    row_parts: u32,
    column_parts: u32,
    extrapolation: f32,   // what lies outside
}

// 1, 2 or 4.
override TAPS: u32 = 2u;
// True for 8-bit integers with whole weights, whose sums floats could not hold.
override INTEGER: bool = false;
// True if a position may lie outside the image.
override OUTSIDE: bool = false;

// Number `i` of the table of single words that begins at `at`.
fn number(at: u32, i: u32) -> i32 {
    return bitcast<i32>(param(at + (i >> 2u))[i & 3u]);
}

fn held(i: i32, extent: u32) -> u32 {
    return u32(clamp(i, 0, i32(extent) - 1));
}

fn compute(dst: Tensor, o: OutputTexel) -> vec4<f32> {
    let src = input_tensor();
    let args = params();
    let image = o.b * src.h;
    let top = number(args.first_rows, o.y);
    let left = number(args.first_columns, o.x);
    var value = vec4(0.0);
    if OUTSIDE && (bitcast<u32>(top) == NOWHERE || bitcast<u32>(left) == NOWHERE) {
        value = vec4(args.extrapolation);
    } else if TAPS == 1u {
        value = read_input(src, texel_of(src, image + held(top, src.h), o.slice, held(left, src.w)));
    } else {
        let rows = bitcast<vec4<f32>>(param(args.row_parts + o.y));
        let columns = bitcast<vec4<f32>>(param(args.column_parts + o.x));
        var sum = vec4(0i);
        for (var j = 0u; j < TAPS; j++) {
            let start = row_start(src, image + held(top + i32(j), src.h)) + o.slice * src.pitch;
            // ONNX Runtime adds up four products if a resize is linear, and first those of each row if it is cubic.
            var line = vec4(0.0);
            for (var i = 0u; i < TAPS; i++) {
                let pixel = read_input(src, start + held(left + i32(i), src.w));
                let weight = rows[j] * columns[i];
                if INTEGER {
                    sum += i32(weight) * vec4<i32>(pixel);
                } else if TAPS == 2u {
                    value += weight * pixel;
                } else {
                    line += columns[i] * pixel;
                }
            }
            if TAPS == 4u { value += rows[j] * line; }
        }
        if INTEGER { value = vec4<f32>(sum / i32(INTEGER_UNIT)); }
    }
    return value;
}
