// Winograd's transform of the input of a 3 by 3 convolution of stride 1. A tile gives TILE by TILE pixels of the
// convolution and reads EDGE = TILE + 2 rows and columns; neighbouring tiles overlap by two.
// An invocation transforms a slice of one tile: its EDGE * EDGE results are as many groups of channels of one pixel.

struct Params {
    padding: vec2<u32>,   // above and on the left
}

// The product of the matrix B^T with a line.
fn transformed(v: Line) -> Line {
    var t: Line;
    if TILE == 2u {
        t.a = v.a - v.c;
        t.b = v.b + v.c;
        t.c = v.c - v.b;
        t.d = v.b - v.d;
    } else {
        let even = v.e - 4.0 * v.c;
        let odd = v.d - 4.0 * v.b;
        let even_half = v.e - v.c;
        let odd_half = 2.0 * (v.d - v.b);
        t.a = 4.0 * v.a - 5.0 * v.c + v.e;
        t.b = even + odd;
        t.c = even - odd;
        t.d = even_half + odd_half;
        t.e = even_half - odd_half;
        t.f = 4.0 * v.b - 5.0 * v.d + v.f;
    }
    return t;
}

// A slice of a pixel of the tile, zero outside of the image. Both coordinates wrap below zero to beyond any extent.
fn pixel(src: Tensor, image: u32, slice: u32, y: u32, x: u32) -> vec4<f32> {
    let inside = y < src.h && x < src.w;
    let texel = texel_of(src, image + select(0u, y, inside), slice, select(0u, x, inside));
    return select(vec4(0.0), read_input(src, texel), inside);
}

// A column of the tile, transformed.
fn column(src: Tensor, image: u32, slice: u32, y: u32, x: u32) -> Line {
    var v: Line;
    v.a = pixel(src, image, slice, y, x);
    v.b = pixel(src, image, slice, y + 1u, x);
    v.c = pixel(src, image, slice, y + 2u, x);
    v.d = pixel(src, image, slice, y + 3u, x);
    if TILE > 2u {
        v.e = pixel(src, image, slice, y + 4u, x);
        v.f = pixel(src, image, slice, y + 5u, x);
    }
    return transformed(v);
}

// Stores the transformed row `i` of a tile.
fn store_row(dst: Tensor, src: Tensor, at: vec3<u32>, i: u32, v: Line) {
    let t = transformed(v);
    let first = i * (TILE + 2u) * src.slices + at.z;
    store_output(dst, at.x, at.y, first, t.a);
    store_output(dst, at.x, at.y, first + src.slices, t.b);
    store_output(dst, at.x, at.y, first + 2u * src.slices, t.c);
    store_output(dst, at.x, at.y, first + 3u * src.slices, t.d);
    if TILE > 2u {
        store_output(dst, at.x, at.y, first + 4u * src.slices, t.e);
        store_output(dst, at.x, at.y, first + 5u * src.slices, t.f);
    }
}

@compute @workgroup_size(LANES)
fn main(@builtin(global_invocation_id) global: vec3<u32>) {
    let id = begin(global);
    let dispatch = dispatch_params();
    let dst = output_tensor();
    let src = input_tensor();
    let padding = params().padding;
    if id >= dispatch.items { return; }
    // Row of tiles, column of tiles, slice of the input.
    let tile = divided(id, dst.w);
    let line = divided(tile.quotient, src.slices);
    let at = vec3(dispatch.first_row + line.quotient, tile.rest, line.rest);
    let tile_row = divided(at.x, dst.h);
    let image = tile_row.quotient * src.h;
    let y = tile_row.rest * TILE - padding.x;
    let x = at.y * TILE - padding.y;
    let c0 = column(src, image, at.z, y, x);
    let c1 = column(src, image, at.z, y, x + 1u);
    let c2 = column(src, image, at.z, y, x + 2u);
    let c3 = column(src, image, at.z, y, x + 3u);
    var c4: Line;
    var c5: Line;
    if TILE > 2u {
        c4 = column(src, image, at.z, y, x + 4u);
        c5 = column(src, image, at.z, y, x + 5u);
    }
    store_row(dst, src, at, 0u, Line(c0.a, c1.a, c2.a, c3.a, c4.a, c5.a));
    store_row(dst, src, at, 1u, Line(c0.b, c1.b, c2.b, c3.b, c4.b, c5.b));
    store_row(dst, src, at, 2u, Line(c0.c, c1.c, c2.c, c3.c, c4.c, c5.c));
    store_row(dst, src, at, 3u, Line(c0.d, c1.d, c2.d, c3.d, c4.d, c5.d));
    if TILE > 2u {
        store_row(dst, src, at, 4u, Line(c0.e, c1.e, c2.e, c3.e, c4.e, c5.e));
        store_row(dst, src, at, 5u, Line(c0.f, c1.f, c2.f, c3.f, c4.f, c5.f));
    }
}
