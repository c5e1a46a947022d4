//! Preorderings decide which of the tensors that could be placed at the same offset is tried first.
//!
//! minimalloc uses the same term, and names its preorderings by the initials of the compared properties.

/// Properties that preorderings compare, with minimalloc's names.
#[derive(Clone, Copy, Debug)]
pub(super) struct PreorderData {
    /// Number of steps for which the tensor is alive.
    pub(super) width: u64,
    /// Number of sections in which it is alive.
    pub(super) sections: u64,
    pub(super) size: u64,
    /// The largest sum of unplaced sizes in any section in which it is alive.
    pub(super) total: u64,
    /// Number of unplaced tensors that are alive at the same time.
    pub(super) overlaps: u64,
}

impl PreorderData {
    fn area(&self) -> u128 {
        u128::from(self.size) * u128::from(self.width)
    }
}

/// The properties to compare. The first difference decides, and larger values come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Preordering {
    TotalWidthArea,
    SectionsAreaTotal,
    /// Here the area is counted in sections instead of steps.
    TotalAreaWidth,
    OverlapsAreaTotal,
}

impl Preordering {
    /// The round robin: each preordering is tried with a limited number of nodes, then the limit is raised. No
    /// preordering is good on every instance. On each of minimalloc's instances A to K, one or two of these lead to a
    /// layout within a few thousand nodes, and the others do not within a hundred thousand.
    pub(super) const ROUND_ROBIN: [Self; 4] =
        [Self::TotalWidthArea, Self::SectionsAreaTotal, Self::TotalAreaWidth, Self::OverlapsAreaTotal];

    /// Returns the values to compare.
    pub(super) fn key(self, data: &PreorderData) -> [u128; 3] {
        let PreorderData { width, sections, size, total, overlaps } = *data;
        let (width, total) = (u128::from(width), u128::from(total));
        match self {
            Self::TotalWidthArea => [total, width, data.area()],
            Self::SectionsAreaTotal => [sections.into(), data.area(), total],
            Self::TotalAreaWidth => [total, u128::from(sections) * u128::from(size), width],
            Self::OverlapsAreaTotal => [overlaps.into(), data.area(), total],
        }
    }
}
