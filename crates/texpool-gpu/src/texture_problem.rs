//! Reasons why a texture of the caller does not fit an input or output.

use std::fmt;

use super::{TensorRole, texture_format::texture_format};
use texpool_plan::TextureSpec;

/// Mismatch between a texture and an input or output. Formats as a statement about the texture: "its format is
/// Rgba8Unorm".
///
/// ```
/// use texpool::{TensorRole, TextureProblem};
///
/// assert_eq!(TextureProblem::Size { width: 640, height: 480 }.to_string(), "it is 640x480");
/// let problem = TextureProblem::InUse { role: TensorRole::Input, index: 0 };
/// assert_eq!(problem.to_string(), "input 0 lies in it, too");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TextureProblem {
    /// Its format is wrong; this is the actual one.
    Format(wgpu::TextureFormat),
    /// Its dimension is not 2D; this is the actual one.
    Dimension(wgpu::TextureDimension),
    /// Its size is wrong; this is the actual one. A higher texture would have enough room. But most inputs and
    /// outputs are 256 texels wide and differ only in height, so accepting it would hide a mix-up of two tensors.
    Size {
        /// Texels in a row.
        width: u32,
        /// Rows of texels.
        height: u32,
    },
    /// It has this number of layers instead of one.
    Layers(u32),
    /// It has this number of mip levels instead of one.
    MipLevels(u32),
    /// It has this number of samples per texel instead of one.
    Samples(u32),
    /// It lacks these usages.
    Usage(wgpu::TextureUsages),
    /// Another input or output of the session uses the texture, and one of the two is written.
    InUse {
        /// Role of that tensor.
        role: TensorRole,
        /// Its index.
        index: usize,
    },
}

impl TextureProblem {
    /// Checks that a texture matches `spec` and that kernels may use it.
    pub fn check(texture: &wgpu::Texture, spec: TextureSpec) -> Result<(), Self> {
        let (width, height) = (texture.width(), texture.height());
        let lacking = wgpu::TextureUsages::STORAGE_BINDING.difference(texture.usage());
        let found = if texture.format() != texture_format(spec.format) {
            Self::Format(texture.format())
        } else if texture.dimension() != wgpu::TextureDimension::D2 {
            Self::Dimension(texture.dimension())
        } else if (width, height) != (spec.width, spec.height) {
            Self::Size { width, height }
        } else if texture.depth_or_array_layers() != 1 {
            Self::Layers(texture.depth_or_array_layers())
        } else if texture.mip_level_count() != 1 {
            Self::MipLevels(texture.mip_level_count())
        } else if texture.sample_count() != 1 {
            Self::Samples(texture.sample_count())
        } else if !lacking.is_empty() {
            Self::Usage(lacking)
        } else {
            return Ok(());
        };
        Err(found)
    }
}

impl fmt::Display for TextureProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Format(format) => write!(f, "its format is {format:?}"),
            Self::Dimension(dimension) => write!(f, "its dimension is {dimension:?}"),
            Self::Size { width, height } => write!(f, "it is {width}x{height}"),
            Self::Layers(layers) => write!(f, "it has {layers} layers"),
            Self::MipLevels(levels) => write!(f, "it has {levels} mip levels"),
            Self::Samples(samples) => write!(f, "it has {samples} samples a texel"),
            Self::Usage(usages) => {
                let names: Vec<&str> = usages.iter_names().map(|(name, _)| name).collect();
                write!(f, "it lacks the usage {}", names.join(" and "))
            }
            Self::InUse { role, index } => write!(f, "{role} {index} lies in it, too"),
        }
    }
}
