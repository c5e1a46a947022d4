//! Size and format of the texture of an input or output.

use texpool_ops::graph::Tensor;
use texpool_plan::{TexelFormat, TextureSpec};

/// Returns the texture for a graph input or output. It holds the whole tensor, row after row from the first texel. It is 256
/// texels wide, or wider if the height would exceed `max_extent`.
pub fn io_texture(tensor: &Tensor, format: TexelFormat, max_extent: u32) -> TextureSpec {
    let texels = tensor.texels();
    let mut width = 256u64;
    while texels.div_ceil(width) > u64::from(max_extent) && width * 2 <= u64::from(max_extent) {
        width *= 2;
    }
    let height = u32::try_from(texels.div_ceil(width)).unwrap_or(u32::MAX);
    TextureSpec { width: width as u32, height, format }
}
