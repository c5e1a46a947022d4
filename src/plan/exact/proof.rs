//! A proof as a list: cases in the order in which they are looked at, so that it may be as deep as it needs to be and
//! nothing that reads, writes, compares or drops it recurses.

/// Multipliers of the linear relaxation's dual, in units of `1 / scale`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Prices {
    /// `(size, step, price)`: for each tensor alive at `step` in an object of exactly `size`.
    pub clique: Vec<(u64, usize, u64)>,
    /// `(size, price)`: for each object of at least `size` that must exist.
    pub count: Vec<(u64, u64)>,
    /// `(size, price)`: taken back for each object of at least `size` that the case allows.
    pub refund: Vec<(u64, u64)>,
}

impl Prices {
    /// Prices that prove the sum of the positional maximums: each object is worth what its size is above the next one
    /// below. `sizes` rise.
    pub(super) fn positional(sizes: &[u64], scale: u64) -> Self {
        let mut below = 0;
        let mut prices = Self::default();
        for &size in sizes {
            prices.count.push((size, (size - below).saturating_mul(scale)));
            below = size;
        }
        prices
    }
}

/// A case of a proof; what follows it in the list are its sides, one after the other, each with all that is below it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Case {
    /// Prices that prove the bound for this case; it has no sides.
    Leaf(Prices),
    /// Either fewer than `count` objects of at least `size`, or that many: first the side of fewer, then of enough.
    Count {
        /// Object size from which objects are counted.
        size: u64,
        /// How many, at least one.
        count: u64,
    },
    /// Either the record lives in an object smaller than `size`, or in one of at least that size: first the side of a
    /// smaller object, then that of a larger one.
    Record {
        /// Index of the record.
        record: usize,
        /// Object size that divides the cases.
        size: u64,
    },
}

/// A tree of cases, each closed by prices, written as a list: a case, then its first side, then its second.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof(Vec<Case>);

impl Proof {
    /// Prices that prove the bound, whatever the case.
    pub fn leaf(prices: Prices) -> Self {
        Self(vec![Case::Leaf(prices)])
    }

    /// Either fewer than `count` objects of at least `size`, or that many.
    pub fn count(size: u64, count: u64, fewer: Self, enough: Self) -> Self {
        Self::split(Case::Count { size, count }, fewer, enough)
    }

    /// Either the record lives in an object smaller than `size`, or in one of at least that size.
    pub fn record(record: usize, size: u64, smaller: Self, larger: Self) -> Self {
        Self::split(Case::Record { record, size }, smaller, larger)
    }

    fn split(case: Case, first: Self, second: Self) -> Self {
        Self([vec![case], first.0, second.0].concat())
    }

    /// A proof of cases in their order; `None` unless they are one tree.
    pub fn from_cases(cases: Vec<Case>) -> Option<Self> {
        // Sides that are still to come.
        let mut open = 1usize;
        for case in &cases {
            // After the last side there is nothing for a case to be part of.
            open = open.checked_sub(1)?;
            if !matches!(case, Case::Leaf(_)) {
                open += 2;
            }
        }
        (open == 0).then_some(Self(cases))
    }

    /// The cases in their order.
    pub fn cases(&self) -> &[Case] {
        &self.0
    }

    /// How many cases lie on top of each other at most, leaves not counted.
    #[cfg(feature = "serde")]
    pub(super) fn depth(&self) -> usize {
        let mut sides: Vec<u8> = Vec::new();
        let mut deepest = 0;
        for case in &self.0 {
            if matches!(case, Case::Leaf(_)) {
                while sides.last() == Some(&1) {
                    sides.pop();
                }
                if let Some(side) = sides.last_mut() {
                    *side = 1;
                }
            } else {
                sides.push(0);
                deepest = deepest.max(sides.len());
            }
        }
        deepest
    }

    /// Renames the records of the proof: record `i` becomes `order[i]`.
    pub(in crate::plan) fn renumber(&mut self, order: &[usize]) {
        for case in &mut self.0 {
            if let Case::Record { record, .. } = case {
                *record = order[*record];
            }
        }
    }
}
