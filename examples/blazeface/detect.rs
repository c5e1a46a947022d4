//! Converts BlazeFace's raw outputs into faces: anchors, decoding, weighted non-maximum suppression.

/// Edge of the network's input in pixels, which is also the unit of its regressors.
const SIZE: f32 = 128.0;
/// Minimum score of a face.
const THRESHOLD: f32 = 0.5;
/// Boxes that overlap more than this (intersection over union) belong to the same face.
const SAME_FACE: f32 = 0.3;
/// Values per anchor: centre and extents of the box, then six points.
const VALUES: usize = 16;

/// A face, with coordinates as fractions of the input's width and height.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Face {
    /// From 0 to 1.
    pub(crate) score: f32,
    /// Left, top, right, bottom.
    pub(crate) bounds: [f32; 4],
    /// Right eye, left eye, nose, mouth, right ear, left ear, where right and left are the person's.
    pub(crate) points: [[f32; 2]; 6],
}

/// Centres of the 896 anchors: two in each cell of a 16 by 16 grid, and six in each cell of an 8 by 8 grid.
fn anchors() -> impl Iterator<Item = [f32; 2]> {
    [(16, 2), (8, 6)].into_iter().flat_map(|(grid, each)| {
        let centre = move |i: usize| (i as f32 + 0.5) / grid as f32;
        (0..grid * grid * each).map(move |i| [centre(i / each % grid), centre(i / each / grid)])
    })
}

/// Returns the faces in the network's two outputs, best first.
pub(crate) fn faces(regressors: &[f32], scores: &[f32]) -> Vec<Face> {
    let mut found: Vec<Face> = anchors()
        .zip(regressors.chunks_exact(VALUES))
        .zip(scores)
        .map(|((anchor, values), score)| decode(anchor, values, *score))
        .filter(|face| face.score >= THRESHOLD)
        .collect();
    found.sort_by(|a, b| b.score.total_cmp(&a.score));
    let mut faces = Vec::new();
    while !found.is_empty() {
        let best = found.remove(0);
        let (mut same, others): (Vec<_>, Vec<_>) =
            found.into_iter().partition(|face| overlap(&face.bounds, &best.bounds) > SAME_FACE);
        let score = best.score;
        same.push(best);
        faces.push(average(&same, score));
        found = others;
    }
    faces
}

fn decode([ax, ay]: [f32; 2], values: &[f32], score: f32) -> Face {
    let point = |i: usize| [values[i] / SIZE + ax, values[i + 1] / SIZE + ay];
    let [x, y] = point(0);
    let [w, h] = [values[2] / SIZE, values[3] / SIZE];
    Face {
        score: 1.0 / (1.0 + (-score.clamp(-100.0, 100.0)).exp()),
        bounds: [x - w / 2.0, y - h / 2.0, x + w / 2.0, y + h / 2.0],
        points: std::array::from_fn(|k| point(4 + 2 * k)),
    }
}

fn overlap(a: &[f32; 4], b: &[f32; 4]) -> f32 {
    let area = |r: &[f32; 4]| (r[2] - r[0]).max(0.0) * (r[3] - r[1]).max(0.0);
    let both = area(&[a[0].max(b[0]), a[1].max(b[1]), a[2].min(b[2]), a[3].min(b[3])]);
    let either = area(a) + area(b) - both;
    if either > 0.0 { both / either } else { 0.0 }
}

/// Merges the boxes of a face into one: the mean of the boxes, weighted by score.
fn average(same: &[Face], score: f32) -> Face {
    let total: f32 = same.iter().map(|face| face.score).sum();
    let mean = |value: &dyn Fn(&Face) -> f32| same.iter().map(|face| face.score * value(face)).sum::<f32>() / total;
    Face {
        score,
        bounds: std::array::from_fn(|i| mean(&|face| face.bounds[i])),
        points: std::array::from_fn(|k| std::array::from_fn(|i| mean(&|face| face.points[k][i]))),
    }
}
