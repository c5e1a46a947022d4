//! The certificate of a lower bound, and its checker. Knows records alone, and shares no code with the solver.
//!
//! How to read it: a leaf gives prices. `clique` says what a unit of load at a step is worth on objects of one size;
//! `count` what each object of at least some size is worth. No object may be paid more than it costs, and each tensor
//! takes the cheapest size open to it. Then no plan costs less than what tensors and counts pay together. A split says
//! that a plan falls on one side or the other, and each side has its own proof.

use crate::plan::{PlanError, UsageRecord};

/// A proof that no Shared Objects plan of the records is smaller than [`bound`](Self::bound).
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Certificate {
    /// The bound it claims, in the records' unit.
    pub bound: u64,
    /// Prices are in units of `1 / scale`.
    pub scale: u64,
    /// The proof.
    pub proof: Proof,
}

/// A tree of cases, each closed by prices.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Proof {
    /// Prices that prove the bound for this case.
    Leaf(Prices),
    /// Either fewer than `count` objects of at least `size`, or that many.
    Count {
        /// Object size from which objects are counted.
        size: u64,
        /// How many.
        count: u64,
        /// The case of fewer.
        fewer: Box<Proof>,
        /// The case of at least as many.
        enough: Box<Proof>,
    },
    /// Either the record lives in an object smaller than `size`, or in one of at least that size.
    Record {
        /// Index of the record.
        record: usize,
        /// Object size that divides the cases.
        size: u64,
        /// The case of a smaller object.
        smaller: Box<Proof>,
        /// The case of an object of at least `size`.
        larger: Box<Proof>,
    },
}

impl Proof {
    /// Renames the records of the proof: record `i` becomes `order[i]`.
    pub(in crate::plan) fn renumber(&mut self, order: &[usize]) {
        match self {
            Self::Leaf(_) => {}
            Self::Count { fewer, enough, .. } => {
                fewer.renumber(order);
                enough.renumber(order);
            }
            Self::Record { record, smaller, larger, .. } => {
                *record = order[*record];
                smaller.renumber(order);
                larger.renumber(order);
            }
        }
    }
}

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

/// What a case has assumed on the way to a leaf.
struct Case {
    /// `(size, count)`: at least so many objects of at least that size.
    at_least: Vec<(u64, u64)>,
    /// `(size, count)`: at most so many.
    at_most: Vec<(u64, u64)>,
    /// Object sizes open to each record: from, and below.
    range: Vec<(u64, Option<u64>)>,
}

/// The bound that a certificate proves for these records, recomputed from nothing but its prices.
///
/// # Errors
/// [`PlanError::ReversedInterval`], or [`PlanError::BadCertificate`] if a price overpays, a case is impossible to
/// read, or the bound claimed is above the bound proven.
pub fn verify_certificate(records: &[UsageRecord], certificate: &Certificate) -> Result<u64, PlanError> {
    if let Some(record) = records.iter().position(|r| r.first > r.last) {
        let UsageRecord { first, last, .. } = records[record];
        return Err(PlanError::ReversedInterval { record, first, last });
    }
    let mut sizes: Vec<u64> = records.iter().map(|r| r.size).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let range = records.iter().map(|r| (r.size, None)).collect();
    let mut case = Case { at_least: Vec::new(), at_most: Vec::new(), range };
    let scale = i128::from(certificate.scale);
    if scale == 0 || scale > MAX_SCALE {
        return Err(PlanError::BadCertificate { why: format!("no scale between 1 and {MAX_SCALE}: {scale}") });
    }
    let proven = prove(records, &sizes, scale, &certificate.proof, &mut case)?;
    if proven == i128::MAX {
        return Err(PlanError::BadCertificate { why: "it leaves no case open".to_owned() });
    }
    // A plan's total is a sum of sizes, so it is a multiple of what divides them all.
    let unit = i128::from(sizes.iter().fold(0, |a, &b| divisor(a, b)).max(1));
    let proven = (proven.max(0) + scale * unit - 1) / (scale * unit) * unit;
    if i128::from(certificate.bound) > proven {
        let why = format!("it claims {}, but proves {proven}", certificate.bound);
        return Err(PlanError::BadCertificate { why });
    }
    Ok(certificate.bound)
}

/// Keeps every product below within 128 bits.
const MAX_SCALE: i128 = 1 << 32;

fn divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { divisor(b, a % b) }
}

