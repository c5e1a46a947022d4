//! Warnings about problems that the results of a run do not show.

use super::Executor;
#[cfg(not(target_arch = "wasm32"))]
use crate::wait::now;
use crate::{
    ClampedValues, GpuError, RunWarnings,
    run_warnings::{Clamp, NotFiniteOutput},
    wait::{Mapping, Wait},
};
use texpool_ops::kernels::COUNTS_PER_NODE;

/// Name of reading the counters in errors.
const WHAT: &str = "reading what a run counted";

impl Executor {
    /// Returns warnings about the last run: non-finite values in outputs that were read, values clamped to the range
    /// of 16 bits, including those of constants, and indices out of range. Waits for the run.
    ///
    /// # Errors
    /// Errors of the device.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn warnings(&mut self) -> Result<RunWarnings, GpuError> {
        now(self.find_warnings(Wait::Block))
    }

    /// Version of `warnings` that either blocks or waits as a task.
    pub async fn find_warnings(&mut self, wait: Wait) -> Result<RunWarnings, GpuError> {
        let graph = self.compiled.graph();
        let outputs = graph.outputs.iter().zip(&self.not_finite).filter(|(_, found)| !found.is_none());
        let not_finite = outputs
            .map(|(&output, &found)| NotFiniteOutput { output: graph.tensors[output].name.clone(), found })
            .collect();
        let inputs = self.inputs.iter().filter(|port| port.saturated() > 0);
        let mut clamped: Vec<ClampedValues> = inputs
            .map(|port| ClampedValues {
                clamp: Clamp::Saturated,
                node: None,
                op: "input",
                tensor: port.name().to_owned(),
                count: port.saturated(),
            })
            .collect();
        if let Some(held) = self.resident.as_ref().filter(|_| self.has_run) {
            clamped.extend_from_slice(held.weights.clamped());
        }
        let counts = self.counts(wait).await?;
        let nodes = self.compiled.graph().nodes.iter().zip(counts.chunks(COUNTS_PER_NODE));
        for (node, counts) in nodes {
            for (clamp, &count) in Clamp::ALL.into_iter().zip(counts).filter(|(_, count)| **count > 0) {
                clamped.push(ClampedValues {
                    clamp,
                    node: Some(node.op_index),
                    op: node.op.name(),
                    tensor: self.compiled.graph().tensors[node.output].name.clone(),
                    count: u64::from(count),
                });
            }
        }
        Ok(RunWarnings { not_finite, clamped })
    }

    /// Reads the counters of the last run, grouped by node. Empty if no kernel counts anything.
    async fn counts(&mut self, wait: Wait) -> Result<Vec<u32>, GpuError> {
        self.settle(wait).await?;
        let Some(counters) = self.resident.as_ref().and_then(|held| held.program.counters()) else {
            return Ok(Vec::new());
        };
        let gpu = &self.gpu;
        let buffer = self.staging.readback(gpu, "counts", counters.size())?;
        let (mapping, submitted) = gpu.scoped(WHAT, || {
            let descriptor = wgpu::CommandEncoderDescriptor { label: Some("counts") };
            let mut encoder = gpu.device.create_command_encoder(&descriptor);
            encoder.copy_buffer_to_buffer(counters, 0, buffer.get(), 0, counters.size());
            let mapping = Mapping::on_submit(&encoder, buffer.get(), wgpu::MapMode::Read);
            (mapping, gpu.submit([encoder.finish()]))
        })?;
        mapping.finish(gpu, wait, Some(&submitted), WHAT).await?;
        let view = buffer.get().get_mapped_range(..).map_err(|error| gpu.unmapped(error))?;
        let counts = bytemuck::pod_collect_to_vec(&view);
        drop(view);
        buffer.get().unmap();
        buffer.keep();
        Ok(counts)
    }
}
