//! A partition: nodes that texpool runs as a unit. Keeps a session for each of the last few shapes.

use std::{
    collections::BTreeMap,
    fmt::Write,
    ops::{ControlFlow, Range},
    sync::{Arc, Mutex, PoisonError, atomic::Ordering},
};

use texpool::{CompiledModel, Context, Error, Model, Session, StopReason, TensorInfo};

use crate::{
    api::types::ErrorCode,
    extents,
    failure::Failure,
    graph::{Extent, Graph, Node, Part},
    onnx::{self, Written},
    options::Options,
    python_signals::interruptible,
    survey,
};

/// Describes the nodes by the names in the model.
fn called(graph: &Graph<'_>) -> String {
    let name = |node: &Node| match node.outputs.iter().flatten().next() {
        Some(&result) if node.name.is_empty() => graph.values[result].name.clone(),
        _ => node.name.clone(),
    };
    match &graph.nodes[..] {
        [first, .., last] => format!("{} nodes from `{}` to `{}`", graph.nodes.len(), name(first), name(last)),
        [only] => format!("the node `{}`", name(only)),
        [] => "no nodes".to_owned(),
    }
}

/// Number of shapes for which sessions are kept. With a budget only one is kept, because a budget limits all of them
/// together.
const KEPT: usize = 4;

/// Number of shapes for which plans are kept. A plan takes a few kilobytes.
const PLANS_KEPT: usize = 256;

/// An input of the partition, in the order of the model's inputs.
#[derive(Clone, Debug)]
pub(crate) struct Input {
    pub(crate) name: String,
    /// Index among the runtime's arguments.
    pub(crate) index: usize,
    dims: Vec<Extent>,
}

/// An input that was compiled as a constant, although the caller may pass another value.
#[derive(Clone, Debug)]
struct FixedInput {
    name: String,
    index: usize,
    dims: Vec<usize>,
    /// Position of the value in the bytes of the model.
    range: Range<usize>,
}

/// Shapes of all inputs.
pub(crate) type Shapes = Vec<Vec<usize>>;

/// A partition, as it is kept between runs.
#[derive(Debug)]
pub(crate) struct Partition {
    /// Description of the nodes.
    pub(crate) name: String,
    pub(crate) inputs: Vec<Input>,
    fixed: Vec<FixedInput>,
    /// The nodes as a model. Sessions borrow its constants.
    bytes: Arc<Vec<u8>>,
    context: Context,
    options: Arc<Options>,
    /// Part of the budget for this partition, if several partitions share one.
    share: Mutex<Option<u64>>,
    /// Sessions by shape, with the most recently used last.
    sessions: Mutex<Vec<(Shapes, Session)>>,
    /// Saved plans by shape, with the most recently used last. Searching takes seconds, and shapes recur.
    plans: Mutex<Vec<(Shapes, Vec<u8>)>>,
}

/// Outcome of a search before the partition was created.
#[derive(Debug)]
pub(crate) struct PlannedPartition {
    /// Shape of each input.
    pub(crate) shapes: BTreeMap<String, Vec<usize>>,
    /// The saved plan, or why there is none.
    pub(crate) plan: Result<Vec<u8>, Error>,
}

/// Searches for a plan, until Ctrl-C is pressed. `share` replaces the budget if it is given.
pub(crate) fn search(
    context: &Context,
    model: &Model,
    options: &Options,
    share: Option<u64>,
) -> Result<CompiledModel, Error> {
    let mut builder = context.compile(model).named_options(&options.named);
    if let Some(share) = share {
        builder = builder.device_budget(share);
    }
    let searched = interruptible(|ends| {
        let goes_on = |_| if ends.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
        builder.progress(goes_on).build()
    });
    searched.map_err(|error| Error::NoThread { reason: error.to_string() })?
}

