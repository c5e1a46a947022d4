//! Converts a layout to textures. Each region becomes a texture whose width is a power of two, so that a kernel finds
//! a texel with a shift and a mask.
//!
//! A region is rounded up to whole rows of its texture. This adds less than one row, so at most 1023 texels with a
//! preferred width.

use super::{
    error::{InputError, LayoutError, PlanError, UnsupportedError},
    layout::Layout,
    placement::{Placement, Plan, RowTable, TexelFormat, TextureSpec},
    record::UsageRecord,
};

/// The rows of one tensor: `B * H` rows of `ceil(C / 4) * W` texels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TensorRows {
    /// Number of rows.
    pub rows: u32,
    /// Texels per row.
    pub row_texels: u32,
}

impl TensorRows {
    /// Returns the texels of the tensor.
    pub const fn texels(&self) -> u64 {
        self.rows as u64 * self.row_texels as u64
    }
}

/// Texture limits of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TextureLimits {
    /// Largest width and largest height (`maxTextureDimension2D`).
    pub max_extent: u32,
}

/// Widths to try first. A wider texture wastes more of its last row, and a narrower one reaches the height limit with
/// fewer texels (8192 rows of 64 are 2^19). A choice, not a measurement.
const PREFERRED: std::ops::RangeInclusive<u32> = 64..=1024;

/// Returns the textures and row tables of a layout whose sizes are in texels. The rows of a tensor follow each other.
///
/// The name of the plan's strategy is set to the name of the problem; the caller may replace it.
///
/// # Errors
/// [`PlanError::Input`] if lists differ in length or if a size does not match the tensor's rows,
/// [`PlanError::Layout`] if a place is outside its region, [`PlanError::Unsupported`] if no texture can hold a
/// region.
///
/// ```
/// use texpool_plan::{Strategy, TensorRows, TexelFormat, TextureLimits, UsageRecord, Uses, check, realize};
///
/// // Two tensors of 16 rows: of 32 texels, and of 16.
/// let tensors = [TensorRows { rows: 16, row_texels: 32 }, TensorRows { rows: 16, row_texels: 16 }];
/// let records = [UsageRecord::new(0, 1, tensors[0].texels()), UsageRecord::new(1, 2, tensors[1].texels())];
/// let layout = Strategy::GreedyBySize.place(&records)?;
///
/// let limits = TextureLimits { max_extent: 8192 };
/// let plan = realize(&layout, &records, &tensors, TexelFormat::Rgba16Float, limits)?;
/// check(&records, &tensors, Uses::FirstAndLast, &plan, limits)?;
/// // 512 and 256 texels of 8 bytes.
/// assert_eq!((plan.textures.len(), plan.bytes()), (2, 6144));
/// # Ok::<(), texpool_plan::PlanError>(())
/// ```
pub fn realize(
    layout: &Layout,
    records: &[UsageRecord],
    tensors: &[TensorRows],
    format: TexelFormat,
    limits: TextureLimits,
) -> Result<Plan, PlanError> {
    for (what, length) in [("places", layout.places.len()), ("tensors", tensors.len())] {
        if length != records.len() {
            return Err(InputError::LengthMismatch { what, expected: records.len(), found: length }.into());
        }
    }
    let textures = layout
        .regions
        .iter()
        .enumerate()
        .map(|(region, &texels)| texture(region, texels, format, limits))
        .collect::<Result<Vec<_>, _>>()?;
    let mut placements = Vec::with_capacity(records.len());
    for (record, ((r, t), place)) in records.iter().zip(tensors).zip(&layout.places).enumerate() {
        let &TensorRows { rows, row_texels } = t;
        if t.texels() != r.size {
            return Err(InputError::SizeMismatch { record, size: r.size, rows, row_texels }.into());
        }
        let Some(&size) = layout.regions.get(place.region) else {
            let count = layout.regions.len();
            return Err(LayoutError::OutOfRange { record, what: "region", index: place.region, count }.into());
        };
        let end = u128::from(place.offset) + u128::from(r.size);
        // `texture` never creates more than 2^32 texels, so an offset inside a texture fits into a u32.
        let base = match u32::try_from(place.offset) {
            Ok(base) if end <= u128::from(size) => base,
            _ => return Err(LayoutError::OutOfRegion { record, region: place.region, end, size }.into()),
        };
        let rows = RowTable::Whole { base, rows, row_texels };
        placements.push(Placement { record, texture: place.region, rows, first: r.first, last: r.last });
    }
    Ok(Plan { strategy: layout.problem.name().to_owned(), problem: layout.problem, textures, placements })
}

/// Returns the number of texels that a driver probably allocates, since software drivers and tiled memories round the
/// height up to a multiple of four rows or more. Ties go to the smaller texture.
fn allocated(spec: &TextureSpec) -> (u64, u64) {
    (u64::from(spec.width) * u64::from(spec.height.next_multiple_of(4)), spec.texels())
}

/// Returns the texture for a region of `texels`: among the preferred widths the one with the fewest allocated texels,
/// then the widest. If none fits, the narrowest that does.
pub(super) fn texture(
    region: usize,
    texels: u64,
    format: TexelFormat,
    limits: TextureLimits,
) -> Result<TextureSpec, PlanError> {
    let max_extent = limits.max_extent;
    let widest = max_extent.checked_ilog2().map_or(0, |log| 1u32 << log);
    let limit = (u64::from(widest) * u64::from(max_extent)).min(u64::from(u32::MAX));
    let too_large = PlanError::Unsupported(UnsupportedError::RegionTooLarge { region, texels, max_extent, limit });
    if texels > limit || limit == 0 {
        return Err(too_large);
    }
    // A small region becomes a single row, rounded up at most to the next power of two.
    let narrowest = texels.max(1).next_power_of_two().min(u64::from(*PREFERRED.start())) as u32;
    let mut best: Option<TextureSpec> = None;
    let mut width = narrowest.min(widest);
    loop {
        let height = texels.div_ceil(u64::from(width)).max(1);
        if height <= u64::from(max_extent) {
            let spec = TextureSpec { width, height: height as u32, format };
            match best {
                Some(best) if width > *PREFERRED.end() || allocated(&spec) > allocated(&best) => {}
                _ => best = Some(spec),
            }
        }
        if width == widest || (best.is_some() && width >= *PREFERRED.end()) {
            return best.ok_or(too_large);
        }
        width *= 2;
    }
}
