//! The rewriter turns a graph into a smaller graph that computes the same. Independent of devices and memory.
//!
//! Each rule has its own file. It examines one node at a time and returns an edit or a reason. To add a rule, write
//! the file and put it in [`RULES`]. `winograd` and `separable` change nodes after all rules, and `views` and
//! `in_place` do not change the graph: they find nodes that need no step.

mod activation;
mod activation_sink;
mod affine;
mod affine_chain;
mod bounds;
mod common_subexpression;
mod concat_activation;
mod concat_slices;
mod concat_zeros;
mod constant_epilogue;
mod context;
mod dead;
mod edit;
mod epilogue;
mod exact_division;
mod fake_quant;
mod flatten;
mod fold_into_consumer;
mod fold_into_producer;
mod frames;
mod gated_activation;
mod gelu;
mod hard_sigmoid;
mod heads;
mod identity;
mod in_place;
mod layer_slices;
mod linear;
mod mask;
mod move_chain;
mod normalize;
mod numerics;
mod pad;
mod patches;
mod pattern_match;
mod power;
mod report;
mod reshape_chain;
mod residual;
mod row_means;
mod rule;
mod rules;
mod same_size;
mod separable;
mod skip_reason;
mod softmax;
mod softmax_sum;
mod sorted_segments;
mod split;
mod term;
mod transpose_chain;
mod transpose_matrix;
mod transpose_reshape;
mod two_steps;
mod views;
mod weight_indexing;
mod weights;
mod winograd;

pub use numerics::{MAX_ABSORBED, Numerics};
pub use patches::{Patches, patch_ends, patched};
pub use report::{Fired, Location, Report, Skipped};
pub use row_means::{LARGE_MEAN, row_means};
pub use rule::Rule;
pub use rules::{RULES, Rules, UnknownRule};
pub use skip_reason::SkipReason;
pub use sorted_segments::sorted_segments;
pub use split::split;
pub use two_steps::two_steps;

use context::RewriteContext;
use rule::Order;
use texpool_ops::graph::{Graph, NodeId, NodeSet};

/// Result of the rewriter.
///
/// ```
/// use texpool::rewrite::{Rules, rewrite};
/// use texpool::graph::{Act, GraphBuilder, NodeId, Softmax, Unary};
///
/// let mut b = GraphBuilder::new("flattened");
/// let x = b.input("x", &[1, 1, 8, 4])?;
/// let y = b.unary("y", Unary::Exp, x)?;
/// let flat = b.reshape("flat", y, &[1, 32])?;
/// let z = b.node("z", Softmax { beta: 1.0, log: false }.into(), &[flat], Act::None)?;
/// let rewritten = rewrite(&b.finish(&[z])?, &Rules::exact());
/// // The elements lie in the same texels under both extents, so the reshape takes no step.
/// assert!(rewritten.views.iter().eq([NodeId::new(1)]) && rewritten.in_place.is_empty());
/// assert_eq!((rewritten.graph.nodes.len(), rewritten.report.nodes_after), (3, 2));
/// # Ok::<(), texpool::graph::BuildError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Rewritten {
    /// The graph, with each node after those that compute its operands.
    pub graph: Graph,
    /// Reshapes, and other nodes that leave all texels in place, which need no step.
    pub views: NodeSet,
    /// Concatenations that need no step, and pads whose step only writes the border, provided that the nodes that
    /// compute their parts write in place.
    pub in_place: NodeSet,
    /// The changes, and the reasons for leaving nodes unchanged.
    pub report: Report,
}

/// Upper limit on rounds; in each round all rules examine all nodes. One change mostly enables the next within the
/// same round, and no network of the catalogue needs more than 4 rounds (logged with `TEXPOOL_LOG=texpool=debug`). A
/// graph constructed to need hundreds is left as it is after 64: it computes the same, with more nodes.
const MAX_ROUNDS: usize = 64;

