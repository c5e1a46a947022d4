//! What an executor takes of the device's memory.

use std::sync::Arc;

use super::Executor;
use crate::gpu::{
    Memory,
    pool::{POOL, PoolSource},
    ports::Port,
};

impl Executor {
    /// What is taken of the device's memory now. Asks the driver, which looks through all that the device holds.
    pub fn memory(&self) -> Memory {
        let io_planned = self.inputs.iter().chain(&self.outputs).map(Port::bytes).sum();
        let is_any = self.resident.is_some() || io_planned + self.staging.bytes() > 0;
        let own = self.allocations.bytes(&self.gpu, POOL, is_any);
        let mut memory = Memory { io_planned, staging: self.staging.bytes(), ..Memory::default() };
        let mut driver = own.map(|[all, _]| all);
        let mut pool_driver = own.map(|[_, pool]| pool);
        if let Some(held) = &self.resident {
            (memory.weights, memory.tables) = (held.weights.bytes(), held.program.table_bytes());
            let weights = held.weights.allocations().bytes(&self.gpu, "", memory.weights > 0);
            let weights = weights.map_or(0, |[all, _]| all);
            driver = driver.map(|own| own + weights);
            memory.shared = if Arc::strong_count(&held.weights) > 1 { memory.weights } else { 0 };
            memory.pool_planned = self.compiled.plan.bytes();
        }
        if let PoolSource::Shared { pool, .. } = &self.pool {
            // It is there whether or not this session has anything on the device.
            memory.pool_planned = pool.bytes();
            memory.shared += memory.pool_planned;
            pool_driver = pool.driver_bytes();
            driver = driver.zip(pool_driver).map(|(own, pool)| own + pool);
        }
        Memory { pool_driver, driver, ..memory }
    }
}
