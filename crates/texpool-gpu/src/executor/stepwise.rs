//! Runs a model step by step, for comparisons and timing.

use super::Executor;
use crate::{
    GpuError,
    profile::{DispatchTime, TimestampQueries},
    wait::{Wait, now},
};
use texpool_compile::schedule::StepKind;
use texpool_ops::{graph::InputValues, kernels::Operand};

impl Executor {
    /// Runs the model one step at a time and passes each result to `seen`: the step's number in the schedule, and the
    /// rows that it computed, in dense order. Continues while `seen` returns true. Steps that pad only some rows of a
    /// border are skipped, because the rows inside the border may not be computed yet.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_stepwise<'v>(
        &mut self,
        inputs: &[impl Into<InputValues<'v>> + Copy],
        mut seen: impl FnMut(usize, &[f32]) -> bool,
    ) -> Result<(), GpuError> {
        let given = self.given(inputs)?;
        self.flush_carried()?;
        let inputs: Vec<_> = given.iter().map(|(i, values)| (*i, &values[..])).collect();
        now(self.submit_and_finish(Wait::Block, "writing the inputs", &inputs, false, &mut []))?;
        self.has_run = true;
        let Some(held) = &self.resident else { return Err(GpuError::Trimmed) };
        let placed = held.placed(&self.compiled);
        let mut next = 0;
        for (number, step) in self.compiled.schedule().steps.iter().enumerate() {
            // Poison before a step belongs to it; poison after it belongs to the next step.
            let end = next + held.steps[next..].iter().rposition(|&of| of == Some(number)).map_or(0, |last| last + 1);
            // Copies have no dispatch; uploaded data is passed to `seen` with the step that reads it.
            if step.kind.is_transfer() {
                continue;
            }
            let borders = held.streamed.borders().filter(|border| (next..end).contains(border));
            let mut borders: Vec<usize> = borders.collect();
            borders.dedup();
            for border in borders {
                held.program.run(&self.gpu, next..border)?;
                held.streamed.write(&self.gpu, border, &held.run(&self.inputs))?;
                next = border;
            }
            held.program.run(&self.gpu, next..end)?;
            next = end;
            let result = placed.operand(self.compiled.graph().nodes[step.node].output);
            // The rows inside a partial border may be computed later, and are then passed to `seen` separately.
            let part = |operand: &Operand| step.kind == StepKind::PadBorder && step.rows.len() < operand.shape.rows();
            let Some(operand) = result.filter(|operand| !part(operand)) else { continue };
            if !seen(number, &held.textures.read_rows(&operand, step.rows.clone())?) {
                break;
            }
        }
        Ok(())
    }

    /// Runs the model on the inputs of the last run, each dispatch in a separate pass, and carries no values. Returns
    /// the times of all dispatches in order; `None` if the device has no timestamps.
    ///
    /// # Errors
    /// Errors of the device, including [`GpuError::Timeout`].
    pub fn profile(&mut self) -> Result<Option<Vec<DispatchTime>>, GpuError> {
        now(self.settle(Wait::Block))?;
        now(self.restore(Wait::Block))?;
        self.flush_carried()?;
        self.bind()?;
        let gpu = self.gpu.clone();
        let Some(queries) = TimestampQueries::new(&gpu, &self.allocations, self.dispatches())? else {
            return Ok(None);
        };
        self.note();
        let mut last = None;
        let timed = match &self.resident {
            Some(held) => {
                let mut borders: Vec<usize> = held.streamed.borders().collect();
                borders.dedup();
                let before = |dispatch| held.streamed.write(&gpu, dispatch, &held.run(&self.inputs));
                queries.run(&gpu, &held.program, &borders, &before, &mut |submitted| last = Some(submitted))
            }
            None => return Err(GpuError::Trimmed),
        };
        self.begun(last.clone());
        let what = "a run with timestamps";
        if let Some(last) = &last {
            now(gpu.done(Wait::Block, last, what))?;
        }
        now(timed?.finish(&gpu, Wait::Block, last.as_ref(), what))?;
        let times = queries.times(&gpu)?;
        self.ended();
        let Some(held) = &self.resident else { return Err(GpuError::Trimmed) };
        let dispatches = held.steps.iter().zip(held.program.labels()).zip(times);
        Ok(Some(
            dispatches.map(|((&step, kernel), [begin_ms, ms])| DispatchTime { step, kernel, begin_ms, ms }).collect(),
        ))
    }
}
