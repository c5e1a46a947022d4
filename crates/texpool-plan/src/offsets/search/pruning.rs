//! The cuts of the search that can be switched off one by one: tests show that none of them changes an answer, and what
//! each of them saves.

/// Which cuts a search makes, named as in minimalloc's `SolverParams` where it makes the same one.
///
/// Not in this list are the sequence itself (`canonical_only` there) and the capacity of each section
/// (`section_inference` and `monotonic_floor`): the search would not end, or its answers would be wrong, without them.
///
/// Nodes until a layout of minimalloc's instances is found, in the best of the preorderings, with all cuts and without
/// one of them; `-` for more than 65,536 (`cargo test --no-default-features --lib each_cut_saves_nodes -- --nocapture`
/// prints B and J; the others take their names and this limit in the test, and minutes):
///
/// | cut left out | A | B | C | D | E | F | I | J |
/// |---|---:|---:|---:|---:|---:|---:|---:|---:|
/// | none | 21,642 | 887 | 2,301 | 1,547 | 16,876 | 11,745 | 8,195 | 516 |
/// | `check_dominance` | - | 1,634 | 6,270 | 4,165 | 36,899 | 15,045 | 34,441 | 522 |
/// | `identical_tensors` | 21,696 | 1,284 | 2,305 | 1,709 | 16,876 | 11,745 | 8,247 | 523 |
/// | `bound_skipped` | 33,414 | 1,086 | 30,954 | 5,336 | - | 24,565 | 19,574 | 516 |
/// | `unallocated_floor` | - | - | - | - | - | - | - | - |
/// | `dynamic_decomposition` | 21,642 | 887 | 2,301 | 1,547 | 38,413 | 41,223 | - | 528 |
#[derive(Clone, Copy, Debug)]
pub(super) struct Pruning {
    /// No tensor is placed at or above the end of an unplaced one at its minimum offset: that one would fit into the
    /// gap beneath, so some layout with a smaller sum of offsets has it there.
    pub(super) check_dominance: bool,
    /// Of two tensors with the same sections and the same size, the earlier in the list is placed first: exchanging
    /// them gives the same layout again.
    pub(super) identical_tensors: bool,
    /// A tensor that could have been placed lower, and was skipped, is given a lower bound: it has to end up on top of
    /// a tensor that is placed later, see `PartialLayout::bound_skipped`.
    pub(super) bound_skipped: bool,
    /// The floor of a section is at least the lowest offset that an unplaced tensor of it can have.
    pub(super) unallocated_floor: bool,
    /// Where placed tensors divide the timeline, the partitions are searched one by one, each with a preordering of its
    /// own: if one has no layout, the others are not tried again.
    pub(super) dynamic_decomposition: bool,
}

impl Pruning {
    /// Every cut.
    pub(super) const ALL: Self = Self {
        check_dominance: true,
        identical_tensors: true,
        bound_skipped: true,
        unallocated_floor: true,
        dynamic_decomposition: true,
    };
}
