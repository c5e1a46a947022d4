//! Tests whether nodes can be computed on the device, before the provider takes them.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use texpool::{CompiledModel, Context, Error, Model, StopReason, Uncomputable};

use crate::{
    extents,
    graph::{Graph, Part},
    options::Options,
    partition::{PlannedPartition, search},
};

/// The tests for a session of the runtime, and the outcomes of their searches.
pub(crate) struct Trials {
    context: Context,
    options: Arc<Options>,
    /// Outcomes for the partitions that will contain the nodes, keyed by the names of the nodes' results.
    outcomes: Mutex<BTreeMap<Vec<String>, PlannedPartition>>,
}

impl Trials {
    pub(crate) fn new(context: Context, options: Arc<Options>) -> Self {
        Self { context, options, outcomes: Mutex::default() }
    }

    /// Compiles nodes as a model. Returns the node that cannot be computed on the device, if any. Other errors are
    /// ignored here, since they are reported when the partition is created.
    ///
    /// A model of guessed extents may never run, and a search for its plan takes seconds. So it is searched for only if
    /// a quick compilation fails. The outcome for known extents is kept for the partition.
    pub(crate) fn run(&self, graph: &Graph<'_>, part: &Part, model: &Model) -> Option<(Uncomputable, String)> {
        let all_stated = extents::all_stated(graph, part, &self.options.reading.dims);
        if !all_stated && self.compile_quickly(model).is_ok() {
            return None;
        }
        let compiled = search(&self.context, model, &self.options, None);
        // What the memory holds at guessed extents says nothing about others.
        let guessed_too_large = |error: &Error| !all_stated && error.is_out_of_memory();
        let outcome = compiled.and_then(|compiled| compiled.session().map(drop).map(|()| compiled));
        if let Err(error) = &outcome
            && !guessed_too_large(error)
            && let Some(uncomputable) = error.uncomputable()
        {
            return Some((uncomputable, error.to_string()));
        }
        if all_stated {
            self.keep(graph, part, model, outcome);
        }
        None
    }

    /// Compiles a model without searching for the plan that the options ask for. A failure is not final: in stripes of
    /// rows, the model may fit limits that it exceeds here.
    fn compile_quickly(&self, model: &Model) -> Result<(), Error> {
        self.context.compile(model).named_options(&self.options.named.for_trial()).build()?.session().map(drop)
    }

    /// Keeps the outcome of a search: a plan, or that no plan fits the budget. Other errors, and plans whose search was
    /// ended by Ctrl-C, belong to this moment only.
    fn keep(&self, graph: &Graph<'_>, part: &Part, model: &Model, outcome: Result<CompiledModel, Error>) {
        let plan = match outcome {
            Ok(compiled) if compiled.stopped() != Some(StopReason::Cancelled) => Ok(compiled.save()),
            Err(error @ Error::Compile(_)) => Err(error),
            _ => return,
        };
        let shapes = model.inputs().iter().map(|input| (input.name.clone(), input.dims.clone())).collect();
        let results = key(part.outputs.iter().map(|&value| graph.values[value].name.clone()));
        let mut outcomes = self.outcomes.lock().unwrap_or_else(PoisonError::into_inner);
        outcomes.insert(results, PlannedPartition { shapes, plan });
    }

    /// Returns the outcome for the nodes with these results, once.
    pub(crate) fn take(&self, results: impl Iterator<Item = String>) -> Option<PlannedPartition> {
        self.outcomes.lock().unwrap_or_else(PoisonError::into_inner).remove(&key(results))
    }
}

/// Returns the key by which nodes are recognized after the runtime has fused them: the sorted names of their results.
fn key(results: impl Iterator<Item = String>) -> Vec<String> {
    let mut names: Vec<String> = results.collect();
    names.sort_unstable();
    names
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, sync::Arc};

    use texpool::Error;
    use texpool_model::import::FakeQuant;

    use super::Trials;
    use crate::{
        devices::Devices,
        graph::{Extent, Graph, Node, Value},
        onnx,
        options::Options,
        survey::read,
    };

    /// Returns a graph with one unary node on a vector.
    fn graph(length: Extent) -> Graph<'static> {
        let dims = Some(vec![Extent::Known(1), length]);
        let value =
            |name: &str| Value { name: name.into(), kind: 1, dims: dims.clone(), constant: None, overridable: false };
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

    /// Tries the node with a length of 64. Returns the outcome of the search, if there was one.
    fn trial_plan(length: Extent, options: &[(&str, &str)]) -> Option<Result<Vec<u8>, Error>> {
        let options = Arc::new(Options::parse(options.iter().copied()).unwrap());
        let trials = Trials::new(Devices::default().context(&options).unwrap(), options);
        let graph = graph(length);
        let part = graph.part(vec![0]);
        let bytes = Arc::new(onnx::model(&graph, &part).bytes);
        let dims = match graph.values[0].dims.as_deref() {
            Some([_, Extent::Known(_)]) => BTreeMap::new(),
            _ => BTreeMap::from([("x:1".to_owned(), 64)]),
        };
        let model = read(&bytes, dims, FakeQuant::default()).unwrap();
        assert_eq!(trials.run(&graph, &part, &model), None);
        let trial = trials.take(["y".to_owned()].into_iter());
        assert!(trials.take(["y".to_owned()].into_iter()).is_none());
        trial.map(|trial| trial.plan)
    }

    /// A plan is searched for only if it is known that the partition needs it.
    #[test]
    fn plans_are_found_for_known_extents_alone() {
        let open = || Extent::Named("length".into());
        assert!(trial_plan(Extent::Known(64), &[("budget", "1MiB")]).unwrap().is_ok());
        assert!(trial_plan(open(), &[("budget", "1MiB"), ("dim", "length=64")]).unwrap().is_ok());
        assert!(trial_plan(Extent::Unknown, &[("dim", "x:1=64")]).unwrap().is_ok());
        assert!(trial_plan(open(), &[("budget", "1MiB")]).is_none());
        assert!(trial_plan(Extent::Unknown, &[("objective", "smallest")]).is_none());
        // That no plan fits is also found only once.
        let refused = trial_plan(Extent::Known(64), &[("budget", "1KiB")]).unwrap().unwrap_err();
        assert!(refused.to_string().starts_with("no plan keeps"), "{refused}");
    }
}
