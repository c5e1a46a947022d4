//! A box in the text.

use std::fmt;

/// `x 177–280, y 64–182`
pub(super) struct Bounds(pub(super) [f32; 4]);

impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [left, top, right, bottom] = self.0;
        write!(f, "x {left:.0}–{right:.0}, y {top:.0}–{bottom:.0}")
    }
}
