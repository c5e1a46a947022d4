//! A partition: nodes that texpool runs as one, a session for each of the last few shapes that it was run on.

use std::{
    collections::BTreeMap,
    fmt::Write,
    ops::Range,
    sync::{Arc, Mutex, PoisonError},
};

use texpool::{Context, Model, Session, TensorInfo};

use crate::{
    api::types::ErrorCode,
    extents,
    failure::Failure,
    graph::{Extent, Graph, Node, Part},
    onnx::{self, Written},
    options::Options,
    survey,
};

/// Nodes as their model's author knows them.
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

/// Shapes for which sessions are kept. With a budget it is one, so that all of them together keep it.
const KEPT: usize = 4;

/// What goes in, in the order of the model's inputs.
#[derive(Clone, Debug)]
pub(crate) struct Input {
    pub(crate) name: String,
    /// Its index among what the runtime gives.
    pub(crate) index: usize,
    dims: Vec<Extent>,
}

/// What a caller may give another value of than the one that was compiled.
#[derive(Clone, Debug)]
struct Fixed {
    name: String,
    index: usize,
    dims: Vec<usize>,
    /// Where the value lies in the model.
    range: Range<usize>,
}

/// Shapes of all inputs.
pub(crate) type Shapes = Vec<Vec<usize>>;

/// A partition, as it is kept between runs.
#[derive(Debug)]
pub(crate) struct Partition {
    /// The nodes in words.
    pub(crate) name: String,
    pub(crate) inputs: Vec<Input>,
    fixed: Vec<Fixed>,
    /// The nodes as a model, which sessions borrow their constants from.
    bytes: Arc<Vec<u8>>,
    context: Context,
    options: Arc<Options>,
    /// What it may take of the budget that several partitions share.
    share: Mutex<Option<u64>>,
    /// The last one used at the end.
    sessions: Mutex<Vec<(Shapes, Session)>>,
}

impl Partition {
    /// Copies what is needed of the nodes; compiles them where all extents are known.
    pub(crate) fn new(
        graph: &Graph<'_>,
        [inputs, outputs]: [Vec<String>; 2],
        context: Context,
        options: Arc<Options>,
    ) -> Result<Self, Failure> {
        let find = |name: &String| {
            let found = graph.values.iter().position(|value| value.name == *name);
            found.ok_or_else(|| Failure::interface(format!("`{name}` is no value of the nodes of `{}`", graph.name)))
        };
        let mut part = Part { nodes: (0..graph.nodes.len()).collect(), ..Part::default() };
        part.outputs = outputs.iter().map(find).collect::<Result<_, _>>()?;
        let (mut kept, mut given) = (Vec::new(), Vec::new());
        for (index, name) in inputs.iter().enumerate() {
            let value = find(name)?;
            // The runtime may hand over constants, too, though it was told that they are copied.
            if graph.values[value].constant.is_none() {
                let dims = graph.values[value].dims.clone().unwrap_or_default();
                part.inputs.push(value);
                kept.push(Input { name: name.clone(), index, dims });
            } else if graph.values[value].overridable {
                given.push((index, value));
            }
        }
        let Written { bytes, constants } = onnx::model(graph, &part);
        let fixed = given.into_iter().filter_map(|(index, value)| {
            let (_, range) = constants.iter().find(|(other, _)| *other == value)?;
            let dims = graph.values[value].dims.iter().flatten().filter_map(Extent::known).collect();
            Some(Fixed { name: graph.values[value].name.clone(), index, dims, range: range.clone() })
        });
        let (fixed, bytes) = (fixed.collect(), Arc::new(bytes));
        let (name, share, sessions) = (called(graph), Mutex::default(), Mutex::default());
        let partition = Self { name, inputs: kept, fixed, bytes, context, options, share, sessions };
        if let Some(shapes) = partition.known_shapes() {
            partition.with(&shapes, |_| Ok(()))?;
        }
        Ok(partition)
    }

    /// The shapes of all inputs, where they are known before a run or the user says them.
    fn known_shapes(&self) -> Option<Shapes> {
        let said = &self.options.reading.dims;
        let extent = |input: &Input, axis: usize| match &input.dims[axis] {
            Extent::Known(extent) => Some(*extent),
            Extent::Named(name) => said.get(&extents::place(&input.name, axis)).or_else(|| said.get(name)).copied(),
            Extent::Unknown => said.get(&extents::place(&input.name, axis)).copied(),
        };
        let shape = |input: &Input| (0..input.dims.len()).map(|axis| extent(input, axis)).collect();
        self.inputs.iter().map(shape).collect()
    }

