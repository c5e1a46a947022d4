//! The rewriter: a graph to a smaller graph that computes the same. Knows no device and no memory.
//!
//! A rule is a file, looks at one node at a time and answers with an edit or a reason. To add one, write the
//! file and put it in [`RULES`]. `views` and `in_place` change nothing: they say which nodes that are left need no step.

mod activation;
mod activation_sink;
mod affine;
mod affine_chain;
mod bounds;
mod concat_activation;
mod concat_zeros;
mod dead;
mod edit;
mod epilogue;
mod exact_division;
mod flatten;
mod fold_into_consumer;
mod fold_into_producer;
mod gelu;
mod hard_sigmoid;
mod identity;
mod in_place;
mod linear;
mod mask;
mod normalize;
mod numerics;
mod pad;
mod pattern_match;
mod power;
mod report;
mod reshape_chain;
mod residual;
mod row_means;
mod rule;
mod rules;
mod same_size;
mod site;
mod skip_reason;
mod softmax;
mod split;
mod swish_mish;
mod term;
mod transpose_chain;
mod transpose_reshape;
mod views;
mod weight_indexing;
mod weights;

pub use numerics::{MOST_ABSORBED, Numerics};
pub use report::{Fired, Missed, Place, Report};
pub use row_means::row_means;
pub use rule::Rule;
pub use rules::{RULES, Rules, UnknownRule};
pub use skip_reason::SkipReason;
pub use split::split;

use crate::graph::{Graph, NodeId, NodeSet};
use rule::Order;
use site::Site;

/// What the rewriter made of a graph.
#[derive(Clone, Debug)]
pub struct Rewritten {
    /// The graph, each node after those that compute its operands.
    pub graph: Graph,
    /// Its reshapes that need no step.
    pub views: NodeSet,
    /// Its concatenations that need no step, and its pads whose step has the border alone to write, if whoever computes
    /// a part writes it in place.
    pub in_place: NodeSet,
    /// What was done, and what was not.
    pub report: Report,
}

/// Times that all rules are shown all nodes: what one change makes possible is mostly found in the same round. The catalogue's
/// networks need 2; a graph that would need hundreds is left as it is then, which is right as well, only larger.
const MOST_ROUNDS: usize = 64;

/// Applies the rules that are on until none of them finds anything more. With none on the graph is a copy.
///
/// The graph must have passed its checker: tensor ids are taken at their word.
pub fn rewrite(graph: &Graph, rules: &Rules) -> Rewritten {
    let mut site = Site::new(graph.clone());
    let mut report = Report { nodes_before: graph.nodes.len(), ..Report::default() };
    let mut rounds = 0;
    while rounds < MOST_ROUNDS {
        rounds += 1;
        let fired = report.fired.len();
        report.missed.clear();
        for rule in rules.iter() {
            sweep(&mut site, rule, &mut report);
        }
        if report.fired.len() == fired {
            break;
        }
    }
    let [looked, made] = site.taken();
    tracing::debug!(rounds, looked, made, "rewritten");
    let site = Site::new(site.into_graph());
    let views = match rules.is_on(views::NAME) {
        true => views::find(&site, &mut report),
        false => NodeSet::new(),
    };
    let in_place = match rules.is_on(in_place::NAME) {
        true => in_place::find(&site, &views, &mut report),
        false => NodeSet::new(),
    };
    report.nodes_after = site.graph.nodes.len() - views.len();
    Rewritten { graph: site.graph, views, in_place, report }
}

/// Shows every node to a rule, in its order. What a change makes possible elsewhere is found in the next round.
fn sweep(site: &mut Site, rule: &Rule, report: &mut Report) {
    match rule.order {
        Order::Forward => site.ids().for_each(|id| show(site, id, rule, report)),
        Order::Backward => site.ids().rev().for_each(|id| show(site, id, rule, report)),
    }
}

/// Shows a node to a rule until the rule has nothing more to change there.
fn show(site: &mut Site, id: NodeId, rule: &Rule, report: &mut Report) {
    while !site.is_gone(id) {
        let verdict = (rule.look)(site, id);
        let place = || Place::of(&site.graph, site.node(id));
        match verdict {
            Ok(None) => break,
            Ok(Some(edit)) => {
                report.fired.push(Fired { rule: rule.name, place: place() });
                site.apply(edit);
            }
            Err(why) => {
                report.missed.push(Missed { rule: rule.name, place: place(), why });
                break;
            }
        }
    }
}
