//! Reports which nodes of a session's graphs were taken, which were left and why, and the costs. Written to the log
//! and to a file.

use std::{fmt::Write as _, io, path::Path};

use texpool_cache::write_report;

use crate::{
    graph::{Graph, NodeIndex},
    host::shown,
    survey::Survey,
};

/// Result of the selection for a graph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct GraphReport {
    /// Name of the graph, and name of the node whose body it is, if any.
    pub(crate) key: (String, Option<String>),
    pub(crate) taken_count: usize,
    pub(crate) groups: usize,
    /// Description of each node that is left, with the reason.
    pub(crate) refusals: Vec<String>,
    /// Unknown extents that the user has not given, with the guesses for them.
    pub(crate) guessed: Vec<String>,
    /// Description of each compiled partition, with its costs.
    pub(crate) partitions: Vec<String>,
}

impl GraphReport {
    pub(crate) fn new(graph: &Graph<'_>, parent: Option<String>, survey: &Survey) -> Self {
        let refusals = survey.refusals.iter().map(|(&index, why)| format!("{}: {why}", called(graph, index))).collect();
        Self {
            key: (graph.name.clone(), parent),
            taken_count: survey.parts.iter().map(|part| part.nodes.len()).sum(),
            groups: survey.parts.len(),
            refusals,
            guessed: survey.guessed.clone(),
            partitions: Vec::new(),
        }
    }

    /// Returns a one-line summary.
    pub(crate) fn summary(&self) -> String {
        let (name, parent) = &self.key;
        let body = parent.as_ref().map(|parent| format!(", the body of `{parent}`")).unwrap_or_default();
        let all = self.taken_count + self.refusals.len();
        match self.groups {
            0 => format!("graph `{name}`{body}: none of its {all} nodes is taken, so all of it runs elsewhere"),
            1 => format!("graph `{name}`{body}: {} of {all} nodes are taken, as one partition", self.taken_count),
            groups => {
                format!("graph `{name}`{body}: {} of {all} nodes are taken, in {groups} partitions", self.taken_count)
            }
        }
    }
}

/// Describes a node by its name in the model.
pub(crate) fn called(graph: &Graph<'_>, index: NodeIndex) -> String {
    let node = &graph.nodes[index];
    let result = node.outputs.iter().flatten().next().map_or("", |&value| &graph.values[value].name);
    let name = if node.name.is_empty() { result } else { &node.name };
    format!("node `{name}` {}", node.full_operator())
}

/// Results for all graphs of a session.
#[derive(Clone, Debug, Default)]
pub(crate) struct Report {
    pub(crate) device: String,
    pub(crate) graphs: Vec<GraphReport>,
}

impl Report {
    /// Adds the result for a graph. The runtime queries a graph again after it has expanded functions; by then,
    /// existing partitions were already counted. Returns whether there is anything new to report.
    pub(crate) fn note(&mut self, news: GraphReport) -> bool {
        let Some(entry) = self.graphs.iter_mut().find(|graph| graph.key == news.key) else {
            self.graphs.push(news);
            return true;
        };
        let new = news.refusals.iter().any(|refusal| !entry.refusals.contains(refusal)) || news.taken_count > 0;
        entry.taken_count += news.taken_count;
        entry.groups += news.groups;
        entry.refusals = news.refusals;
        new
    }

    /// Returns the report as text that ends with a line break.
    fn text(&self) -> String {
        let mut text = format!("texpool {} on {}\n", env!("CARGO_PKG_VERSION"), self.device);
        for graph in &self.graphs {
            // Writing to a string cannot fail.
            _ = writeln!(text, "{}", graph.summary());
            graph.partitions.iter().for_each(|partition| _ = writeln!(text, "  {partition}"));
            if !graph.refusals.is_empty() && !graph.guessed.is_empty() {
                // A node may have been left because of these guesses instead of the model.
                let guessed = graph.guessed.join(",");
                _ = writeln!(text, "  open extents were tried as {guessed}; say others by the option `dim`");
            }
            graph.refusals.iter().for_each(|refusal| _ = writeln!(text, "  left: {refusal}"));
        }
        shown(&text) + "\n"
    }

    /// Writes the file atomically, in place of an earlier report only.
    pub(crate) fn write(&self, path: &Path) -> io::Result<()> {
        write_report(path, &self.text())
    }
}

#[cfg(test)]
mod tests {
    use super::{GraphReport, Report};

    fn of(taken_count: usize, groups: usize, refusals: &[&str]) -> GraphReport {
        let refusals = refusals.iter().map(|&refusal| refusal.to_owned()).collect();
        GraphReport { key: ("main".into(), None), taken_count, groups, refusals, guessed: vec![], partitions: vec![] }
    }

    #[test]
    fn a_graph_that_is_asked_about_again_is_told_once() {
        let mut report = Report::default();
        assert!(report.note(of(5, 2, &["node `a` Loop: it stays"])));
        assert!(!report.note(of(0, 0, &["node `a` Loop: it stays"])));
        assert_eq!(report.graphs[0].summary(), "graph `main`: 5 of 6 nodes are taken, in 2 partitions");
        assert!(report.note(of(1, 1, &[])));
        assert_eq!(report.graphs[0].summary(), "graph `main`: 6 of 6 nodes are taken, in 3 partitions");
    }
}
