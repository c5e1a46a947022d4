//! Reports which nodes of a graph are taken and which are left, as text and as JSON.

use std::fmt::Write as _;

use texpool::plan::printable;

use crate::host::Layout;

/// Result of the selection for a graph.
#[derive(Clone, Debug, Default)]
pub(crate) struct GraphReport {
    pub(crate) layout: Layout,
    pub(crate) nodes: Vec<NodeReport>,
    pub(crate) parts: Vec<PartReport>,
}

/// Result of the selection for a node.
#[derive(Clone, Debug)]
pub(crate) struct NodeReport {
    pub(crate) index: i32,
    /// Name of the operator in the file's format.
    pub(crate) operator: String,
    /// Name of the node's result.
    pub(crate) result: String,
    /// Reason why the node is left to the runtime, or `None` if it is taken.
    pub(crate) refusal: Option<String>,
}

/// A set of nodes that form one kernel.
#[derive(Clone, Debug, Default)]
pub(crate) struct PartReport {
    pub(crate) nodes: Vec<i32>,
    /// Tensors that are copied to the device in every run, with their sizes in bytes.
    pub(crate) inputs: Vec<(String, usize)>,
    /// Tensors that are copied back in every run, with their sizes in bytes.
    pub(crate) outputs: Vec<(String, usize)>,
    /// Device memory and plan, once the part is planned.
    pub(crate) planned: Option<PartMemory>,
}

/// Device memory of a part, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PartMemory {
    pub(crate) pool: u64,
    /// Total of the pool, the weights and everything else.
    pub(crate) device: u64,
    /// Size of the blocks allocated from the driver for all parts on the device, if the driver reports it.
    pub(crate) reserved: Option<u64>,
    /// True if the search for a plan ended early, for example at its deadline.
    pub(crate) stopped: bool,
}

impl GraphReport {
    /// Returns the number of nodes that are left to the runtime.
    pub(crate) fn left_count(&self) -> usize {
        self.nodes.len() - self.taken_count()
    }

    fn taken_count(&self) -> usize {
        self.nodes.iter().filter(|node| node.refusal.is_none()).count()
    }

    /// Returns a line for each node that is left.
    pub(crate) fn refusals(&self) -> String {
        self.nodes.iter().filter_map(NodeReport::line).collect::<Vec<_>>().join("\n")
    }

    /// Returns the whole report as text, one line per item.
    pub(crate) fn text(&self) -> String {
        let (taken, all, parts) = (self.taken_count(), self.nodes.len(), self.parts.len());
        let mut text =
            format!("{taken} of {all} nodes are taken, in {parts} part{}\n", if parts == 1 { "" } else { "s" });
        for (number, part) in self.parts.iter().enumerate() {
            let [copied_in, copied_out] = [&part.inputs, &part.outputs].map(|list| sum(list));
            let nodes = part.nodes.len();
            let _ = writeln!(text, "part {number}: {nodes} nodes, {copied_in} bytes copied in, {copied_out} out");
        }
        if taken < all {
            let _ = writeln!(text, "left to the runtime:\n{}", self.refusals());
        }
        text
    }

    fn json(&self) -> String {
        let mut json = String::from("{\"layout\":{");
        let Layout { tensor, node, registration } = self.layout;
        let sizes = [("TfLiteTensor", tensor), ("TfLiteNode", node), ("TfLiteRegistration", registration)];
        let sizes = sizes.iter().filter_map(|(name, size)| Some(format!("\"{name}\":{}", size.as_ref()?)));
        json += &sizes.collect::<Vec<_>>().join(",");
        let nodes = self.nodes.iter().map(NodeReport::json).collect::<Vec<_>>().join(",\n");
        let parts = self.parts.iter().map(PartReport::json).collect::<Vec<_>>().join(",\n");
        let _ = write!(json, "}},\"taken\":{},\"nodes\":[\n{nodes}],\n\"parts\":[\n{parts}]}}", self.taken_count());
        json
    }
}

impl NodeReport {
    /// Returns a line with the reason why the node is left, or `None` if it is taken.
    pub(crate) fn line(&self) -> Option<String> {
        let [operator, result, reason] =
            [&self.operator, &self.result, self.refusal.as_ref()?].map(|text| printable(text));
        Some(format!("node {} {operator} `{result}`: {reason}", self.index))
    }

    fn json(&self) -> String {
        let Self { index, operator, result, refusal } = self;
        let refusal = refusal.as_ref().map_or("null".to_owned(), |reason| quoted(reason));
        let (operator, result) = (quoted(operator), quoted(result));
        format!("{{\"node\":{index},\"operator\":{operator},\"result\":{result},\"left\":{refusal}}}")
    }
}

impl PartReport {
    fn json(&self) -> String {
        let list = |tensors: &[(String, usize)]| {
            let one = |(name, bytes): &(String, usize)| format!("{{\"name\":{},\"bytes\":{bytes}}}", quoted(name));
            tensors.iter().map(one).collect::<Vec<_>>().join(",")
        };
        let (nodes, inputs, outputs) = (&self.nodes, list(&self.inputs), list(&self.outputs));
        let planned = self.planned.map_or("null".to_owned(), |planned| {
            let PartMemory { pool, device, reserved, stopped } = planned;
            let reserved = reserved.map_or("null".to_owned(), |bytes| bytes.to_string());
            format!("{{\"pool\":{pool},\"device\":{device},\"reserved\":{reserved},\"stopped\":{stopped}}}")
        });
        format!("{{\"nodes\":{nodes:?},\"inputs\":[{inputs}],\"outputs\":[{outputs}],\"planned\":{planned}}}")
    }
}

/// Returns the contents of a file for several graphs.
pub(crate) fn file<'r>(graphs: impl Iterator<Item = &'r GraphReport>) -> String {
    let graphs = graphs.map(GraphReport::json).collect::<Vec<_>>().join(",\n");
    format!("{{\"version\":{},\"graphs\":[\n{graphs}]}}\n", quoted(env!("CARGO_PKG_VERSION")))
}

fn sum(tensors: &[(String, usize)]) -> usize {
    tensors.iter().map(|(_, bytes)| bytes).sum()
}

/// Returns a JSON string.
fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_left_are_named_with_a_reason() {
        let node = |index, refusal: Option<&str>| NodeReport {
            index,
            operator: "REVERSE_V2".to_owned(),
            result: "a\"b\n".to_owned(),
            refusal: refusal.map(str::to_owned),
        };
        let report = GraphReport { nodes: vec![node(3, None), node(4, Some("why"))], ..GraphReport::default() };
        assert_eq!((report.left_count(), &*report.refusals()), (1, "node 4 REVERSE_V2 `a\"b\\n`: why"));
        assert!(report.json().contains(r#"{"node":4,"operator":"REVERSE_V2","result":"a\"b\u000a","left":"why"}"#));
    }
}
