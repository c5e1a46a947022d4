//! Merges boxes that show the same thing.

use super::boxes::DetectedObject;

/// Intersection over union of two boxes (left, top, right, bottom).
pub(super) fn overlap(a: [f32; 4], b: [f32; 4]) -> f32 {
    let area = |r: [f32; 4]| (r[2] - r[0]).max(0.0) * (r[3] - r[1]).max(0.0);
    let both = area([a[0].max(b[0]), a[1].max(b[1]), a[2].min(b[2]), a[3].min(b[3])]);
    let either = area(a) + area(b) - both;
    if either > 0.0 { both / either } else { 0.0 }
}

/// Keeps the best of all boxes with the same label that overlap by more than `most`, best first.
pub(super) fn best(objects: Vec<DetectedObject>, most: f32) -> Vec<DetectedObject> {
    groups(objects, most).into_iter().filter_map(|group| group.into_iter().next()).collect()
}

/// Merges all boxes that overlap by more than `most` into their mean, weighted by score, best first.
pub(super) fn averages(objects: Vec<DetectedObject>, most: f32) -> Vec<DetectedObject> {
    groups(objects, most).into_iter().filter_map(|group| average(&group)).collect()
}

/// Groups boxes by the best one that they overlap, each group and its members best first.
fn groups(mut objects: Vec<DetectedObject>, most: f32) -> Vec<Vec<DetectedObject>> {
    objects.sort_by(|a, b| b.score.total_cmp(&a.score));
    let mut groups: Vec<Vec<DetectedObject>> = Vec::new();
    for one in objects {
        let same = |group: &&mut Vec<DetectedObject>| {
            group.first().is_some_and(|best| best.label == one.label && overlap(best.bounds, one.bounds) > most)
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    groups
}

fn average(group: &[DetectedObject]) -> Option<DetectedObject> {
    let mut merged = group.first()?.clone();
    let total: f32 = group.iter().map(|one| one.score).sum();
    let mean =
        |value: &dyn Fn(&DetectedObject) -> f32| group.iter().map(|one| one.score * value(one)).sum::<f32>() / total;
    merged.bounds = std::array::from_fn(|i| mean(&|one| one.bounds[i]));
    for (i, point) in merged.points.iter_mut().enumerate() {
        (point.x, point.y) = (mean(&|one| one.points[i].x), mean(&|one| one.points[i].y));
    }
    Some(merged)
}

#[cfg(test)]
mod tests {
    use super::{averages, best, overlap};
    use crate::answer::{DetectedObject, Point};

    fn object(score: f32, left: f32) -> DetectedObject {
        let points = vec![Point::new(None, [left, 1.0])];
        DetectedObject { label: None, score, bounds: [left, 0.0, left + 10.0, 10.0], points }
    }

    #[test]
    fn overlaps_are_shares_of_the_union() {
        assert_eq!(overlap([0.0, 0.0, 2.0, 2.0], [1.0, 0.0, 3.0, 2.0]), 1.0 / 3.0);
        assert_eq!(overlap([0.0; 4], [0.0; 4]), 0.0);
    }

    #[test]
    fn boxes_of_one_thing_are_merged_and_others_are_kept() {
        let all = || vec![object(0.5, 2.0), object(1.0, 0.0), object(0.7, 100.0)];
        let edges: Vec<f32> = best(all(), 0.3).iter().map(|one| one.bounds[0]).collect();
        assert_eq!(edges, [0.0, 100.0]);
        let merged = averages(all(), 0.3);
        // (1 * 0 + 0.5 * 2) / 1.5, under the score of the best.
        assert_eq!((merged.len(), merged[0].score), (2, 1.0));
        assert!((merged[0].bounds[0] - 2.0 / 3.0).abs() < 1e-6 && (merged[0].points[0].x - 2.0 / 3.0).abs() < 1e-6);
        let mut named = all();
        named[0].label = Some("another".into());
        assert_eq!(best(named, 0.3).len(), 3);
    }
}
