//! Shortens chains of arithmetic with constants as much as possible.

use super::{
    affine::Affine,
    context::RewriteContext,
    edit::{Edit, Proposal},
    epilogue::plain,
    numerics::{Absorbed, Numerics, differ_by_rounding},
    rule::{Order, Rule},
    skip_reason::SkipReason,
    weights::{changed, list},
};
use texpool_ops::graph::{Act, Binary, Node, NodeId, Op, TensorId, Unary};

pub(super) const RULE: Rule = Rule {
    name: "affine-chain",
    about: "merges a chain of sums, differences, products and quotients with constants (one value, or one per \
            channel) into at most one multiplication and one addition, unless a large constant rounds the value on \
            purpose or the result is an angle",
    numerics: Numerics::Reassociates,
    order: Order::Forward,
    propose,
};

/// Nodes that only move elements, and are looked through for a sine: a file may have any number of them.
const MOST_MOVES: usize = 16;

/// A node of the chain, the tensor that it reads, and its arithmetic.
type Link = (NodeId, TensorId, Affine);

fn propose(ctx: &RewriteContext, id: NodeId) -> Proposal {
    let Some(last) = link(ctx, id) else { return Ok(None) };
    let mut chain = vec![last];
    // Three links can always be reduced to at most two, so longer chains are shortened step by step.
    while let &[.., (_, from, _)] = &chain[..]
        && chain.len() < 3
        && let Some(before) = ctx.producer(from).and_then(|producer| link(ctx, producer))
    {
        if let Err(why) = may_go(ctx, before.0, from) {
            return if chain.len() == 1 { Err(why) } else { Ok(None) };
        }
        chain.push(before);
        if let Some(needed) = shorter(&chain) {
            // The angle of a large number is what is left of it after many turns: another rounding is another angle.
            if let Some(op) = periodic_reader(ctx, id) {
                return Err(SkipReason::PeriodicReader { op });
            }
            return shortened(ctx, &chain, needed).map(Some);
        }
    }
    Ok(None)
}

/// Returns the name of a sine, cosine or tangent that is applied to the result of a node.
fn periodic_reader(ctx: &RewriteContext, id: NodeId) -> Option<&'static str> {
    let is_periodic = |unary: &Unary| matches!(unary, Unary::Sin | Unary::Cos | Unary::Tan);
    let mut pending = vec![id];
    for _ in 0..MOST_MOVES {
        let Some(id) = pending.pop() else { break };
        let node = ctx.node(id);
        if let Act::Unary(unary) = &node.epilogue.first
            && is_periodic(unary)
        {
            return Some(unary.name());
        }
        for &reader in ctx.readers(node.output) {
            match &ctx.node(reader).op {
                Op::Unary(unary) if is_periodic(unary) => return Some(unary.name()),
                op if op.moves_only() => pending.push(reader),
                _ => {}
            }
        }
    }
    None
}

fn link(ctx: &RewriteContext, id: NodeId) -> Option<Link> {
    let (from, affine) = Affine::of(ctx, ctx.node(id)).ok().flatten()?;
    Some((id, from, affine))
}

fn may_go(ctx: &RewriteContext, id: NodeId, result: TensorId) -> Result<(), SkipReason> {
    plain(ctx.node(id))?;
    ctx.check_one_use(result)
}

/// Returns whether the shortened chain needs a multiplication and whether it needs an addition. `None` if it would
/// not have fewer nodes.
fn shorter(chain: &[Link]) -> Option<[bool; 2]> {
    let scales = chain.iter().any(|(.., affine)| affine.scale.is_some());
    let shifts = chain.iter().any(|(.., affine)| affine.shift.is_some());
    (usize::from(scales) + usize::from(shifts) < chain.len()).then_some([scales, shifts])
}

fn shortened(ctx: &RewriteContext, chain: &[Link], [scales, shifts]: [bool; 2]) -> Result<Edit, SkipReason> {
    let [(id, between, _), .., (_, x, first)] = chain else { return Ok(Edit::default()) };
    let mut sums = vec![Absorbed::new(0.0); first.channels];
    for (.., affine) in chain.iter().rev() {
        sums.iter_mut().enumerate().for_each(|(channel, sum)| sum.then(affine.numbers(channel)));
    }
    let (scale, shift): (Vec<f64>, Vec<f64>) = sums.iter().map(|sum| (sum.scale, sum.shift)).unzip();
    // Overflowing constants skip this check because `changed` refuses them with an error that names the constant.
    if !sums.iter().any(Absorbed::overflows) && !differ_by_rounding(&sums, |_| 1.0) {
        return Err(SkipReason::RoundsOnPurpose { tensor: ctx.name(*x) });
    }
    let mut edit = Edit::default();
    let op_index = chain.iter().map(|&(id, ..)| ctx.node(id).op_index).min().unwrap_or_default();
    let node = ctx.node(*id);
    let operation = |binary, from, numbers: &[f64], edit: &mut Edit| -> Result<Node, SkipReason> {
        let constant = numbers_of(ctx, node, numbers, edit)?;
        Ok(Node { op: Op::Binary(binary), inputs: vec![from, constant], op_index, ..node.clone() })
    };
    // The new nodes replace the last nodes of the chain, so they still come after everything that the chain reads.
    let removed = if scales && shifts {
        let place = chain[1].0;
        let product = operation(Binary::Mul, *x, &scale, &mut edit)?;
        let product = Node { output: *between, epilogue: Default::default(), ..product };
        let sum = operation(Binary::Add, *between, &shift, &mut edit)?;
        edit = edit.replace(place, product).replace(*id, sum);
        &chain[2..]
    } else {
        let (binary, numbers) = if scales { (Binary::Mul, &scale) } else { (Binary::Add, &shift) };
        let only = operation(binary, *x, numbers, &mut edit)?;
        edit = edit.replace(*id, only);
        &chain[1..]
    };
    Ok(removed.iter().fold(edit, |edit, &(id, ..)| edit.remove(id)))
}

/// Creates a constant to replace that of a node. Stores a single value if all values are equal.
fn numbers_of(ctx: &RewriteContext, node: &Node, numbers: &[f64], edit: &mut Edit) -> Result<TensorId, SkipReason> {
    let old = node.inputs.iter().copied().find(|&tensor| ctx.graph.is_constant(tensor)).unwrap_or(node.output);
    let mut values: Vec<f32> = numbers.iter().map(|&number| number as f32).collect();
    // A single value is broadcast, so it need not be stored per channel.
    if values.windows(2).all(|pair| pair[0] == pair[1]) {
        values.truncate(1);
    }
    changed(ctx, old, list(values.len()), &values, edit)
}