impl Partition {
    /// Writes the nodes as a model, and compiles them if all extents are known.
    pub(crate) fn new(
        graph: &Graph<'_>,
        [inputs, outputs]: [Vec<String>; 2],
        context: Context,
        options: Arc<Options>,
        trial: Option<PlannedPartition>,
    ) -> Result<Self, Failure> {
        let find = |name: &String| {
            let position = graph.values.iter().position(|value| value.name == *name);
            position.ok_or_else(|| Failure::interface(format!("`{name}` is no value of the nodes of `{}`", graph.name)))
        };
        let mut part = Part { nodes: (0..graph.nodes.len()).collect(), ..Part::default() };
        part.outputs = outputs.iter().map(find).collect::<Result<_, _>>()?;
        let (mut run_inputs, mut overridable) = (Vec::new(), Vec::new());
        for (index, name) in inputs.iter().enumerate() {
            let value = find(name)?;
            // The runtime may pass constants as inputs, although it was informed that they are copied.
            if graph.values[value].constant.is_none() {
                let dims = graph.values[value].dims.clone().unwrap_or_default();
                part.inputs.push(value);
                run_inputs.push(Input { name: name.clone(), index, dims });
            } else if graph.values[value].overridable {
                overridable.push((index, value));
            }
        }
        let Written { bytes, constants } = onnx::model(graph, &part);
        let fixed = overridable.into_iter().filter_map(|(index, value)| {
            let (_, range) = constants.iter().find(|(other, _)| *other == value)?;
            let dims = graph.values[value].dims.iter().flatten().filter_map(Extent::known).collect();
            Some(FixedInput { name: graph.values[value].name.clone(), index, dims, range: range.clone() })
        });
        let (fixed, bytes) = (fixed.collect(), Arc::new(bytes));
        let (name, share, sessions, plans) = (called(graph), Mutex::default(), Mutex::default(), Mutex::default());
        let partition = Self { name, inputs: run_inputs, fixed, bytes, context, options, share, sessions, plans };
        if let Some(shapes) = partition.known_shapes() {
            partition.use_plan(trial, &shapes)?;
            partition.with(&shapes, |_| Ok(()))?;
        }
        Ok(partition)
    }

    /// Keeps the plan that was found for inputs of these shapes. Fails if the search found that there is none. The plan
    /// is later loaded only if the nodes are the same.
    fn use_plan(&self, trial: Option<PlannedPartition>, shapes: &Shapes) -> Result<(), Failure> {
        let same = |trial: &PlannedPartition| {
            self.inputs.iter().zip(shapes).all(|(input, shape)| trial.shapes.get(&input.name) == Some(shape))
        };
        let Some(PlannedPartition { plan, .. }) = trial.filter(same) else { return Ok(()) };
        let plan = plan.map_err(|error| Failure::from(error).during(&self.during(shapes)))?;
        self.plans.lock().unwrap_or_else(PoisonError::into_inner).push((shapes.clone(), plan));
        Ok(())
    }

    /// Returns the shapes of all inputs, if they are known before a run or given by the user.
    fn known_shapes(&self) -> Option<Shapes> {
        let dims = &self.options.reading.dims;
        let shape = |input: &Input| {
            let extents = input.dims.iter().enumerate();
            extents.map(|(axis, extent)| extents::stated(extent, &input.name, axis, dims)).collect()
        };
        self.inputs.iter().map(shape).collect()
    }

    /// Returns the model for the given shapes.
    fn model(&self, shapes: &Shapes) -> Result<Model, Failure> {
        let mut bound = BTreeMap::new();
        for (input, shape) in self.inputs.iter().zip(shapes) {
            if input.dims.len() != shape.len() {
                let message = format!("input `{}` has {} axes, not {}", input.name, input.dims.len(), shape.len());
                return Err(Failure::new(ErrorCode::InvalidArgument, message));
            }
            let open = input.dims.iter().zip(shape).enumerate().filter(|(_, (stated, _))| stated.known().is_none());
            bound.extend(open.map(|(axis, (_, &extent))| (extents::place(&input.name, axis), extent)));
        }
        Ok(survey::read(&self.bytes, bound, self.options.reading.fake_quant)?)
    }

    fn session(&self, shapes: &Shapes) -> Result<Session, Failure> {
        let begun = || {
            let model = self.model(shapes)?;
            Ok(self.compiled(&model, shapes)?.session()?)
        };
        begun().map_err(|failure: Failure| failure.during(&self.during(shapes)))
    }

    /// Compiles the model with the plan kept for these shapes, or searches for a new one.
    fn compiled(&self, model: &Model, shapes: &Shapes) -> Result<CompiledModel, Failure> {
        let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = plans.iter().position(|(other, _)| other == shapes) {
            let saved = plans.remove(at);
            if let Ok(compiled) = self.context.load(model, &saved.1) {
                plans.push(saved);
                return Ok(compiled);
            }
        }
        let share = *self.share.lock().unwrap_or_else(PoisonError::into_inner);
        let compiled = search(&self.context, model, &self.options, share)?;
        // A plan whose search was ended by Ctrl-C is only used for this run.
        if compiled.stopped() != Some(StopReason::Cancelled) {
            let over = (plans.len() + 1).saturating_sub(PLANS_KEPT);
            plans.drain(..over);
            plans.push((shapes.clone(), compiled.save()));
        }
        Ok(compiled)
    }

