//! Places rows: assigns tensors to textures, then packs the rows of each texture. Does this for several numbers of
//! textures, and keeps the smallest layout.

use super::{
    items::{self, Item},
    live_profile::LiveProfiles,
    pack::pack,
    problem::{RowLayout, RowProblem},
    textures::{Effort, assignments, conflicts, first_assignment},
};
use crate::{
    bounds::{max_breadth, naive_total},
    budget::SearchBudget,
    control::SearchControl,
    error::PlanError,
    record::UsageRecord,
};

/// Numbers of textures to try. A network that needs more gets as many as it needs. A guess.
const MIN_TEXTURES: usize = 2;
const MAX_TEXTURES: usize = 4;
/// Number of assignments to pack for each number of textures: the one with the least peaks does not always pack best.
/// A guess.
const PACKED_ASSIGNMENTS: usize = 3;

/// Places every row of every record. Deterministic, unless `control` stops the search, which then returns the
/// smallest layout found by then. Returns `None` if it is stopped before it has a layout, or if tensors times steps
/// would take too much memory.
///
/// # Errors
/// The errors of [`row_live_ranges`](super::row_live_ranges); [`PlanError::Input`] if the sizes of the rows add up to
/// more than 64 bits can hold.
///
/// ```
/// use texpool_plan::{
///     LivePeak, PoolDrawing, RowLayout, RowProblem, RowStep, RowUse, SearchBudget, SearchControl, TensorRows, TexelFormat,
///     TextureLimits, check_rows, live_row_peak, place_rows, pool_svg, pools_svg, realize_rows,
/// };
///
/// // A tensor of four rows of 8 texels, written by one step and reduced to another row by row.
/// let rows = |record, rows| RowUse { record, rows, texels: 0..8 };
/// let mut steps = vec![RowStep { reads: vec![], writes: vec![rows(0, 0..4)] }];
/// steps.extend((0..4).map(|row| RowStep { reads: vec![rows(0, row..row + 1)], writes: vec![rows(1, row..row + 1)] }));
/// let tensors = [TensorRows { rows: 4, row_texels: 8 }; 2];
/// let problem = RowProblem { tensors: &tensors, whole: &[false; 2], steps: &steps };
/// let layout: RowLayout = place_rows(&problem, SearchBudget::ROWS, &SearchControl::new())?.expect("nothing stops it");
/// // All of the first tensor is alive when the first row of the second is written.
/// assert_eq!(live_row_peak(&problem)?, LivePeak { step: 1, texels: 40 });
/// assert_eq!(layout.total(), 40);
///
/// let limits = TextureLimits { max_extent: 8192 };
/// let plan = realize_rows(&layout, &problem, TexelFormat::Rgba16Float, limits)?;
/// check_rows(&tensors, &[false; 2], &steps, &plan, limits)?;
/// assert_eq!(plan.textures.len(), 2);
/// let names = ["features".into(), "sums".into()];
/// let svg = pool_svg("Two tensors", &names, &tensors, &steps, &plan)?;
/// assert!(svg.contains("sums: 4 rows"));
/// // Plans of the same steps are drawn one below the other.
/// let drawing = |heading| PoolDrawing { heading, names: &names, tensors: &tensors, steps: &steps, plan: &plan };
/// assert!(pools_svg("Twice", &[drawing("before"), drawing("after")])?.contains("after"));
/// # Ok::<(), texpool_plan::PlanError>(())
/// ```
pub fn place_rows(
    problem: &RowProblem<'_>,
    budget: SearchBudget,
    control: &SearchControl<'_>,
) -> Result<Option<RowLayout>, PlanError> {
    let items = items::items(problem)?;
    let usages: Vec<UsageRecord> = items.iter().map(|item| item.usage).collect();
    naive_total(&usages)?;
    let records = problem.tensors.len();
    let Some(profiles) = LiveProfiles::new(records, &items) else { return Ok(None) };
    let conflicts = conflicts(records, problem.steps);
    let first_count = MIN_TEXTURES.min(records.max(1));
    // No layout is smaller than the texels that are alive at one time. On small networks a first assignment often
    // reaches that number, and then no search is necessary.
    let least = max_breadth(&usages);
    for textures in first_count..=MAX_TEXTURES {
        if let Some(first) = first_assignment(&profiles, &conflicts, textures, control)
            && first.bound <= least
        {
            let packing = Packing { packings: 0, below: least.saturating_add(1) };
            let layout = pack_textures(problem, &items, &first.texture_of, packing, control);
            if layout.is_some() {
                return Ok(layout);
            }
        }
    }
    let mut candidates = Vec::new();
    let mut textures = first_count;
    // The loop ends, because an assignment always exists if each tensor gets a separate texture.
    while textures <= MAX_TEXTURES || candidates.is_empty() {
        let moves = budget.moves / (MAX_TEXTURES - MIN_TEXTURES + 1) as u64;
        let effort = Effort { moves, keep: PACKED_ASSIGNMENTS };
        candidates.extend(assignments(&profiles, &conflicts, textures, effort, control));
        textures += 1;
        if control.should_stop() && candidates.is_empty() {
            return Ok(None);
        }
    }
    // Ordered by bound: once a bound is at least as large as the best layout, the remaining assignments need not be
    // packed.
    candidates.sort();
    let packings = (budget.packings / candidates.len().max(1) as u64).max(1);
    let mut best: Option<RowLayout> = None;
    for assigned in &candidates {
        let total = best.as_ref().map_or(u64::MAX, RowLayout::total);
        if assigned.bound >= total {
            break;
        }
        let packing = Packing { packings, below: total };
        let layout = pack_textures(problem, &items, &assigned.texture_of, packing, control);
        best = layout.filter(|layout| layout.total() < total).or(best);
        if control.should_stop() {
            return Ok(best);
        }
    }
    // The first assignment always has a layout, unless no rows are to be placed.
    let starts = problem.tensors.iter().map(|t| vec![0; t.rows as usize]).collect();
    let nothing = RowLayout { textures: Vec::new(), texture_of: vec![0; records], starts };
    Ok(Some(best.unwrap_or(nothing)))
}

