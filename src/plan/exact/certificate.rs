//! The certificate of a lower bound, and its checker. Knows records alone, and shares nothing with the solver but the
//! counting of what is alive at once.
//!
//! How to read it: a leaf gives prices. `clique` says what a unit of load at a step is worth on objects of one size;
//! `count` what each object of at least some size is worth. No object may be paid more than it costs, and each tensor
//! takes the cheapest size open to it. Then no plan costs less than what tensors and counts pay together. A split says
//! that a plan falls on one side or the other, and each side has its own proof.

use super::proof::{Case, Prices, Proof};
use crate::plan::{
    control::SearchControl,
    error::{InputError, PlanError},
    load::{Load, births, span},
    record::UsageRecord,
};

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

/// A size, its clique prices by step, and for each what it comes to with those before it.
type CliquePrices<'a> = (u64, &'a [(u64, usize, u64)], Vec<i128>);

/// What has been assumed on the way to a leaf.
struct Assumed {
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
/// [`PlanError::Input`] for a reversed interval, or [`PlanError::BadCertificate`] if a price overpays, a case is
/// impossible to read, or the bound claimed is above the bound proven.
pub fn verify_certificate(records: &[UsageRecord], certificate: &Certificate) -> Result<u64, PlanError> {
    verify(records, certificate, &SearchControl::new())
}

/// As [`verify_certificate`]; one that `control` stops is not verified.
pub(super) fn verify(
    records: &[UsageRecord],
    certificate: &Certificate,
    control: &SearchControl<'_>,
) -> Result<u64, PlanError> {
    if let Some(record) = records.iter().position(|r| r.first > r.last) {
        let UsageRecord { first, last, .. } = records[record];
        return Err(InputError::ReversedInterval { record, first, last }.into());
    }
    let mut sizes: Vec<u64> = records.iter().map(|r| r.size).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let scale = i128::from(certificate.scale);
    if scale == 0 || scale > MAX_SCALE {
        return Err(PlanError::BadCertificate { why: format!("no scale between 1 and {MAX_SCALE}: {scale}") });
    }
    let checker = Checker::new(records, sizes, scale);
    let proven = checker.prove(&certificate.proof, control)?;
    if proven == i128::MAX {
        return Err(PlanError::BadCertificate { why: "it leaves no case open".to_owned() });
    }
    // A plan's total is a sum of sizes, so it is a multiple of what divides them all.
    let unit = i128::from(checker.sizes.iter().fold(0, |a, &b| divisor(a, b)).max(1));
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

fn bad(why: impl Into<String>) -> PlanError {
    PlanError::BadCertificate { why: why.into() }
}

/// A case whose sides are being looked at.
struct Open {
    case: usize,
    /// The bound of the first side, once it is known.
    first: Option<i128>,
    /// What the case has narrowed, as it was.
    before: (u64, Option<u64>),
}

/// What does not change from leaf to leaf.
struct Checker<'a> {
    records: &'a [UsageRecord],
    /// Distinct sizes, smallest first.
    sizes: Vec<u64>,
    /// The most records of at least each size that are alive at once.
    alive: Vec<u64>,
    scale: i128,
}

impl<'a> Checker<'a> {
    fn new(records: &'a [UsageRecord], sizes: Vec<u64>, scale: i128) -> Self {
        let mut alive = vec![0; sizes.len()];
        let points = births(records);
        let mut load = Load::new(points.len());
        let mut order: Vec<&UsageRecord> = records.iter().collect();
        order.sort_unstable_by_key(|r| std::cmp::Reverse(r.size));
        for r in order {
            let (from, to) = span(&points, r);
            let most = load.add(from, to) as u64;
            if let Ok(at) = sizes.binary_search(&r.size) {
                alive[at] = most;
            }
        }
        Self { records, sizes, alive, scale }
    }

    /// The bound that a proof proves, times the scale.
    fn prove(&self, proof: &Proof, control: &SearchControl<'_>) -> Result<i128, PlanError> {
        let cases = proof.cases();
        let range = self.records.iter().map(|r| (r.size, None)).collect();
        let mut assumed = Assumed { at_least: Vec::new(), at_most: Vec::new(), range };
        let mut open: Vec<Open> = Vec::new();
        for (case, what) in cases.iter().enumerate() {
            if control.should_stop() {
                return Err(bad("it was not looked at to its end"));
            }
            let mut bound = match what {
                Case::Leaf(prices) => self.leaf(prices, &assumed)?,
                Case::Count { size, count } => {
                    let most = self.records.len() as u64;
                    if *count == 0 || *count > most {
                        return Err(bad(format!("it counts {count} objects for {most} records")));
                    }
                    assumed.at_most.push((*size, count - 1));
                    open.push(Open { case, first: None, before: (0, None) });
                    continue;
                }
                Case::Record { record, size } => {
                    let Some(range) = assumed.range.get_mut(*record) else {
                        return Err(bad(format!("there is no record {record}")));
                    };
                    open.push(Open { case, first: None, before: *range });
                    range.1 = Some(range.1.map_or(*size, |below| below.min(*size)));
                    continue;
                }
            };
            // A side is known: its case goes on with the other one, or is known too.
            while let Some(mut last) = open.pop() {
                let second = last.first.is_some();
                bound = last.first.map_or(bound, |first| first.min(bound));
                match &cases[last.case] {
                    Case::Count { size, count } => {
                        if second {
                            assumed.at_least.pop();
                        } else {
                            assumed.at_most.pop();
                            assumed.at_least.push((*size, *count));
                        }
                    }
                    Case::Record { record, size } => {
                        let (from, below) = last.before;
                        assumed.range[*record] = if second { (from, below) } else { (from.max(*size), below) };
                    }
                    Case::Leaf(_) => {}
                }
                if !second {
                    last.first = Some(bound);
                    open.push(last);
                    break;
                }
            }
            if open.is_empty() && case + 1 == cases.len() {
                return Ok(bound);
            }
        }
        Err(bad("its cases are not one tree"))
    }

