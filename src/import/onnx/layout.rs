//! Where the elements of a tensor of any rank lie among the four axes that are computed with. Knows no graph.
//!
//! A tensor's extents are taken apart into *atoms*, from the slowest to the fastest in the file's order: each logical
//! axis is a run of atoms (none, if its extent is one). The four physical axes `B, H, W, C` hold the atoms in any
//! order. Transposing a tensor only numbers its atoms anew, and reshaping it only draws other borders between them:
//! neither moves an element. Elements move when an operator asks for another layout.

use std::ops::Range;

use crate::graph::Shape;

/// What each of the physical axes holds: atoms, the slowest first.
pub(super) type AtomPlaces = [Vec<usize>; 4];

/// The atoms of a tensor, and where they lie.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct AtomLayout {
    /// Extents of the atoms in the file's order; each is above one.
    pub(super) atoms: Vec<usize>,
    pub(super) places: AtomPlaces,
}

impl AtomLayout {
    /// Logical axes `axes[p]` on physical axis `p`, an atom each. Every axis above one must be named once.
    pub(super) fn of(dims: &[usize], axes: &[Vec<usize>; 4]) -> Self {
        let atom = |axis: usize| dims[..axis].iter().filter(|&&d| d != 1).count();
        let places = axes.each_ref().map(|list| list.iter().filter(|&&a| dims[a] != 1).map(|&a| atom(a)).collect());
        Self { atoms: dims.iter().copied().filter(|&d| d != 1).collect(), places }
    }

    /// The file's order: the last axis on C, those in front of the fourth last merged on B.
    pub(super) fn natural(dims: &[usize]) -> Self {
        let mut axes: [Vec<usize>; 4] = Default::default();
        for axis in 0..dims.len() {
            axes[(axis + 4).saturating_sub(dims.len())].push(axis);
        }
        // Above four axes, the outer ones are one long axis.
        Self::of(dims, &axes)
    }

    /// Batch on B, the second axis on C, the last two on H and W; axes between them join H.
    pub(super) fn channels_second(dims: &[usize]) -> Self {
        let mut axes: [Vec<usize>; 4] = Default::default();
        for axis in 0..dims.len() {
            let place = match axis {
                0 => 0,
                1 => 3,
                _ if axis + 1 == dims.len() => 2,
                _ => 1,
            };
            axes[place].push(axis);
        }
        Self::of(dims, &axes)
    }

    /// Extents of the physical axes.
    pub(super) fn shape(&self) -> Shape {
        shape(&self.atoms, &self.places)
    }

    /// All atoms in the order in which elements lie.
    pub(super) fn sequence(&self) -> Vec<usize> {
        self.places.concat()
    }

    /// The atoms of each logical axis.
    pub(super) fn runs(&self, dims: &[usize]) -> Vec<Range<usize>> {
        let mut next = 0;
        dims.iter()
            .map(|&extent| {
                let (start, mut product) = (next, 1);
                while product < extent && next < self.atoms.len() {
                    product *= self.atoms[next];
                    next += 1;
                }
                start..next
            })
            .collect()
    }

    /// The atoms of some logical axes, in that order.
    pub(super) fn atoms_of(&self, dims: &[usize], axes: &[usize]) -> Vec<usize> {
        let runs = self.runs(dims);
        axes.iter().flat_map(|&axis| runs[axis].clone()).collect()
    }

    /// The same elements with the logical axes in the order `perm`.
    pub(super) fn transposed(&self, dims: &[usize], perm: &[usize]) -> Self {
        self.renumbered(&self.atoms_of(dims, perm))
    }

    /// With the atoms numbered in the order `new` (atom `new[i]` becomes `i`); those not named are dropped.
    pub(super) fn renumbered(&self, new: &[usize]) -> Self {
        let place = |old: &usize| new.iter().position(|n| n == old);
        Self {
            atoms: new.iter().map(|&old| self.atoms[old]).collect(),
            places: self.places.each_ref().map(|list| list.iter().filter_map(place).collect()),
        }
    }

    /// Divides atom `atom` in two, of which the inner has the extent `inner`.
    fn divide(&mut self, atom: usize, inner: usize) {
        let outer = self.atoms[atom] / inner;
        self.atoms.splice(atom..=atom, [outer, inner]);
        for list in &mut self.places {
            let mut divided = Vec::with_capacity(list.len() + 1);
            for &a in list.iter() {
                match a.cmp(&atom) {
                    std::cmp::Ordering::Less => divided.push(a),
                    std::cmp::Ordering::Equal => divided.extend([a, a + 1]),
                    std::cmp::Ordering::Greater => divided.push(a + 1),
                }
            }
            *list = divided;
        }
    }

