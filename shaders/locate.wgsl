// Places that have a flag, found by running sums: a row of the first operand has the sums of its own flags, and the
// second operand those of whole rows. One texel an invocation, which searches for four places at once.

// The highest power of two that is not above a number.
fn leading(number: u32) -> u32 { return 1u << firstLeadingBit(number); }

// The number of rows whose flags are all in front of the places `numbers`.
fn rows_before(ends: Tensor, numbers: vec4<f32>) -> vec4<u32> {
    var found = vec4(0u);
    for (var step = leading(ends.c); step > 0u; step >>= 1u) {
        let next = found + step;
        // Rows beyond the last one read its sum, and are not counted.
        let last = min(next, vec4(ends.c)) - 1u;
        let sums = vec4(end_of(ends, last.x), end_of(ends, last.y), end_of(ends, last.z), end_of(ends, last.w));
        found = select(found, next, (next <= vec4(ends.c)) & (sums <= numbers));
    }
    return found;
}

// The flags up to the end of a row.
fn end_of(ends: Tensor, row: u32) -> f32 {
    return read_second(ends, texel_of(ends, 0u, row >> 2u, 0u))[row & 3u];
}

// The flags in front of a row.
fn before(ends: Tensor, row: u32) -> f32 {
    return select(end_of(ends, max(row, 1u) - 1u), 0.0, row == 0u);
}

fn sum_at(sums: Tensor, row: u32, place: u32) -> f32 {
    return read_input(sums, texel_of(sums, row, place >> 2u, 0u))[place & 3u];
}

// The number of places of each row that are in front of its places `numbers`.
fn places_before(sums: Tensor, rows: vec4<u32>, numbers: vec4<f32>) -> vec4<u32> {
    var found = vec4(0u);
    for (var half = leading(sums.c); half > 0u; half >>= 1u) {
        let next = found + half;
        let last = min(next, vec4(sums.c)) - 1u;
        let own = vec4(
            sum_at(sums, rows.x, last.x), sum_at(sums, rows.y, last.y),
            sum_at(sums, rows.z, last.z), sum_at(sums, rows.w, last.w));
        found = select(found, next, (next <= vec4(sums.c)) & (own <= numbers));
    }
    return found;
}

fn compute(dst: Tensor, o: OutputTexel) -> vec4<f32> {
    let sums = input_tensor();
    let ends = second_tensor();
    let numbers = vec4<f32>(channels_of(o.slice));
    let found = rows_before(ends, numbers);
    // Results behind the last flag have no row.
    let rows = min(found, vec4(sums.h - 1u));
    let earlier = vec4(before(ends, rows.x), before(ends, rows.y), before(ends, rows.z), before(ends, rows.w));
    let places = rows * sums.c + places_before(sums, rows, numbers - earlier);
    let last = vec4(dst.c - 1u);
    return vec4<f32>(select(min(places, last), last, found > rows));
}