/// Applies the enabled rules until none of them finds anything more. Without enabled rules the result is a copy.
///
/// The graph must be valid (`graph::check`), because tensor ids are not checked again.
///
/// ```
/// use texpool::{
///     graph::{GraphBuilder, Unary},
///     rewrite::{Rules, rewrite},
/// };
///
/// let mut b = GraphBuilder::new("twice");
/// let x = b.input("x", &[1, 8, 8, 3])?;
/// let once = b.unary("once", Unary::Relu, x)?;
/// let twice = b.unary("twice", Unary::Relu, once)?;
/// let graph = b.finish(&[twice])?;
/// let rewritten = rewrite(&graph, &Rules::exact());
/// assert!(rewritten.graph.nodes.len() < graph.nodes.len());
/// println!("{}", rewritten.report);
/// # Ok::<(), texpool::graph::BuildError>(())
/// ```
pub fn rewrite(graph: &Graph, rules: &Rules) -> Rewritten {
    let mut ctx = RewriteContext::new(graph.clone());
    let mut report = Report { nodes_before: graph.nodes.len(), ..Report::default() };
    let (last, others): (Vec<&Rule>, Vec<&Rule>) = rules.iter().partition(|rule| rule.order == Order::Last);
    let mut rounds = 0;
    while rounds < MAX_ROUNDS {
        rounds += 1;
        let fired = report.fired.len();
        // The nodes that earlier rounds gave reasons for may have changed since.
        report.missed.clear();
        for rule in &others {
            sweep(&mut ctx, rule, &mut report);
        }
        if report.fired.len() > fired {
            continue;
        }
        for rule in &last {
            sweep(&mut ctx, rule, &mut report);
        }
        if report.fired.len() == fired {
            break;
        }
    }
    let [read, created] = ctx.charges();
    tracing::debug!(rounds, looked = read, made = created, "rewritten");
    // Rebuilt, so that `views` and `in_place` refer to the node ids of the graph without removed nodes.
    let graph = match rules.is_on(winograd::NAME) {
        true => winograd::apply(ctx.into_graph(), &mut report),
        false => ctx.into_graph(),
    };
    let graph = match rules.is_on(separable::NAME) {
        true => separable::apply(graph, &mut report),
        false => graph,
    };
    let ctx = RewriteContext::new(graph);
    let (views, in_place) = free_nodes(&ctx, rules, &mut report);
    report.nodes_after = ctx.graph.nodes.len() - views.len();
    Rewritten { graph: ctx.graph, views, in_place, report }
}

/// Finds the views, and the nodes whose parts can be written in place, if the rules are on.
fn free_nodes(ctx: &RewriteContext, rules: &Rules, report: &mut Report) -> (NodeSet, NodeSet) {
    let views = match rules.is_on(views::NAME) {
        true => views::find(ctx, report),
        false => NodeSet::new(),
    };
    let in_place = match rules.is_on(in_place::NAME) {
        true => in_place::find(ctx, &views, report),
        false => NodeSet::new(),
    };
    (views, in_place)
}

/// Shows every node to a rule, in the rule's order. Changes that this enables elsewhere are found in the next round.
fn sweep(ctx: &mut RewriteContext, rule: &Rule, report: &mut Report) {
    match rule.order {
        Order::Forward | Order::Last => ctx.ids().for_each(|id| show(ctx, id, rule, report)),
        Order::Backward => ctx.ids().rev().for_each(|id| show(ctx, id, rule, report)),
    }
}

/// Shows a node to a rule until the rule changes nothing more.
fn show(ctx: &mut RewriteContext, id: NodeId, rule: &Rule, report: &mut Report) {
    while !ctx.is_removed(id) {
        let proposal = (rule.propose)(ctx, id);
        let location = || Location::new(&ctx.graph, ctx.node(id));
        match proposal {
            Ok(None) => break,
            Ok(Some(edit)) => {
                // Recorded before the edit, while the node is still the one that the rule examined.
                report.fired.push(Fired { rule: rule.name, location: location() });
                ctx.apply(edit);
            }
            Err(why) => {
                report.missed.push(Skipped { rule: rule.name, location: location(), why });
                break;
            }
        }
    }
}