    /// Divides atoms so that every border between extents of `dims` is one between atoms; the atoms that would have to
    /// be one before that can be, if there are such.
    pub(super) fn refine(&mut self, dims: &[usize]) -> Result<(), Range<usize>> {
        let (mut atom, mut start) = (0, 0);
        // `rest` is what is left of the extent that is being filled, `filled` how many atoms from `start` on fill it.
        for &extent in dims {
            let mut rest = extent;
            while rest > 1 {
                let Some(&own) = self.atoms.get(atom) else { return Err(start..atom) };
                if rest.is_multiple_of(own) {
                    rest /= own;
                } else if own.is_multiple_of(rest) {
                    self.divide(atom, own / rest);
                    rest = 1;
                } else {
                    return Err(self.block(dims, start));
                }
                atom += 1;
            }
            start = atom;
        }
        Ok(())
    }

    /// The shortest run of atoms from `start` on that fills whole extents of `dims` and ends with an extent.
    fn block(&self, dims: &[usize], start: usize) -> Range<usize> {
        let before: usize = self.atoms[..start].iter().product();
        let mut ends = Vec::new();
        let mut product = 1usize;
        for &extent in dims {
            product = product.saturating_mul(extent);
            ends.push(product);
        }
        let mut product = before;
        for (atom, &extent) in self.atoms.iter().enumerate().skip(start) {
            product *= extent;
            if atom > start && ends.contains(&product) {
                return start..atom + 1;
            }
        }
        start..self.atoms.len()
    }

    /// With the run of atoms as one, if they follow each other on one physical axis.
    pub(super) fn merged(&self, run: Range<usize>) -> Option<Self> {
        if run.len() < 2 {
            return Some(self.clone());
        }
        let wanted: Vec<usize> = run.clone().collect();
        let holds = |list: &Vec<usize>| list.windows(wanted.len()).any(|w| w == wanted);
        if !self.places.iter().any(holds) {
            return None;
        }
        let (first, spare) = (run.start, run.len() - 1);
        let mut atoms = self.atoms[..first].to_vec();
        atoms.push(self.atoms[run.clone()].iter().product());
        atoms.extend(&self.atoms[run.end..]);
        let renumber = |&a: &usize| match a {
            _ if a <= first => Some(a),
            _ if a < run.end => None,
            _ => Some(a - spare),
        };
        Some(Self { atoms, places: self.places.each_ref().map(|list| list.iter().filter_map(renumber).collect()) })
    }

    /// With neighbours of the same logical axis that follow each other on a physical axis as one atom.
    pub(super) fn tidy(mut self, dims: &[usize]) -> Self {
        let mut axis = 0;
        while axis < dims.len() {
            // Anew each time: merging moves the numbers of all atoms behind.
            let run = self.runs(dims)[axis].clone();
            let pair = (run.start..run.end.saturating_sub(1)).find_map(|a| self.merged(a..a + 2));
            match pair {
                Some(merged) => self = merged,
                None => axis += 1,
            }
        }
        self
    }
}

/// Extents of physical axes that hold these atoms.
pub(super) fn shape(atoms: &[usize], places: &AtomPlaces) -> Shape {
    places.each_ref().map(|list| list.iter().map(|&a| atoms[a]).product()).into()
}

/// Up to four groups of atoms on the four axes, in order: where they lie in `like` if they can, else in few texels.
pub(super) fn spread(atoms: &[usize], groups: &[Vec<usize>], like: &AtomPlaces) -> Option<AtomPlaces> {
    let mut best: Option<((usize, std::cmp::Reverse<usize>), AtomPlaces)> = None;
    // There are so few ways to choose among four axes that each is tried.
    for mask in 0u32..16 {
        if mask.count_ones() as usize != groups.len() {
            continue;
        }
        let mut places: AtomPlaces = Default::default();
        let slots = (0..4).filter(|slot| mask >> slot & 1 == 1);
        for (slot, group) in slots.zip(groups) {
            places[slot] = group.clone();
        }
        let same = (0..4).filter(|&slot| places[slot] == like[slot]).count();
        let score = (same, std::cmp::Reverse(shape(atoms, &places).texels()));
        if best.as_ref().is_none_or(|(other, _)| score > *other) {
            best = Some((score, places));
        }
    }
    best.map(|(_, places)| places)
}
