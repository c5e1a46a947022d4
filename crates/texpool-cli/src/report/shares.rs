//! Share of the intermediate tensors in all bytes of a model, by planning strategy.

use super::size;
use serde::{Deserialize, Serialize};
use std::fmt;
use texpool_compile::CompiledModel;
use texpool_plan::printable;

/// Plans of a model by several strategies, each with the share of its pool in all bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IntermediateShares {
    /// Name of the model.
    pub model: String,
    /// Bytes of the weights, which every plan has.
    pub weight_bytes: u64,
    /// The plans, in the order of the request.
    pub strategies: Vec<StrategyShare>,
}

/// The plan of a strategy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StrategyShare {
    /// Name of the strategy.
    pub strategy: String,
    /// Number of textures of the pool.
    pub textures: usize,
    /// Bytes of the pool, which holds the intermediate tensors.
    pub pool_bytes: u64,
    /// Bytes of the pool and the weights.
    pub total_bytes: u64,
    /// The pool as a share of both.
    pub intermediate_share: f64,
}

impl IntermediateShares {
    /// Creates the table of plans with their names. All must be plans of the same model.
    pub fn new(model: &str, plans: &[(String, &CompiledModel)]) -> Self {
        let row = |(strategy, compiled): &(String, &CompiledModel)| {
            let (plan, weight_bytes) = (compiled.plan(), compiled.resident_weight_bytes());
            let (pool_bytes, textures) = (plan.bytes(), plan.textures.len());
            let total_bytes = pool_bytes.saturating_add(weight_bytes);
            let intermediate_share = pool_bytes as f64 / total_bytes.max(1) as f64;
            StrategyShare { strategy: strategy.clone(), textures, pool_bytes, total_bytes, intermediate_share }
        };
        let weight_bytes = plans.first().map_or(0, |(_, compiled)| compiled.resident_weight_bytes());
        Self { model: model.to_owned(), weight_bytes, strategies: plans.iter().map(row).collect() }
    }
}

impl StrategyShare {
    /// Returns a line about the plan, for a picture.
    pub fn heading(&self) -> String {
        let [pool, total] = [self.pool_bytes, self.total_bytes].map(size);
        let (strategy, textures, share) = (&self.strategy, self.textures, 100.0 * self.intermediate_share);
        format!("{strategy}: {pool} in {textures} textures, {share:.0} % of {total} with the weights")
    }
}

impl fmt::Display for IntermediateShares {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {} of weights\n", printable(&self.model), size(self.weight_bytes))?;
        let width = self.strategies.iter().map(|row| row.strategy.len()).max().unwrap_or(0).max(8);
        let [pool, total, share] = ["pool", "with weights", "pool's share"];
        writeln!(f, "  {:<width$} {:>8} {pool:>11} {total:>12} {share:>12}", "strategy", "textures")?;
        for row in &self.strategies {
            let [pool, total] = [row.pool_bytes, row.total_bytes].map(size);
            let share = format!("{:.1} %", 100.0 * row.intermediate_share);
            writeln!(f, "  {:<width$} {:>8} {pool:>11} {total:>12} {share:>12}", row.strategy, row.textures)?;
        }
        Ok(())
    }
}
