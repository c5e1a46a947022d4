//! Predicts the cost of a schedule: its dispatches and the time of a run.

use std::{collections::BTreeMap, ops::Range};

use crate::{
    DeviceProfile,
    memory::transfer_buffers::TransferBuffers,
    model::CompiledModel,
    options::{CompileOptions, WeightStorage},
    schedule::{Schedule, Step, StepKind, StorageKind, tiling::dispatches_of},
};
use texpool_ops::{
    graph::{Graph, NodeId},
    ops::{Work, dispatch_rows, work},
};
use texpool_plan::TexelFormat;

/// Costs of a network's operators, independent of the stripes that they run in.
pub(crate) struct CostModel<'a> {
    device_profile: &'a DeviceProfile,
    operators: BTreeMap<NodeId, Operator>,
    /// Fixed cost of a run in microseconds, in addition to its dispatches: submission, and transfers of inputs and
    /// outputs.
    fixed_us: f64,
    buffers: TransferBuffers,
    texel_bytes: u64,
}

struct Operator {
    rows: u32,
    slices: u32,
    work: Work,
    dispatches: Vec<Range<u32>>,
}

impl<'a> CostModel<'a> {
    /// Builds the model from `untiled`, a schedule in which every step computes all rows of its result.
    pub(crate) fn new(graph: &Graph, untiled: &Schedule, options: &'a CompileOptions) -> Self {
        // The pool stays on the device; all storage outside the pool crosses between host and device in every run.
        let outside = untiled.storages.iter().filter(|s| !matches!(s.kind, StorageKind::Intermediate(_)));
        let moved = outside.map(|storage| storage.texels()).sum();
        Self::of(graph, untiled, moved, &options.device_profile, (options.weights, options.format))
    }

    /// Builds the model from any schedule: the stripes of an operator together compute all rows of its result. `moved`
    /// is the number of texels of inputs and outputs.
    fn of(
        graph: &Graph,
        schedule: &Schedule,
        moved: u64,
        device_profile: &'a DeviceProfile,
        (weights, format): (WeightStorage, TexelFormat),
    ) -> Self {
        let mut operators: BTreeMap<NodeId, Operator> = BTreeMap::new();
        for step in schedule.steps.iter().filter(|step| !step.kind.is_transfer()) {
            let operator = operators.entry(step.node).or_insert_with(|| {
                let dispatches = dispatch_rows(graph, &graph.nodes[step.node]);
                Operator { rows: 0, slices: 0, work: step_work(graph, step), dispatches }
            });
            operator.rows = operator.rows.max(step.rows.end);
            operator.slices = operator.slices.max(step.slices.end);
        }
        Self {
            device_profile,
            operators,
            fixed_us: device_profile.run_us + device_profile.transfer_us * moved as f64 / 1e3,
            buffers: TransferBuffers::new(weights),
            texel_bytes: format.texel_bytes(),
        }
    }

    /// Returns the number of dispatches of a run of `schedule`, and its predicted time in microseconds.
    pub(crate) fn predict(&self, schedule: &Schedule) -> (u64, f64) {
        let (mut dispatches, mut predicted_us) = (0, self.fixed_us);
        let (mut uploaded, mut downloaded) = (0, 0);
        for step in &schedule.steps {
            let Some(operator) = self.operators.get(&step.node) else { continue };
            if step.kind.is_transfer() {
                // `fixed_us` already includes the transfer of inputs and outputs, whether they are in the pool or
                // not.
                let storage = &schedule.storages[step.to];
                let row_texels = u64::from(storage.row_texels);
                let (moved, weights) = match (step.kind, storage.tensor()) {
                    (StepKind::Download, _) => (&mut downloaded, 0),
                    (_, Some(_)) => (&mut uploaded, 0),
                    (_, None) => (&mut uploaded, row_texels),
                };
                *moved += row_texels * step.rows.len().max(1) as u64;
                predicted_us += self.device_profile.upload_us * weights as f64 / 1e3 + self.device_profile.copy_us;
                continue;
            }
            let step_dispatches = dispatches_of(&operator.dispatches, &step.rows);
            dispatches += step_dispatches;
            let share = |part: usize, all: u32| part as f64 / f64::from(all.max(1));
            let share = share(step.rows.len(), operator.rows) * share(step.slices.len(), operator.slices);
            // `stripe_us` already includes one dispatch.
            let more = step_dispatches.saturating_sub(1) as f64 * self.device_profile.dispatch_us;
            predicted_us += self.device_profile.stripe_us(&operator.work, share) + more;
        }
        let submissions = self.buffers.submissions(u64::max(uploaded, downloaded) * self.texel_bytes);
        predicted_us += self.device_profile.submission_us * submissions.saturating_sub(1) as f64;
        (dispatches, predicted_us)
    }
}

impl CompiledModel {
    /// Predicts the time of a run in microseconds, on a device with this profile.
    pub fn predicted_us(&self, device_profile: &DeviceProfile) -> f64 {
        let ends = self.graph.inputs.iter().chain(&self.graph.outputs);
        let moved = ends.map(|&tensor| self.graph.tensors[tensor].texels()).sum();
        let stored = (self.lowering.weights, self.format);
        CostModel::of(&self.graph, &self.schedule, moved, device_profile, stored).predict(&self.schedule).1
    }
}

/// Returns the work for computing all rows of the step's result.
fn step_work(graph: &Graph, step: &Step) -> Work {
    let node = &graph.nodes[step.node];
    let work = work(graph, node);
    match (step.kind == StepKind::PadBorder, node.inputs.first()) {
        // The producer of the padded tensor writes its result in place, so this step only has to fill the border.
        (true, Some(&part)) => Work { texels: work.texels - graph.shape(part).texels() as f64, ..work },
        _ => work,
    }
}
