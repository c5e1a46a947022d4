//! Positions of an input's or output's elements in its texture.

use texpool_compile::io_texture;
use texpool_gpu::{TextureProblem, lane, pack, texture_format, unpack};
use texpool_ops::graph::{LayoutPermutation, Shape, Tensor, TexelStorage};
use texpool_plan::{TexelFormat, TextureSpec};

/// Required format of the texture of an input or output, and the position of each element in it. See
/// [`texture`](crate::texture) for the layout as a whole.
///
/// ```
/// use texpool::{TexelFormat, TextureLayout, graph::{Act, Binary, GraphBuilder}};
///
/// let mut b = GraphBuilder::new("double");
/// let image = b.input("image", &[1, 128, 128, 3])?;
/// let two = b.constant("two", &[1], &[2.0])?;
/// let doubled = b.binary("doubled", Binary::Mul, image, two, Act::None)?;
/// let graph = b.finish(&[doubled])?;
///
/// // The largest texture extent of a device is `device.limits().max_texture_dimension_2d`.
/// let layout = TextureLayout::new(&graph.tensors[image], TexelFormat::Rgba32Float, 8192);
/// // 128 * 128 pixels of one texel each, 256 texels in a row of the texture.
/// assert_eq!((layout.width, layout.height, layout.bytes()), (256, 64, 262_144));
/// // Blue of column 5 in image row 3: texel 3 * 128 + 5 = 389, third lane.
/// assert_eq!(layout.position(&[0, 3, 5, 2]), Some((133, 1, 2)));
/// # Ok::<(), texpool::graph::BuildError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TextureLayout {
    /// `Rgba32Float`, or `Rgba16Float` if the model runs on 16-bit floats. If every run uploads weights of fewer bits,
    /// `Rgba32Uint`, which contains the bits of 32-bit floats. `Rgba8Uint` for texels of bytes.
    pub format: wgpu::TextureFormat,
    /// Texels per row of the texture: a power of two, 256 unless the texture would then be too high for the device.
    pub width: u32,
    /// Rows of the texture.
    pub height: u32,
    /// Extents of the tensor in the texture, `[B, H, W, C]`. They may differ from [`dims`](Self::dims) in the number
    /// and the order of axes; [`position`](Self::position) maps one to the other.
    pub shape: [u32; 4],
    /// Extents as the model states them.
    pub dims: Vec<usize>,
    /// Representation of four values. An 8-bit input or output is a texture of its integers if texels are bytes: the
    /// integers themselves if unsigned, 128 more if signed.
    pub storage: TexelStorage,
    /// Maps the model's element order to the order in `shape`.
    pub(super) permutation: LayoutPermutation,
}

impl TextureLayout {
    /// Returns the layout of an input or output in a texture of `format` on a device whose textures may be `max_extent`
    /// texels wide and high.
    ///
    /// `tensor` must come from the executed graph (`CompiledModel::graph`), because rewriting a model may change the
    /// extents in the texture. If an input or output is too large for the device, the height exceeds `max_extent`.
    pub fn new(tensor: &Tensor, format: TexelFormat, max_extent: u32) -> Self {
        let TextureSpec { width, height, format } = io_texture(tensor, format, max_extent);
        Self {
            format: texture_format(format),
            width,
            height,
            shape: tensor.shape.dims().map(|extent| u32::try_from(extent).unwrap_or(u32::MAX)),
            dims: tensor.dims.clone(),
            storage: tensor.storage,
            permutation: tensor.host_permutation.clone(),
        }
    }

