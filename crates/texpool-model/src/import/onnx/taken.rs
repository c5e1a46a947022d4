//! Finds how many places of its result a `NonMaxSuppression` has to find: those that its readers take. Detectors often
//! state no number, and then slice the first hundred from a result of ten thousand boxes.
//!
//! Places are those along the first axis. Slices of it, possibly behind operators that leave the axis as it is, state their
//! number. All other readers take all places.

use std::collections::HashMap;

use super::{
    bodies::captured,
    element_type::element_type,
    model::{Graph, Node, Tensor, own_domain},
    wire::{Message, Read},
};
use texpool_ops::graph::ElementType;

/// Number of places that a reader takes if it may take all.
const ALL: usize = usize::MAX;

/// Memory for each operand, result and constant in addition to its name, in bytes: its places in tables.
const NAME_BYTES: usize = 192;

/// Constants of a graph that are single integers, by name, and `None` for its other values.
#[derive(Debug, Default)]
struct Numbers<'o> {
    own: HashMap<String, Option<i64>>,
    /// The constants of the enclosing graph.
    outer: Option<&'o Self>,
}

impl Numbers<'_> {
    /// Returns the integer that a name has, if it is known. A graph's own names hide equal names around it.
    fn of(&self, name: &str) -> Option<i64> {
        match (self.own.get(name), self.outer) {
            (Some(number), _) => *number,
            (None, Some(outer)) => outer.of(name),
            (None, None) => None,
        }
    }
}

/// Sets [`Node::taken`] in a graph and in branches of it.
pub(super) fn mark(graph: &mut Graph, message: &Message<'_>, file: &[u8]) -> Read<()> {
    if !selects_boxes(graph) {
        return Ok(());
    }
    let outputs = vec![ALL; graph.outputs.len()];
    mark_within(graph, &outputs, None, message, file)
}

/// Sets [`Node::taken`] in a graph. `outputs` has the number of places that are taken of each of its outputs.
fn mark_within(
    graph: &mut Graph,
    outputs: &[usize],
    outer: Option<&Numbers<'_>>,
    message: &Message<'_>,
    file: &[u8],
) -> Read<()> {
    let names = graph.nodes.iter().flat_map(|node| node.inputs.iter().chain(&node.outputs));
    let names = names.chain(graph.initializers.iter().map(|tensor| &tensor.name));
    message.makes(names.map(|name| NAME_BYTES + name.len()).sum())?;
    let numbers = Numbers { own: numbers(graph, file), outer };
    for (index, places) in taken(graph, outputs, &numbers) {
        let node = &mut graph.nodes[index];
        if !node.is_branch() {
            node.taken = places.first().copied().filter(|places| (1..ALL).contains(places));
            continue;
        }
        let bodies = node.attributes.iter_mut().flat_map(|attribute| &mut attribute.bodies);
        for body in bodies.filter_map(|body| body.graph.as_mut()) {
            mark_within(body, &places, Some(&numbers), message, file)?;
        }
    }
    Ok(())
}

/// Returns whether a graph or a body of it has a `NonMaxSuppression`. Bodies have a limited depth.
fn selects_boxes(graph: &Graph) -> bool {
    graph.nodes.iter().any(|node| {
        let mut bodies = node.attributes.iter().flat_map(|attribute| &attribute.bodies);
        is_selection(node) || bodies.any(|body| body.graph.as_ref().is_some_and(selects_boxes))
    })
}

fn is_selection(node: &Node) -> bool {
    node.op == "NonMaxSuppression" && own_domain(&node.domain).is_empty()
}

/// Returns the places that are taken of the results of each `NonMaxSuppression` and `If`, with the index of the node.
fn taken(graph: &Graph, outputs: &[usize], numbers: &Numbers<'_>) -> Vec<(usize, Vec<usize>)> {
    fn note<'g>(taken: &mut HashMap<&'g str, usize>, name: &'g str, places: usize) {
        let most = taken.entry(name).or_default();
        *most = places.max(*most);
    }
    let mut taken = HashMap::new();
    for (port, &places) in graph.outputs.iter().zip(outputs) {
        note(&mut taken, &port.name, places);
    }
    let mut found = Vec::new();
    // Readers of a result come later in the file.
    for (index, node) in graph.nodes.iter().enumerate().rev() {
        let places = |name: &String| taken.get(name.as_str()).copied().unwrap_or_default();
        let results: Vec<usize> = node.outputs.iter().map(places).collect();
        let of_first = taken_by(node, results.first().copied().unwrap_or_default(), numbers);
        for (position, name) in node.inputs.iter().enumerate() {
            note(&mut taken, name, if position == 0 { of_first } else { ALL });
        }
        for name in captured(node) {
            note(&mut taken, name, ALL);
        }
        if is_selection(node) || node.is_branch() {
            found.push((index, results));
        }
    }
    found
}

/// Returns how many places a node takes of its first operand, if `of_result` places are taken of its result.
fn taken_by(node: &Node, of_result: usize, numbers: &Numbers<'_>) -> usize {
    if !own_domain(&node.domain).is_empty() {
        return ALL;
    }
    let number = |position, name, default| number_of(node, position, name, numbers).unwrap_or(default);
    match node.op.as_str() {
        "Cast" | "Identity" => of_result,
        "Gather" => match node.attributes.iter().find(|attribute| attribute.name == "axis") {
            Some(axis) if axis.int > Some(0) => of_result,
            _ => ALL,
        },
        "Squeeze" | "Unsqueeze" if number(1, "axes", None) > Some(0) => of_result,
        "Slice" => {
            let part = [number(1, "starts", None), number(3, "axes", Some(0)), number(4, "steps", Some(1))];
            match (part, number(2, "ends", None)) {
                ([Some(0), Some(0), Some(1)], Some(end)) => usize::try_from(end).map_or(ALL, |end| of_result.min(end)),
                _ => ALL,
            }
        }
        _ => ALL,
    }
}

