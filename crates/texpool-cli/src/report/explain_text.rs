//! Text form of the report on a delegate's selection. Equal entries share a line.

use super::{
    explain::{BoundaryReport, ExplainReport, GraphReport, NodeReport, NodeVerdict, PartitionReport},
    grouped,
};
use std::{collections::HashMap, fmt};
use texpool_plan::printable;

/// Number of names, tensors and reasons shown from a list; the data has all of them. Chosen, so that the text fits on
/// a screen.
const SHOWN: usize = 8;
/// Limit on the partitions and reasons listed.
const SHOWN_GROUPS: usize = 24;

impl fmt::Display for ExplainReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { model, host, graphs } = self;
        let (model, host) = (printable(model), printable(host));
        let mut whole = graphs.iter().filter(|graph| graph.is_whole());
        if let (Some(first), true) = (whole.next(), whole.count() + 1 == graphs.len()) {
            let nodes = first.taken + first.known;
            write!(f, "{model} in {host}: all of it runs on texpool, {}", counted(nodes, "node"))?;
            writeln!(f, "{}", first.partitions.first().map_or(String::new(), |part| format!("; {}", copies(part))))?;
            return first.open(f);
        }
        for (index, graph) in graphs.iter().enumerate() {
            let body = match index {
                0 => String::new(),
                _ => format!(", graph {index} `{}`", printable(&graph.graph)),
            };
            write!(f, "{model} in {host}{body}: ")?;
            graph.summary(f)?;
            graph.details(f, &host.to_string())?;
        }
        Ok(())
    }
}

impl GraphReport {
    fn summary(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { taken, left, known, unknown, nodes, partitions, .. } = self;
        write!(f, "{taken} of {} would be taken", counted(nodes.len(), "node"))?;
        if !partitions.is_empty() {
            write!(f, ", in {}", counted(partitions.len(), "partition"))?;
        }
        write!(f, "; {left} left")?;
        if *known > 0 {
            write!(f, "; {known} known before a run")?;
        }
        if *unknown > 0 {
            write!(f, "; {unknown} not known beforehand")?;
        }
        writeln!(f)
    }

    fn details(&self, f: &mut fmt::Formatter<'_>, host: &str) -> fmt::Result {
        for (number, partition) in self.partitions.iter().enumerate().take(SHOWN_GROUPS) {
            let nodes = counted(partition.nodes.len(), "node");
            writeln!(f, "\npartition {number}: {nodes}{}; {}", self.span(partition), copies(partition))?;
            tensors(f, "in ", &partition.inputs)?;
            tensors(f, "out", &partition.outputs)?;
        }
        more(f, "\n", self.partitions.len(), SHOWN_GROUPS, "partition")?;
        self.refused(f, NodeVerdict::Left, &format!("left to {host}"))?;
        self.refused(f, NodeVerdict::Unknown, "not known beforehand, and counted as left")?;
        self.open(f)
    }

    /// Returns the first and the last node of a partition.
    fn span(&self, partition: &PartitionReport) -> String {
        let called = |node: &usize| self.nodes.get(*node).map(|node| printable(&node.name));
        match &partition.nodes[..] {
            [first, .., last] => match (called(first), called(last)) {
                (Some(first), Some(last)) => format!(" from `{first}` to `{last}`"),
                _ => String::new(),
            },
            [only] => called(only).map_or(String::new(), |only| format!(" `{only}`")),
            [] => String::new(),
        }
    }

    /// Prints the nodes that are not taken, grouped by operator and reason.
    fn refused(&self, f: &mut fmt::Formatter<'_>, verdict: NodeVerdict, title: &str) -> fmt::Result {
        let mut groups: Vec<Vec<&NodeReport>> = Vec::new();
        let mut numbers = HashMap::new();
        for node in self.nodes.iter().filter(|node| node.verdict == verdict) {
            let number = *numbers.entry((&node.operator, &node.reason, &node.hint)).or_insert(groups.len());
            match groups.get_mut(number) {
                Some(group) => group.push(node),
                None => groups.push(vec![node]),
            }
        }
        if groups.is_empty() {
            return Ok(());
        }
        writeln!(f, "\n{title}:")?;
        for group in groups.iter().take(SHOWN_GROUPS) {
            let Some(first) = group.first() else { continue };
            let [reason, hint] = [&first.reason, &first.hint].map(|text| text.as_deref().unwrap_or_default());
            let (operator, reason) = (printable(&first.operator), printable(reason));
            writeln!(f, "  {} {operator}: {reason}; {hint}", group.len())?;
            let names: Vec<String> =
                group.iter().take(SHOWN).map(|node| format!("`{}`", printable(&node.name))).collect();
            let rest = group.len().saturating_sub(SHOWN);
            let rest = if rest > 0 { format!(" and {rest} more") } else { String::new() };
            writeln!(f, "    {}{rest}", names.join(", "))?;
        }
        more(f, "  ", groups.len(), SHOWN_GROUPS, "reason")
    }

    fn open(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.open_extents[..] {
            [] => Ok(()),
            open => writeln!(f, "\nopen, so that what depends on it is not known beforehand: {}", open.join(", ")),
        }
    }
}

fn tensors(f: &mut fmt::Formatter<'_>, way: &str, tensors: &[BoundaryReport]) -> fmt::Result {
    for BoundaryReport { name, element_type, dims, bytes: size } in tensors.iter().take(SHOWN) {
        let extent = |extent: &Option<usize>| extent.map_or("?".to_owned(), |extent| extent.to_string());
        let dims = dims.as_ref().map_or("of unknown extents".to_owned(), |dims| {
            format!("[{}]", dims.iter().map(extent).collect::<Vec<_>>().join(", "))
        });
        let element_type = element_type.as_deref().unwrap_or("of an unknown type");
        writeln!(f, "  {way} `{}` {element_type} {dims}: {}", printable(name), bytes(*size))?;
    }
    more(f, "  ", tensors.len(), SHOWN, "tensor")
}

/// Describes the copies of a partition.
fn copies(partition: &PartitionReport) -> String {
    format!("each run copies in {}, out {}", bytes(partition.input_bytes), bytes(partition.output_bytes))
}

fn bytes(bytes: Option<u64>) -> String {
    match bytes {
        Some(1) => "1 byte".to_owned(),
        Some(bytes) => format!("{} bytes", grouped(bytes)),
        None => "a number of bytes not known beforehand".to_owned(),
    }
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Returns the line that ends a shortened list.
fn more(f: &mut fmt::Formatter<'_>, before: &str, count: usize, shown: usize, what: &str) -> fmt::Result {
    match count.saturating_sub(shown) {
        0 => Ok(()),
        rest => writeln!(f, "{before}and {} more", counted(rest, what)),
    }
}
