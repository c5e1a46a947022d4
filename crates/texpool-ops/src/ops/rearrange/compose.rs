//! Composes copies of elements with one that follows.

use super::{Rearrange, StridedAxis};
use crate::graph::{DepthOrder, DepthToSpace, Op, Shape, SpaceToDepth, StridedSlice, Transpose};

impl Rearrange {
    /// Copies all of `elements`, in their order.
    pub fn dense(elements: usize) -> Self {
        Self { offset: 0, axes: vec![StridedAxis { extent: elements, stride: 1 }] }
    }

    /// Returns the copy that has the result of `op` applied to this one, where `x` is the shape of this one and `to` that of
    /// the result.
    ///
    /// `None` if `op` does not only move values, if axes of `x` are no products of this copy's axes, or if the result has no
    /// elements or more than [`Self::MAX_AXES`] axes.
    pub fn then(&self, op: &Op, x: Shape, to: Shape) -> Option<Self> {
        if x.is_empty() || to.is_empty() {
            return None;
        }
        let Shape { b, h, w, c } = x;
        let mut result = match op {
            Op::Reshape => self.clone(),
            Op::Transpose(Transpose { perm }) => self.turned(&x.dims(), perm)?,
            &Op::DepthToSpace(DepthToSpace { block: [rows, columns], order }) => {
                let channels = c / (rows * columns);
                match order {
                    DepthOrder::Dcr => self.turned(&[b, h, w, rows, columns, channels], &[0, 1, 3, 2, 4, 5])?,
                    DepthOrder::Crd => self.turned(&[b, h, w, channels, rows, columns], &[0, 1, 4, 2, 5, 3])?,
                }
            }
            &Op::SpaceToDepth(SpaceToDepth { block: [rows, columns] }) => {
                self.turned(&[b, h / rows, rows, w / columns, columns, c], &[0, 1, 3, 2, 4, 5])?
            }
            Op::StridedSlice(slice) => self.cut(slice, x.dims(), to.dims())?,
            Op::Tile => self.repeated(x.dims(), to.dims())?,
            Op::Rearrange(then) => self.strided(then)?,
            _ => return None,
        };
        result.simplify();
        (result.axes.len() <= Self::MAX_AXES).then_some(result)
    }

    /// Divides the axes into groups whose products are `extents`, outermost first.
    fn groups(&self, extents: &[usize]) -> Option<Vec<Vec<StridedAxis>>> {
        let mut axes = self.axes.iter().rev().copied();
        let mut inner: Option<StridedAxis> = None;
        let mut groups = Vec::with_capacity(extents.len());
        for &extent in extents.iter().rev() {
            let (mut group, mut left) = (Vec::new(), extent);
            while left > 1 {
                let axis = inner.take().or_else(|| axes.next())?;
                if left.is_multiple_of(axis.extent) {
                    left /= axis.extent;
                    group.push(axis);
                } else if axis.extent.is_multiple_of(left) {
                    let outer = StridedAxis { extent: axis.extent / left, stride: axis.stride * left as isize };
                    group.push(StridedAxis { extent: left, ..axis });
                    (inner, left) = (Some(outer), 1);
                } else {
                    return None;
                }
            }
            group.reverse();
            groups.push(group);
        }
        groups.reverse();
        Some(groups)
    }

    /// Reorders axes of `extents`: axis `i` of the result is axis `perm[i]`.
    fn turned(&self, extents: &[usize], perm: &[usize]) -> Option<Self> {
        let groups = self.groups(extents)?;
        Some(Self { axes: perm.iter().flat_map(|&axis| groups[axis].clone()).collect(), ..*self })
    }

    fn cut(&self, slice: &StridedSlice, from: [usize; 4], to: [usize; 4]) -> Option<Self> {
        let mut result = Self { axes: Vec::new(), ..*self };
        let mut offset = self.offset as isize;
        for (i, group) in self.groups(&from)?.into_iter().enumerate() {
            let (begin, stride) = (slice.begin[i], slice.stride[i]);
            match group[..] {
                _ if begin == 0 && stride == 1 && to[i] == from[i] => result.axes.extend(group),
                // A single index is an index of each axis of the group.
                _ if to[i] == 1 => {
                    let mut rest = begin;
                    for axis in group.iter().rev() {
                        offset += (rest % axis.extent) as isize * axis.stride;
                        rest /= axis.extent;
                    }
                }
                [axis] => {
                    offset += begin as isize * axis.stride;
                    result.axes.push(StridedAxis { extent: to[i], stride: axis.stride * stride });
                }
                _ => return None,
            }
        }
        result.offset = usize::try_from(offset).ok()?;
        Some(result)
    }

    fn repeated(&self, from: [usize; 4], to: [usize; 4]) -> Option<Self> {
        let mut axes = Vec::new();
        for (i, group) in self.groups(&from)?.into_iter().enumerate() {
            if !to[i].is_multiple_of(from[i]) {
                return None;
            }
            axes.push(StridedAxis { extent: to[i] / from[i], stride: 0 });
            axes.extend(group);
        }
        Some(Self { axes, ..*self })
    }

    /// Follows with another copy, if this one keeps the order of its elements.
    fn strided(&self, then: &Self) -> Option<Self> {
        let &[StridedAxis { stride, .. }] = &self.axes[..] else { return None };
        let offset = self.offset as isize + then.offset as isize * stride;
        let axes = then.axes.iter().map(|axis| StridedAxis { stride: axis.stride * stride, ..*axis }).collect();
        Some(Self { offset: usize::try_from(offset).ok()?, axes })
    }

    /// Drops axes of one index, and merges axes that follow each other as one axis does.
    fn simplify(&mut self) {
        let mut merged: Vec<StridedAxis> = Vec::with_capacity(self.axes.len());
        for axis in self.axes.drain(..).filter(|axis| axis.extent > 1) {
            match merged.last_mut() {
                Some(outer) if outer.stride == axis.stride * axis.extent as isize => {
                    *outer = StridedAxis { extent: outer.extent * axis.extent, stride: axis.stride };
                }
                _ => merged.push(axis),
            }
        }
        if merged.is_empty() {
            merged.push(StridedAxis { extent: 1, stride: 1 });
        }
        self.axes = merged;
    }
}
