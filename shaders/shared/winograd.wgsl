// Lines of the tiles of Winograd's algorithm.

// Height and width of a tile of the result in pixels: 2 or 4.
override TILE: u32 = 2u;

// A column or a row of the pixels that a tile reads, or of its products. The last two are zero where TILE is 2.
struct Line {
    a: vec4<f32>,
    b: vec4<f32>,
    c: vec4<f32>,
    d: vec4<f32>,
    e: vec4<f32>,
    f: vec4<f32>,
}