    fn leaf(&self, prices: &Prices, assumed: &Assumed) -> Result<i128, PlanError> {
        let sorted = |list: &[(u64, u64)]| {
            let mut list = list.to_vec();
            list.sort_unstable();
            list
        };
        let (count, refund) = (sorted(&prices.count), sorted(&prices.refund));
        let mut clique = prices.clique.clone();
        clique.sort_unstable();
        // By size, what each clique price of it comes to with those before it.
        let mut by_size: Vec<CliquePrices<'_>> = Vec::new();
        for here in clique.chunk_by(|a, b| a.0 == b.0) {
            let mut sum = 0i128;
            let add = |p: &(u64, usize, u64)| {
                sum += i128::from(p.2);
                sum
            };
            let sums = std::iter::once(0).chain(here.iter().map(add)).collect();
            by_size.push((here[0].0, here, sums));
        }
        self.pays_no_more_than_it_costs(&by_size, &count, &refund)?;
        let mut bound = 0i128;
        for (r, &(from, below)) in self.records.iter().zip(&assumed.range) {
            let open_from = self.sizes.partition_point(|&size| size < from);
            let open_to = below.map_or(self.sizes.len(), |below| self.sizes.partition_point(|&size| size < below));
            if open_from >= open_to {
                // No object is open to this record, so no plan falls into this case.
                return Ok(i128::MAX);
            }
            let (least, most) = (self.sizes[open_from], self.sizes[open_to - 1]);
            let priced = &by_size[by_size.partition_point(|p| p.0 < least)..by_size.partition_point(|p| p.0 <= most)];
            let real = priced.iter().filter(|p| self.sizes.binary_search(&p.0).is_ok());
            let pay = |(_, here, sums): &CliquePrices<'_>| {
                sums[here.partition_point(|p| p.1 <= r.last)] - sums[here.partition_point(|p| p.1 < r.first)]
            };
            // An open size without a price pays nothing.
            if real.clone().count() == open_to - open_from {
                bound += real.map(pay).min().unwrap_or(0);
            }
        }
        // From the largest size down, the most that is assumed of it or any above it.
        let mut at_least = assumed.at_least.clone();
        at_least.sort_unstable();
        let mut needed = 0;
        for &(size, price) in count.iter().rev() {
            while let Some((_, least)) = at_least.pop_if(|a| a.0 >= size) {
                needed = needed.max(least);
            }
            let at = self.sizes.partition_point(|&other| other < size);
            let alive = self.alive.get(at).copied().unwrap_or(0);
            bound += i128::from(alive.max(needed)) * i128::from(price);
        }
        // From the smallest size up, the least that is assumed of it or any below it.
        let mut at_most = assumed.at_most.clone();
        at_most.sort_unstable_by(|a, b| b.cmp(a));
        let mut allowed: Option<u64> = None;
        for &(size, price) in &refund {
            while let Some((_, most)) = at_most.pop_if(|a| a.0 <= size) {
                allowed = Some(allowed.map_or(most, |other| other.min(most)));
            }
            match allowed {
                Some(most) => bound -= i128::from(most) * i128::from(price),
                None if price == 0 => {}
                None => return Err(bad(format!("a refund from {size} has no limit"))),
            }
        }
        Ok(bound)
    }

    /// Whether each object is paid at most its size: by cliques of its very size, by counts and refunds up to it.
    fn pays_no_more_than_it_costs(
        &self,
        by_size: &[CliquePrices<'_>],
        count: &[(u64, u64)],
        refund: &[(u64, u64)],
    ) -> Result<(), PlanError> {
        let (mut counts, mut refunds) = (count.iter().peekable(), refund.iter().peekable());
        let mut held = 0i128;
        for &size in &self.sizes {
            while let Some(p) = counts.next_if(|p| p.0 <= size) {
                held += i128::from(p.1);
            }
            while let Some(p) = refunds.next_if(|p| p.0 <= size) {
                held -= i128::from(p.1);
            }
            let load = by_size.binary_search_by_key(&size, |p| p.0).ok().and_then(|at| by_size[at].2.last());
            let paid = held + load.copied().unwrap_or(0);
            let cost = i128::from(size) * self.scale;
            if paid > cost {
                return Err(bad(format!("an object of {size} is paid {paid}, more than {cost}")));
            }
        }
        Ok(())
    }
}
