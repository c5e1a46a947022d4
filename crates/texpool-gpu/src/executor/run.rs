//! Running a model with values in and out, blocking or as a task, or encoded into a command encoder of the caller.

use super::{Executor, State};
use crate::{
    Few, GpuError,
    ports::Port,
    resident::Resident,
    staging::Readback,
    streamed::Run,
    transfer::Transfer,
    wait::{RUN, Submitted, Wait},
};
#[cfg(not(target_arch = "wasm32"))]
use crate::{TensorRole, wait::now};
#[cfg(not(target_arch = "wasm32"))]
use std::sync::Arc;
use texpool_ops::graph::NotFinite;
#[cfg(not(target_arch = "wasm32"))]
use texpool_ops::graph::{InputValues, PaddedInput};

impl Executor {
    /// Runs the model on dense values in the file's order, one slice per input of the caller. Returns one vector per
    /// output of the caller. Inputs and outputs bound to textures of the caller are skipped. An output whose extent is
    /// found in the run ([`Graph::bounded`](texpool_ops::graph::Graph::bounded)) has as many values as that leaves. A
    /// [bounded input](texpool_ops::graph::BoundedInput) may be given fewer places than its bound.
    ///
    /// After a failed run the executor remains usable: the next run is correct or fails with a typed error, too.
    /// After a [`GpuError::Timeout`], the next run first waits, up to the timeout again, for the work still on the
    /// device.
    ///
    /// # Errors
    /// [`GpuError::TensorCount`] and [`GpuError::TensorLength`] for a wrong number of inputs or values,
    /// [`GpuError::Timeout`], [`GpuError::Lost`], and other errors of the device.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn run<'v>(&mut self, inputs: &[impl Into<InputValues<'v>> + Copy]) -> Result<Vec<Vec<f32>>, GpuError> {
        let by_value = self.caller_ports(TensorRole::Output).iter().filter(|port| !port.is_bound());
        let mut outputs: Vec<_> = by_value.map(|port| vec![0.0; port.layout().shape.len()]).collect();
        self.run_into(inputs, &mut outputs)?;
        Ok(outputs)
    }

    /// Version of `run` that writes into vectors of the caller, which must have the outputs' lengths. Those of bounded
    /// outputs may have any, and are given theirs. Returns the extents of the outputs. After an error, their contents are
    /// undefined.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    #[cfg(not(target_arch = "wasm32"))]
    pub fn run_into<'v>(
        &mut self,
        inputs: &[impl Into<InputValues<'v>> + Copy],
        outputs: &mut [Vec<f32>],
    ) -> Result<Vec<Vec<usize>>, GpuError> {
        let numbers = by_value(TensorRole::Output, self.caller_ports(TensorRole::Output), outputs.len())?;
        let given = self.given(inputs)?;
        let inputs: Vec<_> = given.iter().map(|(i, values)| (*i, &values[..])).collect();
        let compiled = Arc::clone(&self.compiled);
        let graph = compiled.graph();
        let mut counts = Vec::new();
        for (&i, values) in numbers.iter().zip(&mut *outputs) {
            for bounded in graph.bounded_axes_of_output(i) {
                values.resize(graph.tensors[graph.outputs[i]].dims.iter().product(), 0.0);
                if counts.iter().all(|&(count, _)| count != bounded.count) {
                    counts.push((bounded.count, [0.0; 1]));
                }
            }
        }
        let mut places: Vec<_> = numbers.iter().zip(&mut *outputs).map(|(&i, v)| (i, &mut v[..])).collect();
        places.extend(counts.iter_mut().map(|(i, count)| (*i, &mut count[..])));
        now(self.run_values(Wait::Block, &inputs, &mut places))?;
        let count = |output: usize| counts.iter().find(|(count, _)| *count == output).map(|(_, [value])| *value);
        Ok(numbers.iter().zip(outputs).map(|(&i, values)| graph.cut_output(i, values, count)).collect())
    }

    /// Runs the model on values for some inputs and the current texture contents for the others. Reads back some
    /// outputs. Carried inputs need no values.
    pub async fn run_values(
        &mut self,
        wait: Wait,
        inputs: &[(usize, &[f32])],
        outputs: &mut [(usize, &mut [f32])],
    ) -> Result<(), GpuError> {
        let given: Few<usize> = inputs.iter().map(|(i, _)| *i).collect();
        let from_host = self.values_from_host(&given);
        let mut for_host = self.values_for_host();
        let inputs: Few<_> =
            inputs.iter().copied().chain(from_host.iter().map(|(i, values)| (*i, &values[..]))).collect();
        let mut outputs: Few<_> = outputs.iter_mut().map(|(i, values)| (*i, &mut values[..])).collect();
        outputs.extend(for_host.iter_mut().map(|(i, values)| (*i, &mut values[..])));
        self.submit_and_finish(wait, RUN, &inputs, true, &mut outputs).await?;
        drop(outputs);
        self.store_on_host(for_host);
        Ok(())
    }

    /// Reads outputs in their current state, without a run.
    pub async fn read_values(&mut self, wait: Wait, outputs: &mut [(usize, &mut [f32])]) -> Result<(), GpuError> {
        self.submit_and_finish(wait, "reading outputs", &[], false, outputs).await
    }

    /// Submits a run on the current contents of the inputs' textures.
    pub fn submit(&mut self) -> Result<Submitted, GpuError> {
        self.gpu.check_process()?;
        let gpu = self.gpu.clone();
        let descriptor = wgpu::CommandEncoderDescriptor { label: Some("run") };
        let mut encoder = gpu.scoped(RUN, || gpu.device.create_command_encoder(&descriptor))?;
        self.encode(&mut encoder)?;
        gpu.scoped(RUN, || gpu.submit([encoder.finish()]))
    }

    /// Writes inputs, runs the model if `run` is set, reads outputs, and waits until everything is done. Fails if the run
    /// computed an extent beyond its limit.
    pub(super) async fn submit_and_finish(
        &mut self,
        wait: Wait,
        what: &str,
        inputs: &[(usize, &[f32])],
        run: bool,
        outputs: &mut [(usize, &mut [f32])],
    ) -> Result<(), GpuError> {
        if self.compiled.graph().limits.is_empty() || !run && outputs.is_empty() {
            return self.submit_and_read(wait, what, inputs, run, outputs).await;
        }
        let limits = self.compiled.graph().limits.iter().map(|limit| limit.count);
        let mut counts: Few<(usize, [f32; 1])> =
            limits.filter(|count| outputs.iter().all(|(i, _)| i != count)).map(|count| (count, [0.0])).collect();
        let mut all: Few<(usize, &mut [f32])> = outputs.iter_mut().map(|(i, values)| (*i, &mut values[..])).collect();
        all.extend(counts.iter_mut().map(|(i, count)| (*i, &mut count[..])));
        self.submit_and_read(wait, what, inputs, run, &mut all).await?;
        let value =
            |count: usize| all.iter().find(|(i, _)| *i == count).and_then(|(_, values)| values.first().copied());
        Ok(self.compiled.graph().check_limits(value)?)
    }

    async fn submit_and_read(
        &mut self,
        wait: Wait,
        what: &str,
        inputs: &[(usize, &[f32])],
        run: bool,
        outputs: &mut [(usize, &mut [f32])],
    ) -> Result<(), GpuError> {
        self.gpu.check_process()?;
        check_lengths(&self.inputs, inputs.iter().map(|(i, values)| (*i, values.len())))?;
        check_lengths(&self.outputs, outputs.iter().map(|(i, values)| (*i, values.len())))?;
        self.settle(wait).await?;
        self.restore(wait).await?;
        inputs.iter().for_each(|(i, values)| self.note_extent(*i, values));
        self.state = State::Begun(None);
        let (large, small): (Few<_>, Few<_>) =
            inputs.iter().copied().partition(|(i, _)| self.inputs.get(*i).is_some_and(Port::is_in_pieces));
        self.send(wait, what, &large).await?;
        large.iter().for_each(|(i, _)| self.settle_input(*i));
        let inputs = &small[..];
        let at_once: Few<usize> =
            outputs.iter().map(|(i, _)| *i).filter(|i| !self.is_received(*i) && !self.is_streamed(*i)).collect();
        let (submitted, readbacks) = self.submit_run(wait, what, inputs, run, &at_once).await?;
        self.state = State::Begun(Some(submitted.clone()));
        self.gpu.done(wait, &submitted, what).await?;
        for (i, _) in inputs {
            if let Some(upload) = self.inputs.get_mut(*i).and_then(Port::upload) {
                upload.finish(&self.gpu, wait, &submitted, what).await?;
            }
        }
        let mut readbacks = readbacks.into_iter();
        for (i, values) in outputs {
            if self.is_streamed(*i) {
                self.take_streamed(*i, values)?;
            } else if let Some(port) = self.outputs.get(*i).filter(|_| self.is_received(*i)) {
                port.receive(&self.gpu, wait, what, &self.staging, values).await?;
            } else if let Some(readback) = readbacks.next() {
                readback.finish(&self.gpu, wait, Some(&submitted), what, values).await?;
            }
            self.clear_behind_extents(*i, values);
            if let Some(found) = self.not_finite.get_mut(*i) {
                *found = NotFinite::of(values);
            }
        }
        self.note();
        self.state = State::Ready;
        Ok(())
    }

    /// Writes inputs in pieces.
    async fn send(&mut self, wait: Wait, what: &str, inputs: &[(usize, &[f32])]) -> Result<(), GpuError> {
        let Self { gpu, allocations, staging, transfer, inputs: ports, .. } = self;
        for &(i, values) in inputs {
            if let Some(port) = ports.get_mut(i) {
                port.send(gpu, wait, what, (allocations, staging), transfer, values).await?;
            }
        }
        Ok(())
    }

    /// Returns whether an output is read in pieces.
    fn is_received(&self, output: usize) -> bool {
        self.outputs.get(output).is_some_and(Port::is_in_pieces)
    }

    /// Returns whether an output is downloaded from the pool in the middle of a run.
    fn is_streamed(&self, output: usize) -> bool {
        self.outputs.get(output).is_some_and(Port::is_streamed)
    }

    /// Copies a streamed output from the last run into `values`.
    fn take_streamed(&self, output: usize, values: &mut [f32]) -> Result<(), GpuError> {
        let Some(port) = self.outputs.get(output) else { return Ok(()) };
        match self.resident.as_ref().and_then(|held| held.streamed.received(output)) {
            Some(texels) => {
                port.unpack(texels, values);
                Ok(())
            }
            None => port.refuse_streamed(),
        }
    }

    /// Submits the work of `submit_and_finish` and returns the readbacks of the outputs.
    async fn submit_run(
        &mut self,
        wait: Wait,
        what: &str,
        inputs: &[(usize, &[f32])],
        run: bool,
        outputs: &[usize],
    ) -> Result<(Submitted, Few<Readback>), GpuError> {
        for &(i, values) in inputs {
            match self.inputs.get_mut(i) {
                Some(port) if port.is_streamed() => port.pack(values),
                Some(port) => port.write(&self.gpu, &self.staging, values)?,
                None => {}
            }
        }
        self.bind()?;
        self.has_run |= run;
        let given: Few<usize> = inputs.iter().map(|(i, _)| *i).collect();
        let starts = if run { self.prepare_carried(&given)? } else { Vec::new() };
        let mut read: Few<(&Port, Readback)> = Few::new();
        for port in outputs.iter().filter_map(|&i| self.outputs.get(i)) {
            read.push((port, port.readback(&self.gpu, &self.staging)?));
        }
        let Self { ref gpu, inputs: ref mut ports, outputs: ref results, ref carries, ref mut resident, .. } = *self;
        let resident = resident.as_mut().filter(|_| run);
        let mut encoder = gpu.scoped(what, || {
            let mut encoder = gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("run") });
            for (i, _) in inputs {
                if let Some(port) = ports.get_mut(*i) {
                    port.encode_upload(&mut encoder);
                }
            }
            starts.iter().for_each(|start| start.encode(&mut encoder, ports));
            encoder
        })?;
        let ports = &*ports;
        let mut finish = |encoder: &mut wgpu::CommandEncoder| {
            for carry in carries.iter().filter(|_| run) {
                if let (Some(from), Some(to)) = (results.get(carry.output), ports.get(carry.input)) {
                    carry.encode(encoder, from, to);
                }
            }
            for (port, readback) in &mut read {
                if let Some(texture) = port.texture() {
                    readback.encode(texture, encoder);
                }
            }
        };
        let submitted = match resident {
            Some(Resident { program, textures, weights, streamed, .. }) if !streamed.is_empty() => {
                let run = Run { program, textures, packed: weights.packed(), inputs: ports };
                streamed.run(gpu, wait, encoder, run, finish).await?
            }
            resident => gpu.scoped(what, || {
                if let Some(resident) = resident {
                    resident.program.encode(&mut encoder);
                }
                finish(&mut encoder);
                gpu.submit([encoder.finish()])
            })?,
        };
        let readbacks = read.into_iter().map(|(_, readback)| readback).collect();
        self.note();
        for (i, _) in inputs {
            if let Some(port) = self.inputs.get_mut(*i) {
                port.set_filled();
            }
        }
        if run {
            self.settle_carried();
        }
        Ok((submitted, readbacks))
    }

    /// Waits for remaining work of a run that did not finish.
    pub(super) async fn settle(&mut self, wait: Wait) -> Result<(), GpuError> {
        self.gpu.check_lost()?;
        if let State::Begun(submitted) = &self.state {
            if let Some(submitted) = submitted {
                self.gpu.done(wait, submitted, "an earlier run that was given up").await?;
            }
            if let Some(begun) = self.transfer.as_ref().and_then(Transfer::begun) {
                self.gpu.done(wait, begun, "an earlier run that was given up").await?;
            }
            // The state of these buffers is unknown, so they are dropped.
            self.inputs.iter_mut().for_each(Port::reset);
            if let Some(resident) = &mut self.resident {
                resident.streamed.reset();
            }
            self.transfer = None;
            self.state = State::Ready;
        }
        Ok(())
    }

    /// Returns the indices of the inputs that are passed by value; an error unless their number is `found`.
    #[cfg(not(target_arch = "wasm32"))]
    fn inputs_by_value(&self, found: usize) -> Result<Vec<usize>, GpuError> {
        by_value(TensorRole::Input, self.caller_ports(TensorRole::Input), found)
    }

    /// Returns the values of the caller's inputs by index, with zeros behind extents that are below their bound, and
    /// those extents.
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) fn given<'v>(
        &self,
        values: &[impl Into<InputValues<'v>> + Copy],
    ) -> Result<Vec<PaddedInput<'v>>, GpuError> {
        let numbers = self.inputs_by_value(values.len())?;
        let pairs: Vec<_> = numbers.into_iter().zip(values).map(|(i, &values)| (i, values.into())).collect();
        let exact = self.compiled.format().max_exact_integer() as usize;
        Ok(self.compiled.graph().padded_inputs(&pairs, exact)?)
    }

    /// Records a submission as running, until [`ended`](Self::ended).
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) fn begun(&mut self, submitted: Option<Submitted>) {
        self.state = State::Begun(submitted);
    }

    /// Records that the work ended successfully.
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) fn ended(&mut self) {
        self.state = State::Ready;
    }

    /// Encodes a run into a command encoder of the caller, on the current contents of the inputs' textures.
    ///
    /// # Errors
    /// [`GpuError::Trimmed`] while the memory is given back, and errors of the device about newly created textures.
    pub fn encode(&mut self, encoder: &mut wgpu::CommandEncoder) -> Result<(), GpuError> {
        self.refuse_streamed()?;
        self.bind()?;
        let starts = self.prepare_carried(&[])?;
        starts.iter().for_each(|start| start.encode(encoder, &self.inputs));
        if let Some(resident) = &self.resident {
            resident.program.encode(encoder);
        }
        for carry in &self.carries {
            if let (Some(from), Some(to)) = (self.outputs.get(carry.output), self.inputs.get(carry.input)) {
                carry.encode(encoder, from, to);
            }
        }
        self.settle_carried();
        self.has_run = true;
        self.note();
        Ok(())
    }

    /// Returns an error if a run takes several submissions, for calls that need a single one.
    fn refuse_streamed(&self) -> Result<(), GpuError> {
        match &self.resident {
            Some(resident) if !resident.streamed.is_empty() => Err(GpuError::Streamed),
            _ => Ok(()),
        }
    }

    /// Encodes copies of outputs, as they will be when the commands execute.
    pub fn encode_readbacks(
        &mut self,
        outputs: &[usize],
        encoder: &mut wgpu::CommandEncoder,
    ) -> Result<Vec<Readback>, GpuError> {
        self.bind()?;
        let ports = outputs.iter().filter_map(|&i| self.outputs.get(i));
        let readbacks = ports.map(|port| port.encode_readback(&self.gpu, &self.staging, encoder)).collect();
        self.note();
        readbacks
    }

    /// Writes an input in a separate submission, without waiting for it.
    pub fn write(&mut self, input: usize, values: &[f32]) -> Result<(), GpuError> {
        self.gpu.check_lost()?;
        check_lengths(&self.inputs, [(input, values.len())].into_iter())?;
        self.note_extent(input, values);
        let Self { gpu, staging, allocations, inputs, .. } = self;
        let Some(port) = inputs.get_mut(input) else { return Ok(()) };
        if port.is_streamed() {
            port.pack(values);
            self.settle_input(input);
            return Ok(());
        }
        port.ensure(gpu, allocations)?;
        port.write(gpu, staging, values)?;
        gpu.scoped("writing an input", || {
            let mut encoder =
                gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("write") });
            port.encode_upload(&mut encoder);
            gpu.submit([encoder.finish()])
        })?;
        port.set_filled();
        self.settle_input(input);
        self.note();
        Ok(())
    }
}

/// Returns the indices of the tensors that are passed by value; an error unless their number is `found`.
#[cfg(not(target_arch = "wasm32"))]
fn by_value(role: TensorRole, ports: &[Port], found: usize) -> Result<Vec<usize>, GpuError> {
    let numbers: Vec<usize> = (0..ports.len()).filter(|&i| !ports[i].is_bound()).collect();
    if numbers.len() == found {
        return Ok(numbers);
    }
    let (in_textures, by_value): (Vec<&Port>, Vec<&Port>) = ports.iter().partition(|port| port.is_bound());
    let names = |ports: Vec<&Port>| ports.into_iter().map(|port| port.name().to_owned()).collect();
    Err(GpuError::TensorCount { role, by_value: names(by_value), in_textures: names(in_textures), found })
}

fn check_lengths(ports: &[Port], mut given: impl Iterator<Item = (usize, usize)>) -> Result<(), GpuError> {
    given.try_for_each(|(i, found)| ports.get(i).map_or(Ok(()), |port| port.check_len(found)))
}
