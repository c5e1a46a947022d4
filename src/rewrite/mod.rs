//! The rewriter: a graph to a smaller graph that computes the same. Knows no device and no memory.
//!
//! A rule is a file, looks at one node at a time and answers with an edit or a reason. To add one, write the
//! file and put it in [`RULES`]. `views` alone changes nothing: it says which nodes that are left need no step.

mod activation;
mod arithmetic;
mod dead;
mod edit;
mod flatten;
mod identity;
mod pad;
mod report;
mod reshape_chain;
mod residual;
mod rules;
mod site;
mod tail;
mod transpose_reshape;
mod views;
mod why_not;

pub use report::{Fired, Missed, Place, Report};
pub use rules::{RULES, Rule, Rules, UnknownRule};
pub(crate) use site::operands;
pub use views::{Views, texels_agree};
pub use why_not::WhyNot;

use crate::graph::Graph;
use site::Site;

/// What the rewriter made of a graph.
#[derive(Clone, Debug)]
pub struct Rewritten {
    /// The graph, each node after those that compute its operands.
    pub graph: Graph,
    /// Its nodes that need no step.
    pub views: Views,
    /// What was done, and what was not.
    pub report: Report,
}

/// Applies the rules that are on until none of them finds anything more. With none on the graph is a copy.
pub fn rewrite(graph: &Graph, rules: &Rules) -> Rewritten {
    let mut made = graph.clone();
    let mut report = Report { nodes_before: graph.nodes.len(), ..Report::default() };
    loop {
        let fired = report.fired.len();
        report.missed.clear();
        for rule in rules.iter() {
            sweep(&mut made, rule, &mut report);
        }
        if report.fired.len() == fired {
            break;
        }
    }
    let views = match rules.is_on(views::NAME) {
        true => views::find(&Site::new(&made), &mut report),
        false => Views::none(),
    };
    report.nodes_after = made.nodes.len() - views.len();
    Rewritten { graph: made, views, report }
}

/// Shows every node to a rule. After a change the same place is shown again, for another node may stand there now;
/// what a change makes possible further up is found in the next round.
fn sweep(graph: &mut Graph, rule: &Rule, report: &mut Report) {
    let mut id = 0;
    while id < graph.nodes.len() {
        let site = Site::new(graph);
        id = look_from(&site, id, rule, report).map_or(graph.nodes.len(), |(id, edit)| {
            edit.apply(graph);
            id
        });
    }
}

/// Shows nodes to a rule from `id` on, up to the first that it changes.
fn look_from(site: &Site<'_>, first: usize, rule: &Rule, report: &mut Report) -> Option<(usize, edit::Edit)> {
    for id in first..site.graph.nodes.len() {
        let place = || Place::of(site.graph, site.node(id));
        match (rule.look)(site, id) {
            Ok(None) => {}
            Ok(Some(edit)) => {
                report.fired.push(Fired { rule: rule.name, place: place() });
                return Some((id, edit));
            }
            Err(why) => report.missed.push(Missed { rule: rule.name, place: place(), why }),
        }
    }
    None
}