    /// The model for shapes.
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
            let mut builder = self.context.compile(&model).named_options(&self.options.named);
            if let Some(share) = *self.share.lock().unwrap_or_else(PoisonError::into_inner) {
                builder = builder.device_budget(share);
            }
            Ok(builder.build()?.session()?)
        };
        begun().map_err(|failure: Failure| failure.during(&format!("{}, {}", self.name, self.said(shapes))))
    }

    /// Shapes in words.
    fn said(&self, shapes: &Shapes) -> String {
        let mut text = String::from("with ");
        for (i, (input, shape)) in self.inputs.iter().zip(shapes).enumerate() {
            let between = if i == 0 { "" } else { ", " };
            // Writing to a text does not fail.
            _ = write!(text, "{between}`{}` of {shape:?}", input.name);
        }
        text
    }

    /// Does something with the session for these shapes, which is made where there is none. Nobody else has one of this
    /// partition meanwhile.
    pub(crate) fn with<T>(
        &self,
        shapes: &Shapes,
        call: impl FnOnce(&mut Session) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let broken =
            |_| Failure::new(ErrorCode::RuntimeException, "an earlier run ended in a defect; make the session anew");
        let mut sessions = self.sessions.lock().map_err(broken)?;
        let (shapes, mut session) = match sessions.iter().position(|(kept, _)| kept == shapes) {
            Some(at) => sessions.remove(at),
            None => {
                // Before the new one is made, which needs room.
                let kept = if self.options.named.budget().is_some() { 1 } else { KEPT };
                let over = (sessions.len() + 1).saturating_sub(kept);
                sessions.drain(..over);
                (shapes.clone(), self.session(shapes)?)
            }
        };
        let done = call(&mut session);
        sessions.push((shapes, session));
        done
    }

    /// The indices of what was compiled as a constant and may be given nevertheless.
    pub(crate) fn fixed(&self) -> impl Iterator<Item = usize> + '_ {
        self.fixed.iter().map(|fixed| fixed.index)
    }

    /// Checks that what is given is what was compiled.
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
        Err(Failure::new(ErrorCode::NotImplemented, message))
    }

    /// What the last session that was used takes of the device; nothing where there is none yet.
    fn planned(&self) -> Option<u64> {
        let sessions = self.sessions.lock().ok()?;
        sessions.last().map(|(_, session)| session.memory().planned.sum())
    }

    /// Compiles anew so that it takes no more than so many bytes.
    fn keep_within(&self, share: u64) -> Result<(), Failure> {
        *self.share.lock().unwrap_or_else(PoisonError::into_inner) = Some(share);
        let broken =
            |_| Failure::new(ErrorCode::RuntimeException, "an earlier run ended in a defect; make the session anew");
        let shapes: Vec<Shapes> = self.sessions.lock().map_err(broken)?.drain(..).map(|(shapes, _)| shapes).collect();
        shapes.iter().try_for_each(|shapes| self.with(shapes, |_| Ok(())))
    }

    /// What the last session that was used takes, in words; nothing where there is none yet.
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

