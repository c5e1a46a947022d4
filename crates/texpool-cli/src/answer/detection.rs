//! Settings that all decodings of boxes share: the name of the objects, and the limits that select candidates.

use super::boxes::{Boxes, Candidates, DetectedObject};
use serde::{Deserialize, Serialize};

/// The objects to find, and the candidates that are such objects.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Detection {
    /// Name of the objects to find, singular and plural.
    pub what: [String; 2],
    /// Minimum score.
    pub threshold: f32,
    /// Boxes that overlap by more than this are of the same object.
    pub overlap: f32,
}

impl Detection {
    /// Begins to look at candidates.
    pub(super) fn candidates(&self) -> Candidates {
        Candidates::new(self.threshold)
    }

    /// Returns the answer with the boxes that `merge` makes of those that overlap by more than the given share.
    pub(super) fn merged(
        &self,
        candidates: Candidates,
        merge: impl FnOnce(Vec<DetectedObject>, f32) -> Vec<DetectedObject>,
    ) -> Boxes {
        candidates.merged(&self.what, |objects| merge(objects, self.overlap))
    }
}
