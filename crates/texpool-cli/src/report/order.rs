//! The memory of whole tensors in the file's order of operators and in the order that was chosen.

use std::fmt;

use serde::{Deserialize, Serialize};
use texpool_compile::{MemoryOrder, OrderMemory};

use super::grouped;

/// Memory in two orders of the operators, with the bound on every order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderReport {
    /// Memory in the file's order.
    pub file: OrderBytes,
    /// Memory in the order that was chosen; the file's if no order with a smaller pool was found.
    pub chosen: OrderBytes,
    /// Lower bound on the peak of every order, with the same parts written in place.
    pub bound_bytes: u64,
    /// True if no order and no placement of whole tensors takes less, with the same parts written in place.
    pub proven: bool,
}

/// Memory of whole tensors in an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderBytes {
    /// Largest number of bytes alive at once.
    pub peak_bytes: u64,
    /// Bytes of the pool.
    pub pool_bytes: u64,
}

impl OrderReport {
    /// Creates the report of an order.
    pub const fn from_order(order: &MemoryOrder) -> Self {
        Self {
            file: OrderBytes::from_memory(order.file),
            chosen: OrderBytes::from_memory(order.chosen),
            bound_bytes: order.bound_bytes,
            proven: order.is_proven,
        }
    }
}

impl OrderBytes {
    const fn from_memory(memory: OrderMemory) -> Self {
        Self { peak_bytes: memory.peak_bytes, pool_bytes: memory.pool_bytes }
    }
}

impl fmt::Display for OrderReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  {:<46} {:>14} {:>14}", "order of operators, with whole tensors", "peak bytes", "pool bytes")?;
        for (name, OrderBytes { peak_bytes, pool_bytes }) in [("file", self.file), ("memory", self.chosen)] {
            writeln!(f, "    {name:<44} {:>14} {:>14}", grouped(peak_bytes), grouped(pool_bytes))?;
        }
        let proof = match self.proven {
            true => "no order and no placement takes less",
            false if self.bound_bytes == self.chosen.peak_bytes => "no order has a smaller peak",
            false => "not reached",
        };
        writeln!(f, "    {:<44} {:>14} {proof}", "lower bound of any order", grouped(self.bound_bytes))
    }
}
