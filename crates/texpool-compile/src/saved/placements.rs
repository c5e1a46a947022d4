//! Reads and writes textures and the locations of each tensor's rows in them.

use super::{
    bytes::{Reader, Writer},
    error::SavedPlanError,
};
use texpool_plan::{Plan, RowTable, TensorRows, TexelFormat, TextureLimits, TextureSpec};

/// Number and codes of the kinds of row tables.
const FORMS: usize = 3;
const WHOLE: usize = 0;
const RING: usize = 1;
const SCATTERED: usize = 2;

pub(super) fn write(writer: &mut Writer, plan: &Plan) {
    writer.count(plan.textures.len());
    for texture in &plan.textures {
        writer.number(u64::from(texture.shift()));
        writer.number(u64::from(texture.height));
    }
    for placement in &plan.placements {
        let form = match placement.rows {
            RowTable::Whole { .. } => WHOLE,
            RowTable::Ring { .. } => RING,
            RowTable::Scattered { .. } => SCATTERED,
        };
        writer.count(placement.texture * FORMS + form);
        match &placement.rows {
            RowTable::Whole { base, .. } => writer.number(u64::from(*base)),
            RowTable::Ring { base, ring, .. } => {
                writer.number(u64::from(*base));
                writer.number(u64::from(*ring));
            }
            RowTable::Scattered { row_starts, row_texels } => scattered(writer, row_starts, *row_texels),
        }
    }
}

/// Writes runs of adjacent rows: the length of each run, and its distance from the end of the previous run.
fn scattered(writer: &mut Writer, starts: &[u32], row_texels: u32) {
    let mut end = 0;
    for run in starts.chunk_by(|a, b| i64::from(*b) == i64::from(*a) + i64::from(row_texels)) {
        writer.count(run.len());
        for start in run.first().into_iter().map(|&start| i64::from(start)) {
            writer.signed(start - end);
            end = start + i64::from(row_texels) * run.len() as i64;
        }
    }
}

/// The textures, and the texture index and row table of each record.
pub(super) struct Places {
    pub(super) textures: Vec<TextureSpec>,
    pub(super) places: Vec<(usize, RowTable)>,
}

/// Properties of tensors and textures that are known before reading.
pub(super) struct PlacementLimits<'a> {
    pub(super) tensors: &'a [TensorRows],
    /// True if every tensor is stored as one contiguous block of rows.
    pub(super) whole: bool,
    pub(super) format: TexelFormat,
    pub(super) limits: TextureLimits,
}

/// Reads the output of [`write()`]. Verifies that row locations fit in 32 bits and that the textures are not larger
/// than the tensors require. The checkers verify later that rows fit in their textures.
pub(super) fn read(reader: &mut Reader<'_>, limits: &PlacementLimits<'_>) -> Result<Places, SavedPlanError> {
    let tensors = limits.tensors;
    let textures = textures(reader, limits)?;
    let mut places = Vec::with_capacity(tensors.len());
    for tensor in tensors {
        let number = reader.at_most(usize::MAX, "there cannot be so many textures")?;
        let (texture, form) = (number / FORMS, number % FORMS);
        if texture >= textures.len() {
            return Err(reader.damaged("there is no such texture"));
        }
        if limits.whole && form != WHOLE {
            return Err(reader.damaged("with whole tensors the rows of a tensor lie one after another"));
        }
        places.push((texture, table(reader, form, *tensor)?));
    }
    Ok(Places { textures, places })
}

fn textures(reader: &mut Reader<'_>, limits: &PlacementLimits<'_>) -> Result<Vec<TextureSpec>, SavedPlanError> {
    let &PlacementLimits { tensors, format, limits: TextureLimits { max_extent }, .. } = limits;
    let count = reader.count()?;
    if count > tensors.len() {
        return Err(reader.damaged("there are more textures than tensors"));
    }
    // Rounding up to whole rows adds less than one row per texture; without it, textures never need more than all
    // tensors side by side.
    let mut most: u64 = tensors.iter().map(TensorRows::texels).fold(0, u64::saturating_add);
    let mut textures = Vec::with_capacity(count);
    for texture in 0..count {
        let width = 1 << reader.at_most(31, "a texture is wider than 32 bits count")?;
        let height = reader.word()?;
        if width > max_extent || height > max_extent {
            return Err(SavedPlanError::Limits { texture, width, height, max_extent });
        }
        let needed = u64::from(width) * u64::from(height.saturating_sub(1));
        most = most.checked_sub(needed).ok_or_else(|| reader.damaged("the textures are larger than all tensors"))?;
        textures.push(TextureSpec { width, height, format });
    }
    Ok(textures)
}

fn table(reader: &mut Reader<'_>, form: usize, tensor: TensorRows) -> Result<RowTable, SavedPlanError> {
    let TensorRows { rows, row_texels } = tensor;
    // Even the start of an unused row is added up, so it must not overflow.
    let far = "a row lies further than 32 bits count";
    if form == SCATTERED {
        return Ok(RowTable::Scattered { row_starts: row_starts(reader, tensor, far)?, row_texels });
    }
    let base = reader.word()?;
    let (table, stored_rows) = if form == RING {
        let ring = reader.word()?;
        if ring == 0 || ring > rows {
            return Err(reader.damaged("a ring has no rows, or more than its tensor"));
        }
        (RowTable::Ring { base, rows, row_texels, ring }, ring)
    } else {
        (RowTable::Whole { base, rows, row_texels }, rows)
    };
    match u64::from(base) + u64::from(stored_rows) * u64::from(row_texels) > u64::from(u32::MAX) {
        true => Err(reader.damaged(far)),
        false => Ok(table),
    }
}

fn row_starts(reader: &mut Reader<'_>, tensor: TensorRows, far: &'static str) -> Result<Vec<u32>, SavedPlanError> {
    let TensorRows { rows, row_texels } = tensor;
    let (mut starts, mut end) = (Vec::new(), 0i64);
    while starts.len() < rows as usize {
        let run = reader.at_most(rows as usize - starts.len(), "a tensor has fewer rows")?;
        let start = end.checked_add(reader.signed()?).filter(|start| (0..=i64::from(u32::MAX)).contains(start));
        let start = start.ok_or_else(|| reader.damaged(far))?;
        if run == 0 {
            return Err(reader.damaged("no row lies there"));
        }
        for row in 0..run as i64 {
            let start = start + row * i64::from(row_texels);
            end = start + i64::from(row_texels);
            let fits = u32::try_from(end).and_then(|_| u32::try_from(start));
            starts.push(fits.map_err(|_| reader.damaged(far))?);
        }
    }
    Ok(starts)
}
