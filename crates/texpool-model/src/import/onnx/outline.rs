//! Lists the nodes of an `.onnx` file in their order. If a node is refused and the file states the type and extents
//! of its result, the result is treated as an input of the nodes that read it.

use std::{
    cell::RefCell,
    collections::{HashMap, HashSet},
    path::Path,
};

use super::{
    bodies, broken,
    functions::Definitions,
    graph_lowering::GraphLowering,
    graph_of,
    model::{Graph, GraphIo},
    model_in,
    node_by_node::Outliner,
    read_nodes,
    stated::{self, Stated},
    tensor::ValueSource,
    wire,
};
use crate::import::{
    ImportOptions,
    error::ImportError,
    label::label,
    meter::Meter,
    model_file::Owner,
    outline::{Format, GraphOutline, NodeOutline, Outline, PartReader, Verdict},
};

/// Returns the outline of a file. `image` is tried for open heights and widths of images.
pub(in crate::import) fn outline(
    owner: Owner,
    path: Option<&Path>,
    options: &ImportOptions,
    image: usize,
) -> Result<Outline, ImportError> {
    let bytes = (*owner).as_ref();
    let meter = RefCell::new(Meter::new(bytes.len()));
    let message = wire::Message::of(bytes, &meter);
    let model = model_in(&message, bytes)?;
    let file = graph_of(&model)?;
    let (mut implicit, mut between) = (Vec::with_capacity(file.nodes.len()), Vec::new());
    for node in &file.nodes {
        implicit.push(bodies::names_read(&message, node).map_err(broken)?);
        between.extend(bodies::results(&message, node).map_err(broken)?);
    }
    // After the results of bodies, since types stated by the file have priority.
    between.extend(stated::between(message).map_err(broken)?);
    let lowering = GraphLowering::new(meter.into_inner());
    let values = ValueSource::new(Owner::clone(&owner), path);
    let mut outliner = Outliner::new(file, Stated::new(file, &between), options, image, lowering, values)?;
    let (open, is_of_image) = outliner.inputs(options)?;
    let verdicts = match Definitions::new(&model) {
        Ok(definitions) => outliner.nodes(&definitions, &implicit),
        Err(error @ ImportError::Opset { .. }) => outliner.none(&error),
        Err(error) => return Err(error),
    };
    let (graph, ports) = graph(file, outliner, verdicts, &implicit)?;
    let (path, options) = (path.map(Path::to_owned), options.clone());
    let reader = PartReader::new(move |part| {
        let ports = [part.inputs, part.outputs]
            .map(|tensors| tensors.iter().filter_map(|&tensor| ports.get(tensor).cloned()).collect());
        read_nodes(Owner::clone(&owner), path.as_deref(), &options, part.nodes, ports)
    });
    Ok(Outline { format: Format::Onnx, graphs: vec![GraphOutline { open, is_of_image, reader, ..graph }] })
}

/// Converts names to indices. Also returns every tensor as an input or output of nodes that are read alone.
fn graph<'m>(
    file: &'m Graph,
    mut outliner: Outliner<'m>,
    verdicts: Vec<(Verdict, u64)>,
    implicit: &[HashSet<String>],
) -> Result<(GraphOutline, Vec<GraphIo>), ImportError> {
    let mut numbers = Numbers::default();
    let computed = file.nodes.iter().flat_map(|node| &node.outputs).chain(file.initializers.iter().map(|t| &t.name));
    let defined_names: HashSet<&str> =
        computed.chain(file.inputs.iter().map(|port| &port.name)).map(String::as_str).collect();
    let mut nodes = Vec::with_capacity(verdicts.len());
    for ((node, (verdict, operations)), implicit) in file.nodes.iter().zip(verdicts).zip(implicit) {
        // Names that bodies read but this graph does not define are local to the bodies. Sorted, because the order of
        // a set is not deterministic.
        let mut implicit: Vec<&str> =
            implicit.iter().filter_map(|name| defined_names.get(name.as_str()).copied()).collect();
        implicit.sort_unstable();
        let node = NodeOutline {
            operator: label(&node.operator()),
            name: label(node.called()[0]),
            inputs: numbers.all(node.inputs.iter().map(String::as_str)),
            outputs: numbers.all(node.outputs.iter().map(String::as_str)),
            implicit: numbers.all(implicit.into_iter()),
            verdict,
            operations,
            calls_once: None,
        };
        outliner.makes(node.size())?;
        nodes.push(node);
    }
    let input_names = file.inputs.iter().map(|port| port.name.as_str()).filter(|name| !outliner.is_constant(name));
    let inputs = numbers.all(input_names);
    let outputs = numbers.all(file.outputs.iter().map(|port| port.name.as_str()));
    let tensors = numbers.names.iter().map(|name| outliner.tensor(name)).collect();
    let mut ports = Vec::with_capacity(numbers.names.len());
    for name in numbers.names {
        let port = outliner.port(name);
        outliner.makes(port.size())?;
        ports.push(port);
    }
    let name = label(&file.name);
    Ok((GraphOutline { name, nodes, tensors, inputs, outputs, ..GraphOutline::default() }, ports))
}

/// Assigns consecutive numbers to names.
#[derive(Debug, Default)]
struct Numbers<'n> {
    names: Vec<&'n str>,
    numbers: HashMap<&'n str, usize>,
}

impl<'n> Numbers<'n> {
    /// Returns the numbers of all nonempty names.
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
