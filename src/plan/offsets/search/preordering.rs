//! Orders of preference: of tensors that could lie equally low, which is tried first.

/// What an order of preference looks at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts {
    /// Steps alive.
    pub(super) life: u64,
    /// Points alive at which some tensor is born.
    pub(super) points: u64,
    pub(super) size: u64,
    /// The most that waits at any point where it is alive.
    pub(super) load: u64,
    /// Waiting tensors that it meets.
    pub(super) meets: u64,
}

impl Facts {
    fn area(&self) -> u128 {
        u128::from(self.size) * u128::from(self.life)
    }
}

/// An order of preference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Where most waits, then the longest-lived, then the largest.
    LoadLife,
    /// At most points, then the largest in size times life, then where most waits.
    PointsArea,
    /// Where most waits, then the largest in size times points.
    LoadArea,
    /// Those that meet most, then the largest in size times life, then where most waits.
    MeetsArea,
}

impl Order {
    /// In the order of their turns. No order is good everywhere: on each of minimalloc's instances A to K one or two
    /// of these lead to a layout in a few thousand nodes, the others not in a hundred thousand.
    pub(super) const TURNS: [Self; 4] = [Self::LoadLife, Self::PointsArea, Self::LoadArea, Self::MeetsArea];

    /// Larger keys come first.
    pub(super) fn key(self, facts: &Facts) -> [u128; 3] {
        let Facts { life, points, size, load, meets } = *facts;
        let (life, load) = (u128::from(life), u128::from(load));
        match self {
            Self::LoadLife => [load, life, facts.area()],
            Self::PointsArea => [points.into(), facts.area(), load],
            Self::LoadArea => [load, u128::from(points) * u128::from(size), life],
            Self::MeetsArea => [meets.into(), facts.area(), load],
        }
    }
}
