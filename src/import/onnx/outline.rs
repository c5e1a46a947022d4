//! The nodes of an `.onnx` file as they stand in it. What a refused node gives is taken as an input for those behind it,
//! where the file states its type and extents.

use std::{
    cell::RefCell,
    collections::{HashMap, HashSet},
    path::Path,
};

use super::{
    Opsets, bodies, broken, called,
    external::External,
    graph_lowering::GraphLowering,
    graph_of,
    model::{Graph, Model},
    node_by_node::Outliner,
    operator,
    stated::{self, Stated},
    tensor::{Owned, ValueSource},
    wire,
};
use crate::import::{
    ImportOptions,
    error::ImportError,
    label::label,
    meter::Meter,
    model_file::Owner,
    outline::{Format, GraphOutline, NodeOutline, Outline, Verdict},
};

/// The graph of a file.
pub(in crate::import) fn outline(
    owner: Owner,
    path: Option<&Path>,
    options: &ImportOptions,
) -> Result<Outline, ImportError> {
    let bytes = (*owner).as_ref();
    let meter = RefCell::new(Meter::new(bytes.len()));
    let message = wire::Message::of(bytes, &meter);
    let model = Model::read(message.clone()).map_err(broken)?;
    let file = graph_of(&model)?;
    let (mut implicit, mut between) = (Vec::with_capacity(file.nodes.len()), Vec::new());
    for node in &file.nodes {
        implicit.push(bodies::names_read(&message, node).map_err(broken)?);
        between.extend(bodies::results(&message, node).map_err(broken)?);
    }
    // Behind those of bodies, since what the file states itself counts.
    between.extend(stated::between(message).map_err(broken)?);
    let lowering = GraphLowering::new(meter.into_inner());
    let values = ValueSource { external: path.map(External::beside).unwrap_or_default(), owner: Owned(owner) };
    let mut outliner = Outliner::new(file, Stated::new(file, &between), options, lowering, values)?;
    let open = outliner.inputs(options)?;
    let verdicts = match Opsets::new(&model) {
        Ok(opsets) => outliner.nodes(&opsets, &implicit),
        Err(error @ ImportError::Opset { .. }) => outliner.none(&error),
        Err(error) => return Err(error),
    };
    let graph = graph(file, outliner, verdicts, &implicit)?;
    let open = open.iter().map(ToString::to_string).collect();
    Ok(Outline { format: Format::Onnx, graphs: vec![GraphOutline { open, ..graph }] })
}

/// All of it by indices.
fn graph<'m>(
    file: &'m Graph,
    mut outliner: Outliner<'m>,
    verdicts: Vec<Verdict>,
    implicit: &[HashSet<String>],
) -> Result<GraphOutline, ImportError> {
    let mut numbers = Numbers::default();
    let computed = file.nodes.iter().flat_map(|node| &node.outputs).chain(file.initializers.iter().map(|t| &t.name));
    let known: HashSet<&str> = computed.chain(file.inputs.iter().map(|port| &port.name)).map(String::as_str).collect();
    let mut nodes = Vec::with_capacity(verdicts.len());
    for ((node, verdict), implicit) in file.nodes.iter().zip(verdicts).zip(implicit) {
        // What bodies read and nobody here computes is their own. Sorted, as a set has no order to rely on.
        let mut implicit: Vec<&str> = implicit.iter().filter_map(|name| known.get(name.as_str()).copied()).collect();
        implicit.sort_unstable();
        let node = NodeOutline {
            operator: label(&operator(node)),
            name: label(called(node)[0]),
            inputs: numbers.all(node.inputs.iter().map(String::as_str)),
            outputs: numbers.all(node.outputs.iter().map(String::as_str)),
            implicit: numbers.all(implicit.into_iter()),
            verdict,
        };
        outliner.makes(node.size())?;
        nodes.push(node);
    }
    let given = file.inputs.iter().map(|port| port.name.as_str()).filter(|name| !outliner.is_constant(name));
    let inputs = numbers.all(given);
    let outputs = numbers.all(file.outputs.iter().map(|port| port.name.as_str()));
    let tensors = numbers.names.iter().map(|name| outliner.tensor(name)).collect();
    Ok(GraphOutline { name: label(&file.name), nodes, tensors, inputs, outputs, open: Vec::new() })
}

/// Numbers of names, in the order in which they come.
#[derive(Debug, Default)]
struct Numbers<'n> {
    names: Vec<&'n str>,
    numbers: HashMap<&'n str, usize>,
}

impl<'n> Numbers<'n> {
    /// Numbers of those that are there.
    fn all(&mut self, names: impl Iterator<Item = &'n str>) -> Vec<usize> {
        names.filter(|name| !name.is_empty()).map(|name| self.of(name)).collect()
    }

    fn of(&mut self, name: &'n str) -> usize {
        *self.numbers.entry(name).or_insert_with(|| {
            self.names.push(name);
            self.names.len() - 1
        })
    }
}
