//! Sizes that become known while the network runs (Pisarchyk and Lee 2020, section 7): planned in rounds, each around
//! what the rounds before have placed.
//!
//! What is placed stays: a round knows nothing of sizes that come later, and moves nothing.

use std::cmp::Reverse;

use super::{
    Layout, PlanError, UsageRecord, naive_total,
    offsets::{Arena, Gap},
    shared::Objects,
};

/// Records by round, and in a round largest first.
fn rounds(records: &[UsageRecord], known_at: &[usize]) -> Result<Vec<usize>, PlanError> {
    naive_total(records)?;
    if known_at.len() != records.len() {
        return Err(PlanError::LengthMismatch { what: "known_at", expected: records.len(), found: known_at.len() });
    }
    if let Some(record) = (0..records.len()).find(|&i| known_at[i] > records[i].first) {
        return Err(PlanError::KnownTooLate { record, known_at: known_at[record], first: records[record].first });
    }
    let mut order: Vec<usize> = (0..records.len()).collect();
    order.sort_by_key(|&i| (known_at[i], Reverse(records[i].size), i));
    Ok(order)
}

/// Shared objects in rounds: `known_at[i]` is the step at which the size of record `i` is known.
///
/// Objects are created once and never grow, so a later tensor takes the smallest free object that is large enough or
/// opens one. With everything known at the start this is Greedy by Size.
///
/// # Errors
/// [`PlanError::LengthMismatch`], [`PlanError::KnownTooLate`] if a tensor is born before its size is known, and those of the
/// records.
pub fn dynamic_objects(records: &[UsageRecord], known_at: &[usize]) -> Result<Layout, PlanError> {
    let mut objects = Objects::new(records);
    for record in rounds(records, known_at)? {
        let size = records[record].size;
        let suits = |&object: &usize| objects.size(object) >= size && objects.suits(object, record);
        match (0..objects.len()).filter(suits).min_by_key(|&object| objects.size(object)) {
            Some(object) => objects.put(record, object),
            None => {
                objects.open(record);
            }
        }
    }
    Ok(objects.into_layout())
}

/// One arena in rounds, each tensor in the smallest gap; the arena grows at its end only. With everything known at the
/// start this is Greedy by Size.
///
/// # Errors
/// As [`dynamic_objects`].
pub fn dynamic_offsets(records: &[UsageRecord], known_at: &[usize]) -> Result<Layout, PlanError> {
    let mut arena = Arena::new(records, 1);
    for record in rounds(records, known_at)? {
        arena.put(record, Gap::BestFit);
    }
    Ok(arena.into_layout())
}