/// Has partitions share a budget, which each of them keeps by itself already: in proportion to what they take now. Those that
/// wait for their shapes get as much as one of the others does.
pub(crate) fn share_budget(partitions: &[Arc<Partition>], budget: u64) -> Result<(), Failure> {
    let planned: Vec<Option<u64>> = partitions.iter().map(|partition| partition.planned()).collect();
    let known: u64 = planned.iter().flatten().sum();
    let usual = match planned.iter().flatten().count() as u64 {
        0 => budget,
        count => known / count,
    };
    let wanted: Vec<u64> = planned.iter().map(|planned| planned.unwrap_or(usual)).collect();
    let all: u64 = wanted.iter().sum();
    if partitions.len() < 2 || all <= budget {
        return Ok(());
    }
    for (partition, wanted) in partitions.iter().zip(wanted) {
        let share = u128::from(budget) * u128::from(wanted) / u128::from(all);
        partition.keep_within(u64::try_from(share).unwrap_or(budget))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use texpool::{Context, TensorView, TensorViewMut};

    use super::{Partition, share_budget};
    use crate::{
        api::types::ErrorCode,
        devices::Devices,
        failure::Failure,
        graph::{Extent, Graph, Node, Value},
        options::Options,
    };

    /// A function of one tensor, whose extents may be open.
    fn graph(dims: [Extent; 2]) -> Graph<'static> {
        let value = |name: &str| Value {
            name: name.into(),
            kind: 1,
            dims: Some(dims.to_vec()),
            constant: None,
            overridable: false,
        };
        let node = Node { operator: "Neg".into(), inputs: vec![Some(0)], outputs: vec![Some(1)], ..Node::default() };
        Graph {
            name: "main".into(),
            opsets: vec![(String::new(), 17)],
            values: vec![value("x"), value("y")],
            nodes: vec![node],
            inputs: vec![0],
            outputs: vec![1],
        }
    }

    fn partition(context: &Context, dims: [Extent; 2], options: Options) -> Result<Arc<Partition>, Failure> {
        let ports = [vec!["x".to_owned()], vec!["y".to_owned()]];
        Partition::new(&graph(dims), ports, context.clone(), Arc::new(options)).map(Arc::new)
    }

    fn run(partition: &Partition, values: &[f32]) -> Result<Vec<f32>, Failure> {
        let mut found = vec![0.0; values.len()];
        partition.with(&vec![vec![1, values.len()]], |session| {
            let room = TensorViewMut::dense(&mut found);
            Ok(session.run_into([(0, TensorView::dense(values))], [(0, room)])?)
        })?;
        Ok(found)
    }

    /// After a loss every run says so, and whoever asks next gets another device.
    #[test]
    fn a_lost_device_is_an_error_and_the_next_session_has_another() {
        let (devices, options) = (Devices::default(), Options::default());
        let context = devices.context(&options).unwrap();
        let lost = partition(&context, [1, 3].map(Extent::Known), Options::default()).unwrap();
        assert_eq!(run(&lost, &[1.0, 2.0, 3.0]).unwrap(), [-1.0, -2.0, -3.0]);
        context.device().destroy();
        for _ in 0..2 {
            let failure = run(&lost, &[1.0, 2.0, 3.0]).unwrap_err();
            assert_eq!(failure.code, ErrorCode::DeviceReset, "{}", failure.message);
            assert!(failure.message.contains("the device was lost"), "{}", failure.message);
        }
        let context = devices.context(&options).unwrap();
        let fresh = partition(&context, [1, 3].map(Extent::Known), options).unwrap();
        assert_eq!(run(&fresh, &[1.0, 2.0, 3.0]).unwrap(), [-1.0, -2.0, -3.0]);
    }

    #[test]
    fn sessions_of_the_last_shapes_are_kept() {
        let context = Devices::default().context(&Options::default()).unwrap();
        let open = [Extent::Known(1), Extent::Named("length".into())];
        let several = partition(&context, open.clone(), Options::default()).unwrap();
        let kept = |partition: &Partition| -> Vec<usize> {
            partition.sessions.lock().unwrap().iter().map(|(shapes, _)| shapes[0][1]).collect()
        };
        for length in [1, 2, 3, 4, 2, 5] {
            assert_eq!(run(&several, &vec![1.5; length]).unwrap(), vec![-1.5; length]);
        }
        assert_eq!(kept(&several), [3, 4, 2, 5]);
        // With a budget there is one, compiled at once where its extents are said.
        let options = Options::parse([("budget", "1MiB"), ("dim", "length=6")]).unwrap();
        let one = partition(&context, open, options).unwrap();
        assert_eq!(kept(&one), [6]);
        assert_eq!(run(&one, &[2.0; 7]).unwrap(), [-2.0; 7]);
        assert_eq!(kept(&one), [7]);
    }

    /// Each keeps the budget by itself already; together they must.
    #[test]
    fn partitions_share_a_budget() {
        let context = Devices::default().context(&Options::default()).unwrap();
        let budget = 2 << 20;
        let made = || {
            let options = Options::parse([("budget", "2MiB")]).unwrap();
            partition(&context, [Extent::Known(1), Extent::Known(100_000)], options).unwrap()
        };
        let partitions = [made(), made()];
        share_budget(&partitions, budget).unwrap();
        let planned: u64 = partitions.iter().map(|partition| partition.planned().unwrap()).sum();
        assert!(planned <= budget, "{planned}");
        assert_eq!(run(&partitions[0], &vec![1.0; 100_000]).unwrap(), vec![-1.0; 100_000]);
        let failure = share_budget(&partitions, 1 << 10).unwrap_err();
        assert!(
            failure.message.starts_with("the node `y`, with `x` of [1, 100000]: no plan keeps"),
            "{}",
            failure.message
        );
    }
}
