//! Texture layout of inputs and outputs, for callers whose own shaders write an input or read an output.
//!
//! Each input and each output has its own complete texture for as long as a session uses it. A
//! [`TextureLayout`](crate::TextureLayout) describes one of these textures: how to create it and where each element
//! is stored, on the host and [in WGSL](crate::TextureLayout::wgsl). This page explains the layout.
//!
//! # The layout
//!
//! The tensor stored in the texture has the extents `[B, H, W, C]`. A texel holds four channels of a pixel, and all
//! texels of an image row that hold the same four channels are a *slice*.
//!
//! | item | place |
//! |---|---|
//! | slices `S` | `ceil(C / 4)` |
//! | channel `c` | slice `s = c / 4`, lane `c % 4` (0 is `x` or red, 3 is `w` or alpha) |
//! | row `y` of image `b` | row `r = b * H + y` of the tensor, `S * W` texels |
//! | texel of pixel `x` and slice `s` in row `r` | `i = r * S * W + s * W + x` |
//! | place of texel `i` in the texture | column `i % width`, row `i / width` |
//! | width of the texture | 256; doubled while the texture would be higher than the device allows |
//! | height of the texture | `ceil(B * H * S * W / width)` |
//! | lanes after the last channel | **zero**: callers store zeros there in inputs; outputs have zeros there |
//! | texels after the last | undefined: in the last row of the texture, never read and never written |
//!
//! With `C` of at most 4, an image of `W` by `H` is therefore stored pixel by pixel, row after row, wrapped every 256
//! texels. The texture does not have the shape of the image: pixels that are neighbours in the image are not always
//! neighbours in the texture.
//!
//! # The model's extents and the texture's
//!
//! `TextureLayout::dims` holds the extents that the model declares; `position`, `pack` and `unpack` take indices into
//! these. `TextureLayout::shape` holds the extents of the tensor as stored. The two differ in these cases:
//!
//! - The tensor has fewer than four axes: the stored shape gets leading ones, so that `[1000]` is stored as
//!   `[1, 1, 1, 1000]`.
//! - An ONNX model orders its axes differently: images of `[1, 3, 224, 224]` are mostly stored as `[1, 224, 224, 3]`,
//!   the order that the first operator to read them needs.
//! - The last operator of a model only reshapes. A reshape moves no data and so is not run; the texture holds the
//!   input of the reshape.
//!
//! BlazeFace as an `.onnx` file is an example of the last case (`blazeface_onnx_front` in the catalogue). Its output
//! `Identity:0` has the dims `[1, 512, 1]`, but the texture holds a convolution's result of `[1, 16, 16, 2]`: two
//! scores for each cell of a grid. So `S` is 1, a row of the grid is 16 texels, and all 256 texels form one row of a
//! texture that is 256 wide and 1 high. Element `[0, 301, 0]` is channel `301 % 2 = 1` of pixel `301 / 2 = 150`. That
//! pixel is column 6 of row 9, and so texel `9 * 16 + 6 = 150`: the element is the second lane in column 150 of row
//! 0. The third and fourth lane of each texel are zero.
//!
//! # Values
//!
//! Texels are floats of 32 or 16 bits, or words that are the bits of 32-bit floats (`TextureLayout::format`),
//! whatever type the model declares. Integers are stored by value, and truth values as 0 and 1. A quantised tensor of
//! a TensorFlow Lite model is stored as the reals that its integers stand for. Whole numbers are exact up to 2^24 in
//! 32 bits and up to 2^11 in 16 bits. If a shader stores a value beyond 65504 in a 16-bit texture, the result may be
//! an infinity. A tensor has between one and 2^31 elements.
//!
//! # Textures
//!
//! Inputs and outputs are bound as storage textures, so they need `STORAGE_BINDING` in addition to the usages that
//! the caller's own access needs:
//!
//! | access by the caller | usage |
//! |---|---|
//! | write from a compute shader | `STORAGE_BINDING` |
//! | write from the host, or copy into | `COPY_DST` |
//! | read in a shader by `textureLoad` | `TEXTURE_BINDING` |
//! | copy out of | `COPY_SRC` |
//! | draw into, one texel per pixel | `RENDER_ATTACHMENT` |
//!
//! Each texture has two dimensions, one layer, one mip level, one sample and exactly the size that the layout states.
//! `TextureLayout::descriptor` creates such a descriptor and `TextureLayout::check` verifies a texture. A 32-bit
//! float texture is not filterable in core WebGPU: to read it, bind it as
//! `TextureSampleType::Float { filterable: false }`, without a sampler. In either format, filtering would mix
//! texels of unrelated pixels.
//!
//! No step may read and write the same texture, so an output cannot share a texture with an input. Two inputs may
//! share a texture; two outputs may not.
//!
//! # A shader that writes an input
//!
//! To copy pixels of a picture texture into an input of `[1, height, width, 3]`, put `TextureLayout::wgsl("image")`
//! in front of this shader:
//!
#![doc = concat!("```wgsl\n", include_str!("write_image.wgsl"), "```")]
//!
//! # A shader that reads an output
//!
//! Put `TextureLayout::wgsl("scores")` in front of this shader:
//!
#![doc = concat!("```wgsl\n", include_str!("read_scores.wgsl"), "```")]
//!
//! The tests compile and run both.

/// WGSL for shaders that serve several layouts, or that receive extents at run time. It contains the functions that
/// [`TextureLayout::wgsl`](crate::TextureLayout::wgsl) writes for one layout, but with extents and width as
/// parameters. Put it in front of the shader.
///
#[doc = concat!("```wgsl\n", include_str!("layout.wgsl"), "```")]
pub const WGSL: &str = include_str!("layout.wgsl");