/// The bound of a case, times the scale.
fn prove(
    records: &[UsageRecord],
    sizes: &[u64],
    scale: i128,
    proof: &Proof,
    case: &mut Case,
) -> Result<i128, PlanError> {
    match proof {
        Proof::Leaf(prices) => leaf(records, sizes, scale, prices, case),
        Proof::Count { count, .. } if *count > records.len() as u64 => {
            Err(PlanError::BadCertificate { why: format!("it counts {count} objects for {} records", records.len()) })
        }
        Proof::Count { size, count, fewer, enough } => {
            let mut bound = i128::MAX;
            if let Some(most) = count.checked_sub(1) {
                case.at_most.push((*size, most));
                bound = prove(records, sizes, scale, fewer, case)?;
                case.at_most.pop();
            }
            case.at_least.push((*size, *count));
            bound = bound.min(prove(records, sizes, scale, enough, case)?);
            case.at_least.pop();
            Ok(bound)
        }
        Proof::Record { record, size, smaller, larger } => {
            let Some(&(from, below)) = case.range.get(*record) else {
                return Err(PlanError::BadCertificate { why: format!("there is no record {record}") });
            };
            case.range[*record] = (from, Some(below.map_or(*size, |b| b.min(*size))));
            let bound = prove(records, sizes, scale, smaller, case)?;
            case.range[*record] = (from.max(*size), below);
            let bound = bound.min(prove(records, sizes, scale, larger, case)?);
            case.range[*record] = (from, below);
            Ok(bound)
        }
    }
}

fn leaf(records: &[UsageRecord], sizes: &[u64], scale: i128, prices: &Prices, case: &Case) -> Result<i128, PlanError> {
    let price_at_least =
        |list: &[(u64, u64)], size: u64| list.iter().filter(|p| p.0 <= size).map(|p| i128::from(p.1)).sum::<i128>();
    for &size in sizes {
        let load: i128 = prices.clique.iter().filter(|p| p.0 == size).map(|p| i128::from(p.2)).sum();
        let paid = load + price_at_least(&prices.count, size) - price_at_least(&prices.refund, size);
        if paid > i128::from(size) * scale {
            let why = format!("an object of {size} is paid {paid}, more than {}", i128::from(size) * scale);
            return Err(PlanError::BadCertificate { why });
        }
    }
    let mut bound = 0i128;
    let mut by_step: Vec<&(u64, usize, u64)> = prices.clique.iter().collect();
    by_step.sort_by_key(|p| (p.0, p.1));
    for (r, &(from, below)) in records.iter().zip(&case.range) {
        let pay = |size: u64| -> i128 {
            let start = by_step.partition_point(|p| (p.0, p.1) < (size, r.first));
            by_step[start..].iter().take_while(|p| p.0 == size && p.1 <= r.last).map(|p| i128::from(p.2)).sum()
        };
        let open = sizes.iter().filter(|&&size| size >= from && below.is_none_or(|below| size < below));
        match open.map(|&size| pay(size)).min() {
            Some(paid) => bound += paid,
            // No object is open to this record, so no plan falls into this case.
            None => return Ok(i128::MAX),
        }
    }
    for &(size, price) in &prices.count {
        let assumed = case.at_least.iter().filter(|a| a.0 >= size).map(|a| a.1).max().unwrap_or(0);
        bound += i128::from(alive_at_once(records, size).max(assumed)) * i128::from(price);
    }
    for &(size, price) in &prices.refund {
        match case.at_most.iter().filter(|a| a.0 <= size).map(|a| a.1).min() {
            Some(most) => bound -= i128::from(most) * i128::from(price),
            None if price == 0 => {}
            None => return Err(PlanError::BadCertificate { why: format!("a refund from {size} has no limit") }),
        }
    }
    Ok(bound)
}

/// The most records of at least `size` that are alive at once.
fn alive_at_once(records: &[UsageRecord], size: u64) -> u64 {
    let mut events: Vec<(usize, bool)> =
        records.iter().filter(|r| r.size >= size).flat_map(|r| [(r.first, false), (r.last, true)]).collect();
    // At one step births come before deaths, for a tensor is still alive at its last step.
    events.sort_unstable();
    let (mut alive, mut most) = (0u64, 0u64);
    for (_, dies) in events {
        if dies {
            alive -= 1;
        } else {
            alive += 1;
            most = most.max(alive);
        }
    }
    most
}
