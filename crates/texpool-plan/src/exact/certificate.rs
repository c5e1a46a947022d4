//! The certificate of a lower bound, and its checker. It depends only on records, and shares only arithmetic (`gcd`,
//! `live_counts`, `distinct_sizes`) with the solver.
//!
//! A leaf holds prices, which are values of dual variables. A `clique` price applies to each tensor that is alive at
//! a step and lies in an object of some size. A `count` price applies to each object of at least some size. Suppose
//! that the prices of no object add up to more than its size. Let each tensor pay the smallest amount over all sizes
//! open to it. Then no plan costs less than the sum over tensors and counts; this is weak duality. A case states that
//! a plan falls on one of two sides, and each side has a separate proof.

use super::proof::{Case, Prices, Proof};
use crate::{
    control::SearchControl,
    error::{InputError, PlanError},
    gcd::gcd,
    live_counts::LiveCounts,
    record::{UsageRecord, distinct_sizes},
    sections::{live_sections, section_starts},
};

/// A proof that no Shared Objects plan of the records is smaller than [`bound`](Self::bound).
///
/// [`optimum`](super::optimum()) makes certificates; one can also be written by hand:
///
/// ```
/// use texpool_plan::{Certificate, Prices, Proof, UsageRecord, verify_certificate};
///
/// // Both tensors are alive at step 1, so there are two objects of at least 4 and one of at least 6. Of an object's
/// // cost, 4 is the price of being at least 4, and 2 more that of being at least 6: 2 * 4 + 1 * 2 = 10.
/// let records = [UsageRecord::new(0, 1, 6), UsageRecord::new(1, 2, 4)];
/// let prices = Prices { count: vec![(4, 4), (6, 2)], ..Prices::default() };
/// let certificate = Certificate { bound: 10, scale: 1, proof: Proof::leaf(prices) };
/// assert_eq!(verify_certificate(&records, &certificate)?, 10);
/// # Ok::<(), texpool_plan::PlanError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Certificate {
    /// The claimed bound, in the records' unit.
    pub bound: u64,
    /// Prices are in units of `1 / scale`.
    pub scale: u64,
    /// The proof.
    pub proof: Proof,
}

/// A size, its clique prices by step, and the prefix sums of these.
type CliquePrices<'a> = (u64, &'a [(u64, usize, u64)], Vec<i128>);

/// The assumptions of the cases above a leaf.
struct Assumed {
    /// `(size, count)`: at least `count` objects have at least that size.
    at_least: Vec<(u64, u64)>,
    /// `(size, count)`: at most `count` objects have at least that size.
    at_most: Vec<(u64, u64)>,
    /// Range of object sizes open to each record: inclusive start, exclusive end.
    range: Vec<(u64, Option<u64>)>,
}

/// Returns the bound of a certificate if its prices prove it for these records. [`Certificate`] has an example.
///
/// # Errors
/// [`PlanError::Input`] for a reversed interval. [`PlanError::BadCertificate`] if prices add up to more than a size,
/// if a case makes no sense, or if the claimed bound is above the proven one.
pub fn verify_certificate(records: &[UsageRecord], certificate: &Certificate) -> Result<u64, PlanError> {
    let proven = proven_bound(records, certificate.scale, &certificate.proof, &SearchControl::new())?;
    if certificate.bound > proven {
        return Err(bad(format!("it claims a bound of {}, but proves {proven}", certificate.bound)));
    }
    Ok(certificate.bound)
}

/// Returns the bound that a proof with prices in units of `1 / scale` proves. Fails if `control` stops it.
pub(super) fn proven_bound(
    records: &[UsageRecord],
    scale: u64,
    proof: &Proof,
    control: &SearchControl<'_>,
) -> Result<u64, PlanError> {
    if let Some(record) = records.iter().position(|r| r.first > r.last) {
        let UsageRecord { first, last, .. } = records[record];
        return Err(InputError::ReversedInterval { record, first, last }.into());
    }
    let scale = i128::from(scale);
    if scale == 0 || scale > MAX_SCALE {
        return Err(bad(format!("its scale {scale} is not between 1 and {MAX_SCALE}")));
    }
    let checker = Checker::new(records, distinct_sizes(records), scale);
    let proven = checker.prove(proof, control)?;
    if proven == i128::MAX {
        return Err(bad("none of its cases is possible"));
    }
    // The total of a plan is a sum of sizes and therefore a multiple of their greatest common divisor.
    let unit = i128::from(checker.sizes.iter().fold(0, |a, &b| gcd(a, b)).max(1));
    let proven = (proven.max(0) + scale * unit - 1) / (scale * unit) * unit;
    Ok(u64::try_from(proven).unwrap_or(u64::MAX))
}

/// Keeps every product of a price, a count and a number of records within 128 bits.
const MAX_SCALE: i128 = 1 << 32;

fn bad(why: impl Into<String>) -> PlanError {
    PlanError::BadCertificate { why: why.into() }
}

/// A case whose sides are being checked.
struct OpenCase {
    case: usize,
    /// The bound proven by the first side, once it is checked.
    first: Option<i128>,
    /// The range of sizes that the case restricts, before the restriction.
    before: (u64, Option<u64>),
}

/// The data shared by all leaves.
struct Checker<'a> {
    records: &'a [UsageRecord],
    /// Distinct sizes, smallest first.
    sizes: Vec<u64>,
    /// For each size, the largest number of records of at least this size that are alive at once.
    alive: Vec<u64>,
    scale: i128,
}

