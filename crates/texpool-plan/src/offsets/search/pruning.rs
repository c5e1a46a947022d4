//! The cuts of the search that can be switched off one by one. Tests show that no cut changes an answer, and measure
//! the savings of each.

/// Selects the cuts of a search. Cuts that minimalloc has, too, are named as in its `SolverParams`.
///
/// Not in this list are the sequence itself (`canonical_only` in minimalloc) and the capacity of each section
/// (`section_inference` and `monotonic_floor`). Without them the search would not end, or its answers would be wrong.
///
/// The table shows the number of nodes until a layout of minimalloc's instances is found, in the best of the
/// preorderings, with all cuts and without one of them. `-` means more than 65,536. (`cargo test
/// -p texpool-plan --lib each_cut_saves_nodes -- --nocapture` prints B and J. For the others, add their names
/// and this limit to the test, which then takes minutes.)
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
    /// Never place a tensor at or above the end that an unplaced one would have at its minimum offset. That one would
    /// fit into the gap beneath, so some layout with a smaller sum of offsets has it there.
    pub(super) check_dominance: bool,
    /// If two tensors have the same sections and the same size, place the one that is earlier in the list first,
    /// because exchanging them gives the same layout.
    pub(super) identical_tensors: bool,
    /// Raise the bound of a tensor that could have been placed lower but was skipped: it has to rest on a tensor that
    /// is placed later, see `PartialLayout::bound_skipped`.
    pub(super) bound_skipped: bool,
    /// Keep the floor of a section at or above the lowest possible offset of any of its unplaced tensors.
    pub(super) unallocated_floor: bool,
    /// If placed tensors split the timeline, search the partitions one by one, each with a separate preordering. If
    /// one has no layout, the others are not tried again.
    pub(super) dynamic_decomposition: bool,
}

impl Pruning {
    /// All cuts.
    pub(super) const ALL: Self = Self {
        check_dominance: true,
        identical_tensors: true,
        bound_skipped: true,
        unallocated_floor: true,
        dynamic_decomposition: true,
    };
}
