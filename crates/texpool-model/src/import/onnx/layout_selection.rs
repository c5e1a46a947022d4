//! Selects the layout in which an operator works, so that few elements have to move. Works on layouts only, without a
//! graph.

use std::ops::Range;

use super::layout::{AtomLayout, spread};
use crate::import::error::Problem;

/// Returns a layout in which all atoms on a physical axis have the same mark.
pub(super) fn uniform<M: PartialEq>(layout: &AtomLayout, mark: impl Fn(usize) -> M) -> Result<AtomLayout, Problem> {
    let alike = |list: &Vec<usize>| list.iter().all(|&a| mark(a) == mark(list[0]));
    if layout.places.iter().all(alike) {
        return Ok(layout.clone());
    }
    // Axes are divided where their atoms differ, so that rows of other atoms stay where they are.
    let mut runs: Vec<Vec<usize>> = layout.places.iter().flat_map(|list| runs_of(list, &mark)).collect();
    if runs.len() > 4 {
        runs = runs_of(&layout.sequence(), &mark);
    }
    // There are only four axes. With more than four runs, those with the same mark are merged, although more elements
    // move.
    if runs.len() > 4 {
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for run in runs {
            match groups.iter_mut().find(|group| mark(group[0]) == mark(run[0])) {
                Some(group) => group.extend(run),
                None => groups.push(run),
            }
        }
        runs = groups;
    }
    placed(layout, &runs)
}

/// Divides atoms into runs of the same mark.
fn runs_of<M: PartialEq>(atoms: &[usize], mark: &impl Fn(usize) -> M) -> Vec<Vec<usize>> {
    atoms.chunk_by(|&a, &b| mark(a) == mark(b)).map(<[usize]>::to_vec).collect()
}

/// Puts these groups of atoms on the axes, in order.
fn placed(layout: &AtomLayout, groups: &[Vec<usize>]) -> Result<AtomLayout, Problem> {
    let places = spread(&layout.atoms, groups, &layout.places)
        .ok_or_else(|| Problem::unsupported("it treats more than four axes differently"))?;
    Ok(AtomLayout { atoms: layout.atoms.clone(), places })
}

/// Returns a layout in which each of the logical `axes` has a separate physical axis, and the numbers of those.
/// Supports at most three axes, or all axes of the tensor.
pub(super) fn isolated(
    layout: &AtomLayout,
    dims: &[usize],
    axes: &[usize],
) -> Result<(AtomLayout, Vec<usize>), Problem> {
    let runs = layout.runs(dims);
    let atom_lists: Vec<Vec<usize>> = axes.iter().map(|&axis| runs[axis].clone().collect()).collect();
    // An axis of extent one has no atoms, but the operator still works along it, so it gets an empty physical axis.
    let empty = atom_lists.iter().filter(|list| list.is_empty()).count();
    let fits = |layout: &AtomLayout| {
        let alone = |list: &Vec<usize>| list.is_empty() || layout.places.contains(list);
        atom_lists.iter().all(alone) && layout.places.iter().filter(|list| list.is_empty()).count() >= empty
    };
    let layout = if fits(layout) { layout.clone() } else { separated(layout, &runs, axes, empty)? };
    let mut free = (0..4).filter(|&slot| layout.places[slot].is_empty());
    let slot = |list: &Vec<usize>| match list.is_empty() {
        true => free.next(),
        false => layout.places.iter().position(|place| place == list),
    };
    let slots = atom_lists.iter().map(slot).collect::<Option<Vec<_>>>();
    let slots = slots.ok_or_else(|| Problem::unsupported("it treats more than four axes differently"))?;
    Ok((layout, slots))
}

fn separated(layout: &AtomLayout, runs: &[Range<usize>], axes: &[usize], empty: usize) -> Result<AtomLayout, Problem> {
    let axis_of = |atom: usize| axes.iter().copied().find(|&axis| runs[axis].contains(&atom));
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for atom in layout.sequence() {
        match groups.last_mut() {
            Some(group) if axis_of(group[0]) == axis_of(atom) => group.push(atom),
            _ => groups.push(vec![atom]),
        }
    }
    let whole = |&axis: &usize| {
        let atoms: Vec<usize> = runs[axis].clone().collect();
        atoms.is_empty() || groups.contains(&atoms)
    };
    if groups.len() + empty > 4 || !axes.iter().all(whole) {
        let others = layout.sequence().into_iter().filter(|&atom| axis_of(atom).is_none()).collect::<Vec<_>>();
        let named = axes.iter().map(|&axis| runs[axis].clone().collect::<Vec<_>>());
        groups = std::iter::once(others).chain(named).filter(|group| !group.is_empty()).collect();
    }
    if groups.len() + empty > 4 {
        return Err(Problem::unsupported("it treats more than four axes differently"));
    }
    placed(layout, &groups)
}

