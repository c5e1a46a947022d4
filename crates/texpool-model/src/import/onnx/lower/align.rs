//! Converts the operands of an elementwise operator to a common layout. Uses the layout of the largest operand, so
//! that this one need not move.

use crate::import::{
    common::extents,
    error::Problem,
    onnx::{
        graph_lowering::GraphLowering,
        layout::AtomLayout,
        layout_selection::{common, isolated, uniform},
        node_lowering::NodeLowering,
        value::{Computed, Value},
    },
};
use texpool_ops::graph::TensorId;

/// Operands in a common layout, and the extents to which they broadcast.
#[derive(Debug)]
pub(super) struct Aligned {
    pub(super) dims: Vec<usize>,
    pub(super) layout: AtomLayout,
    pub(super) tensors: Vec<TensorId>,
}

/// An operand, its extents with leading ones, and its layout.
struct Part {
    value: Value,
    dims: Vec<usize>,
    layout: AtomLayout,
}

/// Converts operands to a common layout.
pub(super) fn align(lowering: &mut GraphLowering, operands: &[Value]) -> Result<Aligned, Problem> {
    let all: Vec<&[usize]> = operands.iter().map(Value::dims).collect();
    let dims = extents::broadcast(&all)?;
    Problem::check_result(&dims)?;
    let mut parts: Vec<Part> = operands.iter().map(|value| part(value, dims.len())).collect();
    let atoms = refined(lowering, &mut parts, &dims)?;

    // For each operand, the atoms of the result that it has.
    let result = AtomLayout { atoms: atoms.concat(), places: Default::default() };
    let runs = result.runs(&dims);
    let own = |part: &Part| -> Vec<usize> {
        (0..dims.len()).filter(|&axis| part.dims[axis] != 1).flat_map(|axis| runs[axis].clone()).collect()
    };
    let own: Vec<Vec<usize>> = parts.iter().map(own).collect();
    // Computed operands have priority over known ones. Known values are converted while importing, at no cost for a
    // run.
    let computed = |i: &usize| matches!(parts[*i].value, Value::Computed(_));
    let size = |i: &usize| (computed(i), parts[*i].value.len(), std::cmp::Reverse(*i));
    let main = (0..parts.len()).max_by_key(size).ok_or_else(|| Problem::malformed("it has no operands"))?;

    let mut places =
        parts[main].layout.places.each_ref().map(|list| list.iter().map(|&a| own[main][a]).collect::<Vec<_>>());
    for atom in 0..result.atoms.len() {
        if own[main].contains(&atom) {
            continue;
        }
        // Goes to a free physical axis, the fastest one of those. If all are in use, goes behind the atom that
        // precedes it in the file's order.
        let before = atom.checked_sub(1).and_then(|b| places.iter().position(|list| list.contains(&b)));
        let free = places.iter().rposition(|list| list.is_empty());
        let slot = free.or(before).unwrap_or(0);
        let at = before.filter(|&b| b == slot).and_then(|b| places[b].iter().position(|&a| a + 1 == atom));
        places[slot].insert(at.map_or(0, |at| at + 1), atom);
    }
    let layout = AtomLayout { places, ..result };
    let layout = uniform(&layout, |atom| own.iter().map(|own| own.contains(&atom)).collect::<Vec<_>>())?;

    let mut tensors = Vec::with_capacity(parts.len());
    for (part, own) in parts.iter().zip(&own) {
        let local = |atom: &usize| own.iter().position(|a| a == atom);
        let places = layout.places.each_ref().map(|list| list.iter().filter_map(local).collect());
        let target = AtomLayout { atoms: part.layout.atoms.clone(), places };
        tensors.push(lowering.place(&part.value, &target)?);
    }
    Ok(Aligned { dims, layout, tensors })
}

/// Returns operands of an operator that broadcasts them all, with an expanded one replaced by the value before it was
/// expanded if the others alone give the result its extents. Exporters expand operands that would broadcast anyway,
/// which moves more elements and hides norms from the rewriter.
pub(super) fn unexpanded(lowering: &GraphLowering, operands: [&Value; 2]) -> [Value; 2] {
    let mut values = operands.map(Value::clone);
    for i in 0..values.len() {
        let Some(before) = lowering.before_repeating(&values[i]) else { continue };
        let other = values[1 - i].dims();
        let result = |own: &[usize]| extents::broadcast(&[own, other]).ok();
        if result(&before.dims).is_some_and(|dims| Some(dims) == result(values[i].dims())) {
            values[i] = Value::Computed(before.clone());
        }
    }
    values
}