    /// Describes the nodes with inputs of these shapes.
    fn during(&self, shapes: &Shapes) -> String {
        let mut text = format!("{}, with ", self.name);
        for (i, (input, shape)) in self.inputs.iter().zip(shapes).enumerate() {
            let between = if i == 0 { "" } else { ", " };
            // Writing to a string cannot fail.
            _ = write!(text, "{between}`{}` of {shape:?}", input.name);
        }
        text
    }

    /// Calls a function with the session for these shapes, which is created if necessary. Meanwhile the lock keeps
    /// other threads from using sessions of this partition.
    pub(crate) fn with<T>(
        &self,
        shapes: &Shapes,
        call: impl FnOnce(&mut Session) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let broken =
            |_| Failure::new(ErrorCode::RuntimeException, "an earlier run ended in a defect; make the session anew");
        // Check before taking a lock: in a forked child, the thread that held the lock may not exist.
        self.context.check()?;
        let mut sessions = self.sessions.lock().map_err(broken)?;
        let (shapes, mut session) = match sessions.iter().position(|(other, _)| other == shapes) {
            Some(at) => sessions.remove(at),
            None => {
                // Drop old sessions first, to make room for the new one.
                let most = if self.options.named.budget().is_some() { 1 } else { KEPT };
                let over = (sessions.len() + 1).saturating_sub(most);
                sessions.drain(..over);
                (shapes.clone(), self.session(shapes)?)
            }
        };
        let done = call(&mut session);
        if session.compiled().stopped() != Some(StopReason::Cancelled) {
            sessions.push((shapes, session));
        }
        done
    }

    /// Returns the indices of inputs that were compiled as constants, but may be passed by the caller.
    pub(crate) fn fixed(&self) -> impl Iterator<Item = usize> + '_ {
        self.fixed.iter().map(|fixed| fixed.index)
    }

    /// Checks that a passed value equals the compiled one.
    pub(crate) fn check_fixed(&self, index: usize, dims: &[usize], bytes: &[u8]) -> Result<(), Failure> {
        let Some(fixed) = self.fixed.iter().find(|fixed| fixed.index == index) else { return Ok(()) };
        if fixed.dims == dims && self.bytes.get(fixed.range.clone()) == Some(bytes) {
            return Ok(());
        }
        let name = &fixed.name;
        let message = format!(
            "input `{name}` is given another value than the file gives it, with which {} were compiled: leave it out, or \
             take its value out of the file",
            self.name
        );
        Err(Failure::new(ErrorCode::EpFail, message))
    }

    /// Returns the planned device memory of the session used last, if there is a session.
    pub(crate) fn planned(&self) -> Option<u64> {
        let sessions = self.sessions.lock().ok()?;
        sessions.last().map(|(_, session)| session.memory().planned.sum())
    }

    /// Recompiles the partition to take at most `share` bytes.
    pub(crate) fn keep_within(&self, share: u64) -> Result<(), Failure> {
        *self.share.lock().unwrap_or_else(PoisonError::into_inner) = Some(share);
        self.plans.lock().unwrap_or_else(PoisonError::into_inner).clear();
        let broken =
            |_| Failure::new(ErrorCode::RuntimeException, "an earlier run ended in a defect; make the session anew");
        let shapes: Vec<Shapes> = self.sessions.lock().map_err(broken)?.drain(..).map(|(shapes, _)| shapes).collect();
        shapes.iter().try_for_each(|shapes| self.with(shapes, |_| Ok(())))
    }

    /// Describes the costs of the session used last, if there is a session.
    pub(crate) fn costs(&self) -> Option<String> {
        let sessions = self.sessions.lock().ok()?;
        let (_, session) = sessions.last()?;
        let memory = session.memory();
        let bytes = |infos: &[TensorInfo]| infos.iter().map(TensorInfo::bytes).sum::<usize>();
        let mut text = format!(
            "each run copies {} bytes in and {} bytes out; the device's memory: {} bytes planned",
            bytes(session.inputs()),
            bytes(session.outputs()),
            memory.planned.sum()
        );
        if let Some(allocated) = memory.allocated {
            _ = write!(text, ", {} allocated", allocated.sum());
        }
        if let Some(reserved) = memory.reserved {
            _ = write!(text, "; {reserved} bytes reserved by all sessions of the device");
        }
        Some(text)
    }
}

#[cfg(test)]
mod tests;
