//! Divides a budget among several partitions.

use std::sync::Arc;

use crate::{failure::Failure, partition::Partition};

/// Divides the budget among the partitions, each of which already fits it alone, in proportion to their current
/// sizes. Partitions whose shapes are still unknown are assumed to have the average size of the others.
pub(crate) fn share_budget(partitions: &[Arc<Partition>], budget: u64) -> Result<(), Failure> {
    let planned: Vec<Option<u64>> = partitions.iter().map(|partition| partition.planned()).collect();
    let planned_bytes: u64 = planned.iter().flatten().sum();
    let usual = match planned.iter().flatten().count() as u64 {
        0 => budget,
        count => planned_bytes / count,
    };
    let needs: Vec<u64> = planned.iter().map(|planned| planned.unwrap_or(usual)).collect();
    let all: u64 = needs.iter().sum();
    if partitions.len() < 2 || all <= budget {
        return Ok(());
    }
    for (partition, need) in partitions.iter().zip(needs) {
        let share = u128::from(budget) * u128::from(need) / u128::from(all);
        partition.keep_within(u64::try_from(share).unwrap_or(budget))?;
    }
    Ok(())
}