    /// Returns the descriptor of a texture that can be used as the input or output. `usage` lists the caller's own
    /// uses; `STORAGE_BINDING`, which texpool needs, is added.
    ///
    /// ```
    /// use texpool::{TexelFormat, TextureLayout, graph::{Shape, Tensor}, wgpu::TextureUsages};
    ///
    /// let image = Tensor::new("image", Shape::new(1, 128, 128, 3));
    /// let layout = TextureLayout::new(&image, TexelFormat::Rgba16Float, 8192);
    /// let descriptor = layout.descriptor(TextureUsages::COPY_DST);
    /// assert_eq!((descriptor.size.width, descriptor.size.height), (256, 64));
    /// assert_eq!(descriptor.usage, TextureUsages::COPY_DST | TextureUsages::STORAGE_BINDING);
    /// ```
    pub fn descriptor(&self, usage: wgpu::TextureUsages) -> wgpu::TextureDescriptor<'static> {
        wgpu::TextureDescriptor {
            label: None,
            size: wgpu::Extent3d { width: self.width, height: self.height, depth_or_array_layers: 1 },
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format: self.format,
            usage: usage | wgpu::TextureUsages::STORAGE_BINDING,
            view_formats: &[],
        }
    }

    /// Checks that a texture matches [`descriptor`](Self::descriptor). Additional usages and view formats are allowed.
    ///
    /// ```no_run
    /// # fn example(layout: &texpool::TextureLayout, camera: &texpool::wgpu::Texture) {
    /// if let Err(problem) = layout.check(camera) {
    ///     eprintln!("the camera's texture cannot be bound: {problem}");
    /// }
    /// # }
    /// ```
    ///
    /// # Errors
    /// The first difference.
    pub fn check(&self, texture: &wgpu::Texture) -> Result<(), TextureProblem> {
        TextureProblem::check(texture, self.spec())
    }

    /// Returns the column, row and lane of the element with these indices, one index for each of [`dims`](Self::dims).
    /// `None` if the number of indices is wrong or an index is out of range.
    pub fn position(&self, index: &[usize]) -> Option<(u32, u32, u32)> {
        if index.len() != self.dims.len() || index.iter().zip(&self.dims).any(|(index, extent)| index >= extent) {
            return None;
        }
        let (shape, spec) = self.filled_by(self.dims.iter().product())?;
        let place = self.permutation.place(index.iter().zip(&self.dims).fold(0, |at, (i, extent)| at * extent + i));
        let lane = lane(shape, self.storage, place / shape.c, place % shape.c);
        let texel = (lane / 4) as u32;
        Some((texel % spec.width, texel / spec.width, (lane % 4) as u32))
    }

    /// Returns the bytes per texel: 16 or 8.
    ///
    /// ```
    /// use texpool::{TexelFormat, TextureLayout, graph::{Shape, Tensor}};
    ///
    /// let image = Tensor::new("image", Shape::new(1, 128, 128, 3));
    /// let layout = TextureLayout::new(&image, TexelFormat::Rgba16Float, 8192);
    /// // Bytes of a row of the texture, as `TexelCopyBufferLayout` takes them.
    /// assert_eq!((layout.texel_bytes(), layout.width * layout.texel_bytes()), (8, 2048));
    /// ```
    pub fn texel_bytes(&self) -> u32 {
        self.spec().format.texel_bytes() as u32
    }

    /// Returns the size of the texture in bytes, for `width * height` texels. The size of a row, `width *
    /// texel_bytes()`, is a multiple of 256, as copies between buffers and textures require, so rows follow each other
    /// without gaps.
    pub fn bytes(&self) -> u64 {
        self.spec().bytes()
    }

    /// Converts values in the model's order to the texture's bytes, for `Queue::write_texture`. In 16 bits each value
    /// is rounded to nearest, and finite values beyond 65504 saturate. Unused lanes are zero.
    ///
    /// Returns `None` if the number of values is wrong.
    ///
    /// ```
    /// use texpool::{TexelFormat, TextureLayout, graph::GraphBuilder};
    ///
    /// let mut b = GraphBuilder::new("copy");
    /// let image = b.input("image", &[1, 2, 2, 3])?;
    /// let copy = b.unary("copy", texpool::graph::Unary::Relu, image)?;
    /// let graph = b.finish(&[copy])?;
    /// let layout = TextureLayout::new(&graph.tensors[image], TexelFormat::Rgba32Float, 8192);
    /// let values: Vec<f32> = (0..12u8).map(f32::from).collect();
    /// let bytes = layout.pack(&values).expect("one value per element");
    /// assert_eq!(layout.unpack(&bytes), Some(values));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pack(&self, values: &[f32]) -> Option<Vec<u8>> {
        let (shape, spec) = self.filled_by(values.len())?;
        let mut bytes = vec![0; usize::try_from(spec.bytes()).ok()?];
        pack(&self.permutation.from_file(values), shape, spec.format, self.storage, &mut bytes);
        Some(bytes)
    }

    /// Converts the bytes of the whole texture, row after row without gaps, to values in the model's order.
    ///
    /// Returns `None` if the number of bytes differs from [`bytes`](Self::bytes).
    ///
    /// ```
    /// use texpool::{TexelFormat, TextureLayout, graph::{Shape, Tensor}};
    ///
    /// let scores = Tensor::new("scores", Shape::new(1, 1, 1, 6));
    /// let layout = TextureLayout::new(&scores, TexelFormat::Rgba32Float, 8192);
    /// let mut bytes = vec![0; 256 * 16]; // one row of the texture, copied out of it
    /// bytes[4..8].copy_from_slice(&0.5f32.to_le_bytes());
    /// assert_eq!(layout.unpack(&bytes), Some(vec![0.0, 0.5, 0.0, 0.0, 0.0, 0.0]));
    /// assert_eq!(layout.unpack(&bytes[16..]), None);
    /// ```
    pub fn unpack(&self, bytes: &[u8]) -> Option<Vec<f32>> {
        let (shape, spec) = self.filled_by(self.tensor_shape().checked_len()?)?;
        if bytes.len() as u64 != spec.bytes() {
            return None;
        }
        let mut values = vec![0.0; shape.len()];
        unpack(bytes, shape, spec.format, self.storage, &mut values);
        Some(self.permutation.to_file(&values).into_owned())
    }

    /// Returns the shape of the tensor and the texture's description if the number of values matches and they fit into
    /// the texture. The fields are public, so a caller may have set contradictory values.
    fn filled_by(&self, values: usize) -> Option<(Shape, TextureSpec)> {
        let (shape, spec) = (self.tensor_shape(), self.spec());
        let whole =
            shape.checked_len() == Some(values) && (shape.texels() * self.storage.texels()) as u64 <= spec.texels();
        whole.then_some((shape, spec))
    }

    fn tensor_shape(&self) -> Shape {
        self.shape.map(|extent| extent as usize).into()
    }

    fn spec(&self) -> TextureSpec {
        let format = match self.format {
            wgpu::TextureFormat::Rgba16Float => TexelFormat::Rgba16Float,
            wgpu::TextureFormat::Rgba32Uint => TexelFormat::Rgba32Uint,
            wgpu::TextureFormat::Rgba8Uint => TexelFormat::Rgba8Uint,
            _ => TexelFormat::Rgba32Float,
        };
        TextureSpec { width: self.width, height: self.height, format }
    }
}