fn part(value: &Value, rank: usize) -> Part {
    let dims = extents::with_leading_ones(value.dims(), rank);
    let layout = match value {
        Value::Known(array) => AtomLayout::natural(array.dims()),
        Value::Computed(computed) => computed.layout.clone(),
    };
    Part { value: value.clone(), dims, layout }
}

/// Splits the atoms of all operands so that they match, and returns the atoms of each axis.
fn refined(lowering: &mut GraphLowering, parts: &mut [Part], dims: &[usize]) -> Result<Vec<Vec<usize>>, Problem> {
    let mut atoms = Vec::with_capacity(dims.len());
    for (axis, &extent) in dims.iter().enumerate() {
        let lists: Vec<Vec<usize>> = parts
            .iter()
            .filter(|part| part.dims[axis] == extent && extent != 1)
            .map(|part| part.layout.atoms[part.layout.runs(&part.dims)[axis].clone()].to_vec())
            .collect();
        let lists: Vec<&[usize]> = lists.iter().map(Vec::as_slice).collect();
        match common(&lists) {
            Some(list) => atoms.push(list),
            None => {
                // The operands split this axis in incompatible ways, so it becomes a single atom in each.
                for part in parts.iter_mut().filter(|part| part.dims[axis] == extent) {
                    let run = part.layout.runs(&part.dims)[axis].clone();
                    if let Value::Computed(computed) = &part.value {
                        let joined = joined(lowering, computed, run.clone())?;
                        part.layout = joined.layout.clone();
                        part.value = Value::Computed(joined);
                    }
                }
                atoms.push(vec![extent]);
            }
        }
    }
    for part in parts {
        let own: Vec<usize> =
            (0..dims.len()).filter(|&axis| part.dims[axis] != 1).flat_map(|axis| atoms[axis].clone()).collect();
        let mismatch = |_| Problem::unsupported("its operands are divided in ways that do not match");
        part.layout.refine(&own).map_err(mismatch)?;
        if let Value::Computed(computed) = &mut part.value {
            computed.layout = part.layout.clone();
        }
    }
    Ok(atoms)
}

/// Merges a run of atoms of a tensor into one. Moves elements if necessary.
pub(super) fn joined(
    lowering: &mut GraphLowering,
    x: &Computed,
    run: std::ops::Range<usize>,
) -> Result<Computed, Problem> {
    if let Some(layout) = x.layout.merged(run.clone()) {
        return Ok(Computed { layout, ..x.clone() });
    }
    let mut places = x.layout.places.clone();
    let slot = places.iter().position(|list| list.contains(&run.start)).unwrap_or(3);
    places.iter_mut().for_each(|list| list.retain(|a| *a == run.start || !run.contains(a)));
    let at = places[slot].iter().position(|&a| a == run.start).unwrap_or(0);
    places[slot].splice(at + 1..at + 1, run.clone().skip(1));
    let target = AtomLayout { atoms: x.layout.atoms.clone(), places };
    let tensor = lowering.bring(x, &target)?;
    let layout = target.merged(run).ok_or_else(|| Problem::unsupported("its axes cannot be joined"))?;
    Ok(Computed { tensor, layout, ..x.clone() })
}

/// Gives each of these axes a separate physical axis, and returns the numbers of those. Supports at most three axes
/// at once.
pub(super) fn isolate(
    ctx: &mut NodeLowering<'_>,
    x: &Computed,
    axes: &[usize],
) -> Result<(Computed, Vec<usize>), Problem> {
    let (layout, slots) = isolated(&x.layout, &x.dims, axes)?;
    let tensor = ctx.lowering.bring(x, &layout)?;
    Ok((Computed { tensor, layout, ..x.clone() }, slots))
}

/// Returns a value as a tensor in a layout with one atom per axis. The value's own atoms may be finer.
pub(super) fn placed_as(lowering: &mut GraphLowering, value: &Value, target: &AtomLayout) -> Result<TensorId, Problem> {
    let Value::Computed(x) = value else { return lowering.place(value, target) };
    let mut x = x.clone();
    // Each iteration merges at least two atoms, so the number of atoms limits the iterations.
    for _ in 0..=x.layout.atoms.len() {
        let mut layout = x.layout.clone();
        match layout.refine(&target.atoms) {
            Ok(()) => {
                let mut target = target.clone();
                let mismatch = |_| Problem::unsupported("its operand is divided in ways that do not match");
                target.refine(&layout.atoms).map_err(mismatch)?;
                return lowering.bring(&Computed { layout, ..x }, &target);
            }
            Err(run) => x = joined(lowering, &Computed { layout, ..x }, run)?,
        }
    }
    Err(Problem::unsupported("its operand is divided in ways that do not match"))
}
