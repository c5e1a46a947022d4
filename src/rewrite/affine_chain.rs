//! Makes chains of arithmetic with constants as short as they can be.

use super::{
    affine::Affine,
    edit::{Edit, Verdict},
    epilogue::plain,
    numerics::{Absorbed, Numerics, is_rounding},
    rule::{Order, Rule},
    site::Site,
    skip_reason::SkipReason,
    weights::{changed, list},
};
use crate::graph::{Binary, Node, NodeId, Op, TensorId};

pub(super) const RULE: Rule = Rule {
    name: "affine-chain",
    about: "makes one multiplication and one addition, or either alone, of a chain of sums, differences, products and \
            quotients with constants (one value, or one a channel), unless a constant is added and taken off again that \
            is large enough to round the value on purpose",
    numerics: Numerics::Reassociates,
    order: Order::Forward,
    look,
};

/// A node of the chain, the tensor it reads and what it does to it.
type Link = (NodeId, TensorId, Affine);

fn look(site: &Site, id: NodeId) -> Verdict {
    let Some(last) = link(site, id) else { return Ok(None) };
    let mut chain = vec![last];
    // Of more than three, three are shortened first.
    while let &[.., (_, from, _)] = &chain[..]
        && chain.len() < 3
        && let Some(before) = site.maker(from).and_then(|maker| link(site, maker))
    {
        if let Err(why) = may_go(site, before.0, from) {
            return if chain.len() == 1 { Err(why) } else { Ok(None) };
        }
        chain.push(before);
        if let Some(needed) = shorter(&chain) {
            return shortened(site, &chain, needed).map(Some);
        }
    }
    Ok(None)
}

fn link(site: &Site, id: NodeId) -> Option<Link> {
    let (from, affine) = Affine::of(site, site.node(id)).ok().flatten()?;
    Some((id, from, affine))
}

fn may_go(site: &Site, id: NodeId, result: TensorId) -> Result<(), SkipReason> {
    plain(site.node(id))?;
    site.check_private(result)
}

/// Which of a multiplication and an addition are needed in place of the chain, if that is fewer nodes.
fn shorter(chain: &[Link]) -> Option<[bool; 2]> {
    let scales = chain.iter().any(|(.., affine)| affine.scale.is_some());
    let shifts = chain.iter().any(|(.., affine)| affine.shift.is_some());
    (usize::from(scales) + usize::from(shifts) < chain.len()).then_some([scales, shifts])
}

fn shortened(site: &Site, chain: &[Link], [scales, shifts]: [bool; 2]) -> Result<Edit, SkipReason> {
    let [(id, between, _), .., (_, x, first)] = chain else { return Ok(Edit::default()) };
    let mut sums = vec![Absorbed::new(0.0); first.channels];
    for (.., affine) in chain.iter().rev() {
        sums.iter_mut().enumerate().for_each(|(channel, sum)| sum.then(affine.numbers(channel)));
    }
    let (scale, shift): (Vec<f64>, Vec<f64>) = sums.iter().map(|sum| (sum.scale, sum.shift)).unzip();
    // What overflows is refused where constants are made, by its name.
    if !sums.iter().any(Absorbed::overflows) && !is_rounding(&sums, |_| 1.0) {
        return Err(SkipReason::Absorbs { tensor: site.name(*x) });
    }
    let mut edit = Edit::default();
    let op_index = chain.iter().map(|&(id, ..)| site.node(id).op_index).min().unwrap_or_default();
    let node = site.node(*id);
    let operation = |binary, from, numbers: &[f64], edit: &mut Edit| -> Result<Node, SkipReason> {
        let constant = numbers_of(site, node, numbers, edit)?;
        Ok(Node { op: Op::Binary(binary), inputs: vec![from, constant], op_index, ..node.clone() })
    };
    // What is left stands in the places of the last nodes.
    let gone = if scales && shifts {
        let place = chain[1].0;
        let product = operation(Binary::Mul, *x, &scale, &mut edit)?;
        let product = Node { output: *between, epilogue: Default::default(), ..product };
        let sum = operation(Binary::Add, *between, &shift, &mut edit)?;
        edit = edit.put(place, product).put(*id, sum);
        &chain[2..]
    } else {
        let (binary, numbers) = if scales { (Binary::Mul, &scale) } else { (Binary::Add, &shift) };
        let only = operation(binary, *x, numbers, &mut edit)?;
        edit = edit.put(*id, only);
        &chain[1..]
    };
    Ok(gone.iter().fold(edit, |edit, &(id, ..)| edit.take_out(id)))
}

/// A new constant in the place of a node's, of one value where all are the same.
fn numbers_of(site: &Site, node: &Node, numbers: &[f64], edit: &mut Edit) -> Result<TensorId, SkipReason> {
    let old = node.inputs.iter().copied().find(|&tensor| site.graph.is_constant(tensor)).unwrap_or(node.output);
    let mut values: Vec<f32> = numbers.iter().map(|&number| number as f32).collect();
    if values.windows(2).all(|pair| pair[0] == pair[1]) {
        values.truncate(1);
    }
    changed(site, old, list(values.len()), &values, edit)
}