impl<'a> Checker<'a> {
    fn new(records: &'a [UsageRecord], sizes: Vec<u64>, scale: i128) -> Self {
        let mut alive = vec![0; sizes.len()];
        let starts = section_starts(records);
        let mut live_counts = LiveCounts::new(starts.len());
        let mut order: Vec<&UsageRecord> = records.iter().collect();
        order.sort_unstable_by_key(|r| std::cmp::Reverse(r.size));
        for r in order {
            let (from, to) = live_sections(&starts, r);
            let most = live_counts.add(from, to) as u64;
            if let Ok(at) = sizes.binary_search(&r.size) {
                alive[at] = most;
            }
        }
        Self { records, sizes, alive, scale }
    }

    /// Returns the bound that a proof proves, times the scale.
    fn prove(&self, proof: &Proof, control: &SearchControl<'_>) -> Result<i128, PlanError> {
        let cases = proof.cases();
        let range = self.records.iter().map(|r| (r.size, None)).collect();
        let mut assumed = Assumed { at_least: Vec::new(), at_most: Vec::new(), range };
        let mut open: Vec<OpenCase> = Vec::new();
        for (index, case) in cases.iter().enumerate() {
            if control.should_stop() {
                return Err(bad("the check was stopped before its end"));
            }
            let mut bound = match case {
                Case::Leaf(prices) => self.leaf(prices, &assumed)?,
                Case::Count { size, count } => {
                    let most = self.records.len() as u64;
                    if *count == 0 || *count > most {
                        return Err(bad(format!("it counts {count} objects for {most} records")));
                    }
                    assumed.at_most.push((*size, count - 1));
                    open.push(OpenCase { case: index, first: None, before: (0, None) });
                    continue;
                }
                Case::Record { record, size } => {
                    let Some(range) = assumed.range.get_mut(*record) else {
                        return Err(bad(format!("there is no record {record}")));
                    };
                    open.push(OpenCase { case: index, first: None, before: *range });
                    range.1 = Some(range.1.map_or(*size, |below| below.min(*size)));
                    continue;
                }
            };
            // The bound of one side is now available. Its case continues with the second side. If this was the second
            // side, the bound of the case is available, too.
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
            if open.is_empty() && index + 1 == cases.len() {
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
        // Grouped by size, with prefix sums, so that the price of a tensor between two steps is a difference of two
        // sums.
        let mut by_size: Vec<CliquePrices<'_>> = Vec::new();
        for of_size in clique.chunk_by(|a, b| a.0 == b.0) {
            let mut sum = 0i128;
            let add = |p: &(u64, usize, u64)| {
                sum += i128::from(p.2);
                sum
            };
            let sums = std::iter::once(0).chain(of_size.iter().map(add)).collect();
            by_size.push((of_size[0].0, of_size, sums));
        }
        self.check_object_prices(&by_size, &count, &refund)?;
        let mut bound = 0i128;
        for (r, &(from, below)) in self.records.iter().zip(&assumed.range) {
            let open_from = self.sizes.partition_point(|&size| size < from);
            let open_to = below.map_or(self.sizes.len(), |below| self.sizes.partition_point(|&size| size < below));
            if open_from >= open_to {
                // No size is open to this record, so this case contains no plan.
                return Ok(i128::MAX);
            }
            let (least, most) = (self.sizes[open_from], self.sizes[open_to - 1]);
            let priced = &by_size[by_size.partition_point(|p| p.0 < least)..by_size.partition_point(|p| p.0 <= most)];
            // Prices of sizes that no record has apply to no object.
            let real = priced.iter().filter(|p| self.sizes.binary_search(&p.0).is_ok());
            let pay = |(_, prices, sums): &CliquePrices<'_>| {
                sums[prices.partition_point(|p| p.1 <= r.last)] - sums[prices.partition_point(|p| p.1 < r.first)]
            };
            // If an open size has no price, the record pays 0 there.
            if real.clone().count() == open_to - open_from {
                bound += real.map(pay).min().unwrap_or(0);
            }
        }
        // From the largest size down, with the largest number of objects assumed for this size or a larger one.
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
        // From the smallest size up, with the lowest limit on objects assumed for this size or a smaller one.
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
                None => {
                    return Err(bad(format!(
                        "it subtracts a price for objects of at least {size} without a limit on their number"
                    )));
                }
            }
        }
        Ok(bound)
    }

    /// Checks that the prices of no object add up to more than its size. They consist of the clique prices of exactly
    /// its size and the count prices, minus refunds, up to its size.
    fn check_object_prices(
        &self,
        by_size: &[CliquePrices<'_>],
        count: &[(u64, u64)],
        refund: &[(u64, u64)],
    ) -> Result<(), PlanError> {
        let (mut counts, mut refunds) = (count.iter().peekable(), refund.iter().peekable());
        let mut counted = 0i128;
        for &size in &self.sizes {
            while let Some(p) = counts.next_if(|p| p.0 <= size) {
                counted += i128::from(p.1);
            }
            while let Some(p) = refunds.next_if(|p| p.0 <= size) {
                counted -= i128::from(p.1);
            }
            let load = by_size.binary_search_by_key(&size, |p| p.0).ok().and_then(|at| by_size[at].2.last());
            let paid = counted + load.copied().unwrap_or(0);
            let cost = i128::from(size) * self.scale;
            if paid > cost {
                return Err(bad(format!("the prices of an object of {size} add up to {paid}, more than {cost}")));
            }
        }
        Ok(())
    }
}
