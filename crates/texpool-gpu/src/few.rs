//! Short lists that a run makes and drops.

use smallvec::SmallVec;

/// A list with an entry for each input or output of a call. Up to eight entries lie on the stack, which nearly all
/// networks stay within, so that frame after frame takes nothing from the heap.
pub type Few<T> = SmallVec<[T; 8]>;
