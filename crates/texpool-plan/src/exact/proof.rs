//! A proof as a list of cases in the order in which they are visited. It may have any depth, because no code recurses
//! to read, write, compare or drop it.

/// Values of the dual variables of the linear relaxation, in units of `1 / scale`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Prices {
    /// `(size, step, price)`: paid for each tensor that is alive at `step` in an object of exactly `size`.
    pub clique: Vec<(u64, usize, u64)>,
    /// `(size, price)`: paid for each object of at least `size` that must exist.
    pub count: Vec<(u64, u64)>,
    /// `(size, price)`: subtracted for each object of at least `size` that the case allows.
    pub refund: Vec<(u64, u64)>,
}

impl Prices {
    /// Returns prices that prove the sum of the positional maximums: for each size, the difference to the next
    /// smaller one. `sizes` are in increasing order.
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

/// A case of a proof. If it has two sides, they follow it in the list one after the other, each with its complete
/// subtree.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Case {
    /// Prices that prove the bound for this case; it has no sides.
    Leaf(Prices),
    /// Fewer than `count` objects of at least `size` (the first side), or at least that many (the second).
    Count {
        /// Object size from which objects are counted.
        size: u64,
        /// Number of objects, at least one.
        count: u64,
    },
    /// The record is in an object smaller than `size` (the first side), or in one of at least that size (the second).
    Record {
        /// Index of the record.
        record: usize,
        /// Object size that separates the two sides.
        size: u64,
    },
}

/// A tree of cases with prices at its leaves, stored as a list: each case is followed by its first side and then its
/// second.
///
/// ```
/// use texpool_plan::{Case, Prices, Proof};
///
/// let leaf = || Proof::leaf(Prices { count: vec![(4, 4)], ..Prices::default() });
/// // Either fewer than two objects hold 4 or more; or two do, and the first record is in one below 8, or it is not.
/// let proof = Proof::count(4, 2, leaf(), Proof::record(0, 8, leaf(), leaf()));
/// assert_eq!((proof.cases().len(), &proof.cases()[0]), (5, &Case::Count { size: 4, count: 2 }));
/// assert_eq!(Proof::from_cases(proof.cases().to_vec()), Some(proof));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof(Vec<Case>);

impl Proof {
    /// Creates a proof of a single leaf.
    pub fn leaf(prices: Prices) -> Self {
        Self(vec![Case::Leaf(prices)])
    }

    /// Creates a proof by two cases: fewer than `count` objects of at least `size`, or at least that many.
    pub fn count(size: u64, count: u64, fewer: Self, enough: Self) -> Self {
        Self::split(Case::Count { size, count }, fewer, enough)
    }

    /// Creates a proof by two cases: the record is in an object smaller than `size`, or in one of at least that size.
    pub fn record(record: usize, size: u64, smaller: Self, larger: Self) -> Self {
        Self::split(Case::Record { record, size }, smaller, larger)
    }

    fn split(case: Case, first: Self, second: Self) -> Self {
        Self([vec![case], first.0, second.0].concat())
    }

    /// Creates a proof from a list of cases. Returns `None` unless they form exactly one tree.
    pub fn from_cases(cases: Vec<Case>) -> Option<Self> {
        // Number of sides that have not begun yet.
        let mut open = 1usize;
        for case in &cases {
            // A case after the last side would not belong to the tree.
            open = open.checked_sub(1)?;
            if !matches!(case, Case::Leaf(_)) {
                open += 2;
            }
        }
        (open == 0).then_some(Self(cases))
    }

    /// Returns the cases in list order.
    pub fn cases(&self) -> &[Case] {
        &self.0
    }

    /// Returns the depth of the tree, not counting leaves.
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

    /// Extends a proof about objects of the sizes `known` to objects of `sizes`, which has them and others. A tensor
    /// pays in an object of another size as in the next smaller known one, whose prices are enough for its cost.
    #[cfg(feature = "proofs")]
    pub(super) fn extend_sizes(&mut self, known: &[u64], sizes: &[u64]) {
        for case in &mut self.0 {
            if let Case::Leaf(prices) = case {
                prices.clique.sort_unstable();
                let of_size = |size: u64| {
                    let below = known[..known.partition_point(|&other| other <= size)].last();
                    let from =
                        below.map_or(prices.clique.len(), |below| prices.clique.partition_point(|p| p.0 < *below));
                    let paid = prices.clique[from..].iter().take_while(move |p| below == Some(&p.0));
                    paid.map(move |&(_, step, price)| (size, step, price))
                };
                prices.clique = sizes.iter().flat_map(|&size| of_size(size)).collect();
            }
        }
    }

    /// Renames the records of the proof: record `i` becomes `order[i]`.
    pub(crate) fn renumber(&mut self, order: &[usize]) {
        for case in &mut self.0 {
            if let Case::Record { record, .. } = case {
                *record = order[*record];
            }
        }
    }
}