/// Returns a layout with the atoms of logical `axes` on C, in that order, and those of `rows`, if any, on W.
pub(super) fn last(layout: &AtomLayout, dims: &[usize], axes: &[usize], rows: Option<&[usize]>) -> AtomLayout {
    let channels = layout.atoms_of(dims, axes);
    let rows = rows.map(|rows| layout.atoms_of(dims, rows));
    let other = |atom: &usize| !channels.contains(atom) && !rows.as_ref().is_some_and(|rows| rows.contains(atom));
    let mut groups: Vec<Vec<usize>> = layout
        .places
        .iter()
        .map(|list| list.iter().copied().filter(other).collect::<Vec<_>>())
        .filter(|group| !group.is_empty())
        .collect();
    let room = if rows.is_some() { 2 } else { 3 };
    while groups.len() > room {
        if let Some(group) = groups.pop()
            && let Some(before) = groups.last_mut()
        {
            before.extend(group);
        }
    }
    let mut like = layout.places.clone();
    like[room..].iter_mut().for_each(Vec::clear);
    // Like `spread`, but only over the first axes: C is taken, and W as well if rows are given.
    let mut best = None;
    for mask in 0u32..1 << room {
        if mask.count_ones() as usize != groups.len() {
            continue;
        }
        let mut places: [Vec<usize>; 4] = Default::default();
        let slots = (0..room).filter(|slot| mask >> slot & 1 == 1);
        slots.zip(&groups).for_each(|(slot, group)| places[slot] = group.clone());
        let same = (0..room).filter(|&slot| places[slot] == like[slot]).count();
        // Ties go to the later axes, towards W: kernels iterate along rows.
        if best.as_ref().is_none_or(|(other, _)| same >= *other) {
            best = Some((same, places));
        }
    }
    let mut places = best.map(|(_, places)| places).unwrap_or_default();
    if let Some(rows) = rows {
        places[2] = rows;
    }
    places[3] = channels;
    AtomLayout { atoms: layout.atoms.clone(), places }
}

/// Returns the layout after the extent of a logical axis changed. The axis must have the physical axis `slot` for
/// itself.
pub(super) fn resized(layout: &AtomLayout, dims: &[usize], axis: usize, slot: usize, extent: usize) -> AtomLayout {
    let run = layout.runs(dims)[axis].clone();
    let added = usize::from(extent != 1);
    let renumber = |&atom: &usize| match atom {
        _ if atom < run.start => Some(atom),
        _ if atom < run.end => None,
        _ => Some(atom - run.len() + added),
    };
    let mut atoms = layout.atoms[..run.start].to_vec();
    atoms.extend((added == 1).then_some(extent));
    atoms.extend(&layout.atoms[run.end..]);
    let mut places = layout.places.each_ref().map(|list| list.iter().filter_map(renumber).collect::<Vec<_>>());
    if added == 1 {
        places[slot] = vec![run.start];
    }
    AtomLayout { atoms, places }
}

/// Returns atoms that subdivide an axis for all lists at once. All lists have the same product.
pub(super) fn common(lists: &[&[usize]]) -> Option<Vec<usize>> {
    let mut borders: Vec<usize> = Vec::new();
    for list in lists {
        let mut product = 1;
        // From the fastest atom on, so that a boundary at the same element has the same number in every list.
        for extent in list.iter().rev() {
            product *= extent;
            borders.push(product);
        }
    }
    borders.sort_unstable();
    borders.dedup();
    let mut atoms = Vec::new();
    let mut before = 1;
    for border in borders {
        if !border.is_multiple_of(before) {
            return None;
        }
        atoms.push(border / before);
        before = border;
    }
    atoms.reverse();
    Some(atoms)
}