/// Number of packings to try, and an exclusive upper limit on the size of the layout.
pub(super) struct Packing {
    pub(super) packings: u64,
    pub(super) below: u64,
}

/// Returns the layout of an assignment, or `None` once its textures cannot add up to less than `below`, or if the
/// search is stopped.
pub(super) fn pack_textures(
    problem: &RowProblem<'_>,
    items: &[Item],
    texture_of: &[usize],
    Packing { packings, below }: Packing,
    control: &SearchControl<'_>,
) -> Option<RowLayout> {
    let textures = texture_of.iter().max().map_or(0, |&most| most + 1);
    let mut starts: Vec<Vec<u64>> = problem.tensors.iter().map(|t| vec![0; t.rows as usize]).collect();
    let mut rows: Vec<Vec<UsageRecord>> = vec![Vec::new(); textures];
    let mut members: Vec<Vec<&Item>> = vec![Vec::new(); textures];
    for item in items {
        rows[texture_of[item.record]].push(item.usage);
        members[texture_of[item.record]].push(item);
    }
    let mut heights: Vec<u64> = rows.iter().map(|rows| max_breadth(rows)).collect();
    for texture in 0..textures {
        // Each other texture counts with its height if it is packed, and otherwise with its peak, which is a lower
        // bound.
        let peak = heights[texture];
        let others = heights.iter().sum::<u64>() - peak;
        let limit = below.saturating_sub(others);
        let (offsets, height) = pack(&rows[texture], peak, limit, packings / textures as u64, control)?;
        if height >= limit {
            return None;
        }
        heights[texture] = height;
        for (item, offset) in members[texture].iter().zip(offsets) {
            let row_texels = u64::from(problem.tensors[item.record].row_texels);
            for (i, row) in item.rows.clone().enumerate() {
                starts[item.record][row as usize] = offset + i as u64 * row_texels;
            }
        }
    }
    Some(remove_empty(RowLayout { textures: heights, texture_of: texture_of.to_vec(), starts }))
}

/// Removes empty textures. Tensors that are never written are assigned to the first texture.
fn remove_empty(mut layout: RowLayout) -> RowLayout {
    let filled: Vec<usize> = (0..layout.textures.len()).filter(|&t| layout.textures[t] > 0).collect();
    for texture in &mut layout.texture_of {
        *texture = filled.iter().position(|filled| filled == texture).unwrap_or(0);
    }
    layout.textures = filled.iter().map(|&t| layout.textures[t]).collect();
    layout
}
