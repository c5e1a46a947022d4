//! WGSL functions for the positions of an input's or output's elements.

use std::fmt::Write;

use super::TextureLayout;

impl TextureLayout {
    /// Returns WGSL that locates the elements in the texture, for the caller's shader that writes or reads it. Prepend
    /// it to that shader. For a `prefix` such as `image` it declares the following, with the values of this layout:
    ///
    /// ```wgsl
    /// const image_EXTENTS: vec4<u32>;   // B, H, W, C
    /// const image_SLICES: u32;          // texels of a pixel, four channels each
    /// const image_ELEMENTS: u32;
    /// const image_WIDTH: u32;           // of the texture
    ///
    /// // Column and row of the texel that holds channels 4 * slice to 4 * slice + 3 of a pixel.
    /// fn image_texel(b: u32, y: u32, x: u32, slice: u32) -> vec2<u32>
    ///
    /// // Column, row and lane of element i in the model's order.
    /// fn image_element(i: u32) -> vec3<u32>
    ///
    /// // The value with unused lanes set to zero, as stored values require.
    /// fn image_padded(value: vec4<f32>, slice: u32) -> vec4<f32>
    /// ```
    ///
    /// The caller declares the bindings. The functions do not check that a texel or element exists.
    ///
    /// Texts with different prefixes can be combined in one shader. The prefix is inserted unchanged. If it is not a
    /// valid WGSL identifier, the shader compiler reports an error.
    ///
    /// ```
    /// use texpool::{TexelFormat, TextureLayout, graph::{Shape, Tensor}};
    ///
    /// let image = Tensor::new("image", Shape::new(1, 128, 96, 3));
    /// let wgsl = TextureLayout::new(&image, TexelFormat::Rgba32Float, 8192).wgsl("image");
    /// assert!(wgsl.starts_with("const image_EXTENTS = vec4<u32>(1u, 128u, 96u, 3u);"));
    /// assert!(wgsl.contains("fn image_texel(b: u32, y: u32, x: u32, slice: u32) -> vec2<u32>"));
    /// ```
    pub fn wgsl(&self, prefix: &str) -> String {
        let ([b, h, w, c], width) = (self.shape, self.width);
        let planes = c.div_ceil(4) * self.storage.texels() as u32;
        let (slices, elements) = (c.div_ceil(4), self.dims.iter().product::<usize>());
        format!(
            "const {prefix}_EXTENTS = vec4<u32>({b}u, {h}u, {w}u, {c}u);
const {prefix}_SLICES = {slices}u;
const {prefix}_ELEMENTS = {elements}u;
const {prefix}_WIDTH = {width}u;

fn {prefix}_texel(b: u32, y: u32, x: u32, slice: u32) -> vec2<u32> {{
    let texel = ((b * {h}u + y) * {planes}u + slice) * {w}u + x;
    return vec2<u32>(texel % {width}u, texel / {width}u);
}}

fn {prefix}_element(i: u32) -> vec3<u32> {{
{place}    let pixel = place / {c}u;
    let channel = place % {c}u;
    let row = pixel / {w}u;
    return vec3<u32>({prefix}_texel(row / {h}u, row % {h}u, pixel % {w}u, channel / 4u), channel % 4u);
}}

fn {prefix}_padded(value: vec4<f32>, slice: u32) -> vec4<f32> {{
    let channels = vec4<u32>(0u, 1u, 2u, 3u) + vec4<u32>(4u * slice);
    return select(vec4<f32>(0.0), value, channels < vec4<u32>({c}u));
}}
",
            place = self.place()
        )
    }

    /// Returns statements that compute `place`, the index in `[B, H, W, C]` order of element `i` in the model's order.
    fn place(&self) -> String {
        if self.permutation.is_file_order() {
            return "    let place = i;\n".to_owned();
        }
        let mut text = "    var place = 0u;\n".to_owned();
        for (extent, stride) in self.permutation.axes().into_iter().filter(|&(extent, _)| extent > 1) {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "    place = place * {extent}u + i / {stride}u % {extent}u;");
        }
        text
    }
}
