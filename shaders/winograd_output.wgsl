// Winograd's transform of products back to the result of a 3 by 3 convolution of stride 1.
// An invocation computes a slice of one tile: TILE by TILE pixels from (TILE + 2)^2 groups of channels of one pixel.

// A column or a row of results. The last two are zero where TILE is 2.
struct Results {
    a: vec4<f32>,
    b: vec4<f32>,
    c: vec4<f32>,
    d: vec4<f32>,
}

// The product of the matrix A^T with a line.
fn transformed(v: Line) -> Results {
    var t: Results;
    let sum = v.b + v.c;
    let difference = v.b - v.c;
    if TILE == 2u {
        t.a = v.a + sum;
        t.b = difference - v.d;
    } else {
        let far_sum = v.d + v.e;
        let far_difference = v.d - v.e;
        t.a = v.a + sum + far_sum;
        t.b = difference + 2.0 * far_difference;
        t.c = sum + 4.0 * far_sum;
        t.d = difference + 8.0 * far_difference + v.f;
    }
    return t;
}

// Column `j` of the tile's products, transformed. `texel` is the first of the tile, `next` from a product to the next.
fn column(src: Tensor, texel: u32, next: u32, j: u32) -> Results {
    let below = (TILE + 2u) * next;
    let first = texel + j * next;
    var v: Line;
    v.a = read_input(src, first);
    v.b = read_input(src, first + below);
    v.c = read_input(src, first + 2u * below);
    v.d = read_input(src, first + 3u * below);
    if TILE > 2u {
        v.e = read_input(src, first + 4u * below);
        v.f = read_input(src, first + 5u * below);
    }
    return transformed(v);
}

// Stores the pixel if it lies in the image.
fn store_pixel(dst: Tensor, row: u32, x: u32, slice: u32, value: vec4<f32>) {
    if x < dst.w { store_output(dst, row, x, slice, value); }
}

// Stores row `y` of the image that begins with row `image`, if it lies in the image and in the dispatch's rows.
fn store_row(dst: Tensor, image: u32, y: u32, x: u32, slice: u32, v: Line) {
    let dispatch = dispatch_params();
    let row = image + y;
    if y >= dst.h || row < dispatch.first_row || row >= dispatch.end_row { return; }
    let t = transformed(v);
    store_pixel(dst, row, x, slice, t.a);
    store_pixel(dst, row, x + 1u, slice, t.b);
    if TILE > 2u {
        store_pixel(dst, row, x + 2u, slice, t.c);
        store_pixel(dst, row, x + 3u, slice, t.d);
    }
}

@compute @workgroup_size(LANES)
fn main(@builtin(global_invocation_id) global: vec3<u32>) {
    let id = begin(global);
    let dispatch = dispatch_params();
    let dst = output_tensor();
    let src = input_tensor();
    if id >= dispatch.items { return; }
    let place = divided(id, src.w);
    let line = divided(place.quotient, dst.slices);
    let tile = place.rest;
    let slice = line.rest;
    let tile_row = dispatch.first + line.quotient;
    let texel = texel_of(src, tile_row, slice, tile);
    let next = dst.slices * src.pitch;
    let c0 = column(src, texel, next, 0u);
    let c1 = column(src, texel, next, 1u);
    let c2 = column(src, texel, next, 2u);
    let c3 = column(src, texel, next, 3u);
    var c4: Results;
    var c5: Results;
    if TILE > 2u {
        c4 = column(src, texel, next, 4u);
        c5 = column(src, texel, next, 5u);
    }
    let in_image = divided(tile_row, src.h);
    let image = in_image.quotient * dst.h;
    let y = in_image.rest * TILE;
    let x = tile * TILE;
    store_row(dst, image, y, x, slice, Line(c0.a, c1.a, c2.a, c3.a, c4.a, c5.a));
    store_row(dst, image, y + 1u, x, slice, Line(c0.b, c1.b, c2.b, c3.b, c4.b, c5.b));
    if TILE > 2u {
        store_row(dst, image, y + 2u, x, slice, Line(c0.c, c1.c, c2.c, c3.c, c4.c, c5.c));
        store_row(dst, image, y + 3u, x, slice, Line(c0.d, c1.d, c2.d, c3.d, c4.d, c5.d));
    }
}