/// Returns the only integer of an attribute, or of the operand that has taken its place. The outer option is `None` if the
/// node has neither, the inner one if the integer is unknown or one of several.
fn number_of(node: &Node, position: usize, name: &str, numbers: &Numbers<'_>) -> Option<Option<i64>> {
    if let Some(attribute) = node.attributes.iter().find(|attribute| attribute.name == name) {
        return Some(single(&attribute.ints));
    }
    let operand = node.inputs.get(position).filter(|name| !name.is_empty())?;
    Some(numbers.of(operand))
}

/// Returns the values of a graph by name, with their numbers. Constants that a caller may replace have none.
fn numbers(graph: &Graph, file: &[u8]) -> HashMap<String, Option<i64>> {
    let mut numbers = HashMap::new();
    for tensor in &graph.initializers {
        numbers.insert(tensor.name.clone(), integer(tensor, file));
    }
    for port in &graph.inputs {
        numbers.insert(port.name.clone(), None);
    }
    for node in &graph.nodes {
        let is_constant = node.op == "Constant" && own_domain(&node.domain).is_empty();
        let value = node.attributes.first().filter(|_| is_constant).and_then(|attribute| {
            let of_tensor = attribute.tensor.as_ref().and_then(|tensor| integer(tensor, file));
            of_tensor.or(attribute.int).or_else(|| single(&attribute.ints))
        });
        numbers.extend(node.outputs.iter().map(|name| (name.clone(), value)));
    }
    numbers
}

fn single(list: &[i64]) -> Option<i64> {
    match list {
        &[number] => Some(number),
        _ => None,
    }
}

/// Returns the integer of a tensor that has a single one.
fn integer(tensor: &Tensor, file: &[u8]) -> Option<i64> {
    if tensor.is_external || tensor.dims.iter().any(|&extent| extent != 1) {
        return None;
    }
    let raw = tensor.raw.clone().and_then(|range| file.get(range));
    match (element_type(tensor.kind).ok()?, raw) {
        (ElementType::I64, Some(raw)) => raw.try_into().ok().map(i64::from_le_bytes),
        (ElementType::I32, Some(raw)) => raw.try_into().ok().map(|raw| i32::from_le_bytes(raw).into()),
        (ElementType::I64 | ElementType::I32, None) => single(&tensor.ints),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{super::model::Attribute, ALL, Node, Numbers, taken_by};

    /// Integers by name, and others that are unknown.
    fn numbers() -> Numbers<'static> {
        let own = [("0", Some(0)), ("1", Some(1)), ("9", Some(9)), ("-1", Some(-1)), ("x", None)];
        Numbers { own: own.map(|(name, number)| (name.to_owned(), number)).into(), outer: None }
    }

    /// Places that an operator takes if 20 places of its result are taken.
    fn places(op: &str, operands: &[&str], ints: &[(&str, i64)]) -> usize {
        let attribute = |(name, int): &(&str, i64)| Attribute {
            name: (*name).to_owned(),
            int: Some(*int),
            ints: vec![*int],
            ..Attribute::default()
        };
        let inputs = ["x"].iter().chain(operands).map(|name| (*name).to_owned()).collect();
        let attributes = ints.iter().map(attribute).collect();
        taken_by(&Node { op: op.to_owned(), inputs, attributes, ..Node::default() }, 20, &numbers())
    }

    #[test]
    fn slices_from_the_first_place_on_take_as_many_as_they_state() {
        assert_eq!(places("Slice", &["0", "9"], &[]), 9);
        assert_eq!(places("Slice", &["0", "9", "0", "1"], &[]), 9);
        assert_eq!(places("Slice", &["0", "9", "", "1"], &[]), 9);
        assert_eq!(places("Slice", &[], &[("starts", 0), ("ends", 30), ("axes", 0)]), 20);
        for others in [["1", "9", "0", "1"], ["0", "-1", "0", "1"], ["0", "9", "1", "1"], ["0", "9", "0", "-1"]] {
            assert_eq!(places("Slice", &others, &[]), ALL, "{others:?}");
        }
        assert_eq!(places("Slice", &["0", "x"], &[]), ALL);
        assert_eq!(places("Slice", &["0", "outside"], &[]), ALL);
        assert_eq!(places("Slice", &["0"], &[]), ALL);
    }

    #[test]
    fn operators_that_leave_the_first_axis_take_what_is_taken_of_their_results() {
        assert_eq!(places("Cast", &[], &[]), 20);
        assert_eq!(places("Gather", &["0"], &[("axis", 1)]), 20);
        assert_eq!(places("Gather", &["0"], &[]), ALL);
        assert_eq!(places("Gather", &["0"], &[("axis", -1)]), ALL);
        assert_eq!(places("Squeeze", &["1"], &[]), 20);
        assert_eq!(places("Squeeze", &[], &[("axes", 1)]), 20);
        assert_eq!(places("Unsqueeze", &["0"], &[]), ALL);
        assert_eq!(places("Squeeze", &[], &[]), ALL);
        assert_eq!(places("Neg", &[], &[]), ALL);
    }
}
