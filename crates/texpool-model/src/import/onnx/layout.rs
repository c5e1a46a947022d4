//! Maps the elements of a tensor of any rank to the four physical axes. Independent of the graph.
//!
//! The extents of a tensor are factored into *atoms*, from the slowest to the fastest in the file's order. Each
//! logical axis is a run of atoms (an empty run, if its extent is one). The four physical axes `B, H, W, C` hold the
//! atoms in any order. Transposing a tensor only renumbers its atoms, and reshaping it only changes the boundaries
//! between logical axes; neither moves elements. Elements only move if an operator needs a different layout.

use std::ops::Range;

use texpool_ops::graph::Shape;

/// The atoms on each physical axis, slowest first.
pub(super) type AtomPlaces = [Vec<usize>; 4];

/// The atoms of a tensor, and their physical axes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct AtomLayout {
    /// Extents of the atoms in the file's order. All are greater than one.
    pub(super) atoms: Vec<usize>,
    pub(super) places: AtomPlaces,
}

impl AtomLayout {
    /// Puts logical axes `axes[p]` on physical axis `p`, as one atom each. Every axis with an extent above one must
    /// occur exactly once.
    pub(super) fn of(dims: &[usize], axes: &[Vec<usize>; 4]) -> Self {
        let atom = |axis: usize| dims[..axis].iter().filter(|&&d| d != 1).count();
        let places = axes.each_ref().map(|list| list.iter().filter(|&&a| dims[a] != 1).map(|&a| atom(a)).collect());
        Self { atoms: dims.iter().copied().filter(|&d| d != 1).collect(), places }
    }

    /// The file's order: the last axis on C, and all axes before the last three merged on B.
    pub(super) fn natural(dims: &[usize]) -> Self {
        let mut axes: [Vec<usize>; 4] = Default::default();
        for axis in 0..dims.len() {
            axes[(axis + 4).saturating_sub(dims.len())].push(axis);
        }
        // With more than four axes, B holds several of them.
        Self::of(dims, &axes)
    }

    /// Batch on B, the second axis on C, the last axis on W, the one in front of it on H. All others follow the batch
    /// on B, so that a volume is a batch of planes.
    pub(super) fn channels_second(dims: &[usize]) -> Self {
        let mut axes: [Vec<usize>; 4] = Default::default();
        for axis in 0..dims.len() {
            let place = match axis {
                0 => 0,
                1 => 3,
                _ if axis + 1 == dims.len() => 2,
                _ if axis + 2 == dims.len() => 1,
                _ => 0,
            };
            axes[place].push(axis);
        }
        Self::of(dims, &axes)
    }

    /// Extents of the physical axes.
    pub(super) fn shape(&self) -> Shape {
        shape(&self.atoms, &self.places)
    }

    /// All atoms in memory order.
    pub(super) fn sequence(&self) -> Vec<usize> {
        self.places.concat()
    }

    /// Returns the atoms of each logical axis.
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

    /// Returns the atoms of the given logical axes, in that order.
    pub(super) fn atoms_of(&self, dims: &[usize], axes: &[usize]) -> Vec<usize> {
        let runs = self.runs(dims);
        axes.iter().flat_map(|&axis| runs[axis].clone()).collect()
    }

    /// Permutes the logical axes to the order `perm`. No element moves.
    pub(super) fn transposed(&self, dims: &[usize], perm: &[usize]) -> Self {
        self.renumbered(&self.atoms_of(dims, perm))
    }

    /// Renumbers the atoms: atom `new[i]` becomes `i`. Atoms that do not occur in `new` are dropped.
    pub(super) fn renumbered(&self, new: &[usize]) -> Self {
        let place = |old: &usize| new.iter().position(|n| n == old);
        Self {
            atoms: new.iter().map(|&old| self.atoms[old]).collect(),
            places: self.places.each_ref().map(|list| list.iter().filter_map(place).collect()),
        }
    }

    /// Splits an atom in two. The inner one has the extent `inner`.
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

    /// Splits atoms so that every boundary between extents of `dims` is also a boundary between atoms. On failure
    /// returns the run of atoms that would first have to be merged.
    pub(super) fn refine(&mut self, dims: &[usize]) -> Result<(), Range<usize>> {
        let (mut atom, mut start) = (0, 0);
        // `rest` is the part of the current extent that is not yet covered; the atoms `start..atom` cover the other
        // part.
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

    /// Returns the shortest run of atoms from `start` on that ends at a boundary between extents of `dims`.
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

    /// Merges a run of atoms into one, if they are consecutive on a single physical axis.
    pub(super) fn merged(&self, run: Range<usize>) -> Option<Self> {
        if run.len() < 2 {
            return Some(self.clone());
        }
        let run_atoms: Vec<usize> = run.clone().collect();
        let holds = |list: &Vec<usize>| list.windows(run_atoms.len()).any(|w| w == run_atoms);
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

    /// Merges neighbouring atoms of the same logical axis if they are consecutive on a physical axis.
    pub(super) fn tidy(mut self, dims: &[usize]) -> Self {
        let mut axis = 0;
        while axis < dims.len() {
            // Recomputed after each merge, because merging renumbers all later atoms.
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

/// Distributes up to four groups of atoms to the four axes, in order. Prefers the places in `like`, then a small
/// number of texels.
pub(super) fn spread(atoms: &[usize], groups: &[Vec<usize>], like: &AtomPlaces) -> Option<AtomPlaces> {
    let mut best: Option<((usize, std::cmp::Reverse<usize>), AtomPlaces)> = None;
    // Tries all combinations; with four axes there are only 16.
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
