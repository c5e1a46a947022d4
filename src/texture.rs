//! Where the values of inputs and outputs lie in textures, so that a shader of the caller's can write an input and read
//! an output.
//!
//! Each input and each output has a texture of its own, whole, for as long as a session uses it. A
//! [`TextureLayout`](crate::TextureLayout) says of one of them how its texture is made, where each element
//! lies, and the same [in WGSL](crate::TextureLayout::wgsl). This page says why.
//!
//! # The layout
//!
//! The extents of what lies in the texture are `[B, H, W, C]`. Four channels of a pixel are a texel, and all texels of
//! an image row that hold the same four channels are a *slice*.
//!
//! | what | where |
//! |---|---|
//! | slices `S` | `ceil(C / 4)` |
//! | channel `c` | slice `s = c / 4`, lane `c % 4` (0 is `x` or red, 3 is `w` or alpha) |
//! | row `y` of image `b` | row `r = b * H + y` of the tensor, `S * W` texels |
//! | texel of pixel `x` and slice `s` in row `r` | `i = r * S * W + s * W + x` |
//! | place of texel `i` in the texture | column `i % width`, row `i / width` |
//! | width of the texture | 256; the next powers of two while the texture would be higher than the device allows |
//! | height of the texture | `ceil(B * H * S * W / width)` |
//! | lanes behind the last channel | **zero**: whoever writes an input stores zeros there, an output has zeros there |
//! | texels behind the last | anything: in the last row of the texture, never read and never written |
//!
//! With `C` of at most 4 an image of `W` by `H` is therefore its pixels row by row, wrapped every 256 texels. The
//! texture has not the shape of the image: neighbours in the one are not neighbours in the other.
//!
//! # The model's extents and the texture's
//!
//! `TextureLayout::dims` are the extents that the model states, and index what `position`, `pack` and `unpack` take;
//! `TextureLayout::shape` is what lies in the texture. They differ where
//!
//! - there are fewer axes than four: then the shape has ones in front, so that `[1000]` lies as `[1, 1, 1, 1000]`;
//! - an ONNX model has its axes in another order: images of `[1, 3, 224, 224]` mostly lie as `[1, 224, 224, 3]`, as the
//!   operator wants them that reads them first;
//! - the last operator of a model only reshapes, which moves nothing and so is not run. Then what lies in the texture
//!   is what went into the reshape.
//!
//! The last is so of BlazeFace as an `.onnx` file (`blazeface_onnx_front` in the catalogue). Its output `Identity:0`
//! has the dims `[1, 512, 1]`, and is a convolution's result of `[1, 16, 16, 2]`: two scores for each cell of a grid.
//! So `S` is 1, a row of the grid is 16 texels, and all 256 texels are one row of a texture that is 256 wide and 1
//! high. Element `[0, 301, 0]` is channel `301 % 2 = 1` of pixel `301 / 2 = 150`, which is column 6 of row 9, and so
//! texel `9 * 16 + 6 = 150`: it is the second lane in column 150 of row 0. The third and fourth lane of each texel are
//! zero.
//!
//! # Values
//!
//! Texels are floats of 32 or 16 bits, or words that are the bits of 32-bit floats (`TextureLayout::format`), whatever type
//! the model states: integers are stored by value, truth values as 0
//! and 1, and of a TensorFlow Lite tensor that is quantised the reals that its integers stand for. Whole numbers are
//! exact up to 2^24 in 32 bits and up to 2^11 in 16. Stored from a shader, what is beyond 65504 in 16 bits may become
//! an infinity. There are between one and 2^31 elements.
//!
//! # Textures
//!
//! Inputs and outputs are storage textures: `STORAGE_BINDING` is needed, beside what the caller does with them.
//!
//! | to | usage |
//! |---|---|
//! | write from a compute shader | `STORAGE_BINDING` |
//! | write from the host, or copy into | `COPY_DST` |
//! | read in a shader by `textureLoad` | `TEXTURE_BINDING` |
//! | copy out of | `COPY_SRC` |
//! | draw into, a texel a pixel | `RENDER_ATTACHMENT` |
//!
//! Each is of two dimensions, with one layer, one mip level and one sample, exactly as large as the layout says.
//! `TextureLayout::descriptor` makes it so and `TextureLayout::check` looks. A 32-bit float texture is not filterable
//! in core WebGPU: bound for reading it is `TextureSampleType::Float { filterable: false }` and has no sampler.
//! Filtering would mix texels that are no neighbours, in either format.
//!
//! No step may read and write the same texture, so an output's is not that of an input. Two inputs may have one texture
//! between them, two outputs may not.
//!
//! # A shader that writes an input
//!
//! Pixels of a picture texture go into an input of `[1, height, width, 3]`. `TextureLayout::wgsl("image")` is put in
//! front of:
//!
#![doc = concat!("```wgsl\n", include_str!("../shaders/callers/write_image.wgsl"), "```")]
//!
//! # A shader that reads an output
//!
//! `TextureLayout::wgsl("scores")` is put in front of:
//!
#![doc = concat!("```wgsl\n", include_str!("../shaders/callers/read_scores.wgsl"), "```")]
//!
//! The tests compile and run both.

/// WGSL for shaders that serve several layouts, or are told extents when they run: the functions that
/// [`TextureLayout::wgsl`](crate::TextureLayout::wgsl) writes for one layout, with extents and width as
/// parameters. Put it in front of the shader.
///
#[doc = concat!("```wgsl\n", include_str!("../shaders/callers/layout.wgsl"), "```")]
pub const WGSL: &str = include_str!("../shaders/callers/layout.wgsl");
