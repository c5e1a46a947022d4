//! The Pareto front of all ways: pool bytes against predicted time.
//!
//! Ways differ in the concatenations and pads that are written in place: those that cost no memory where memory is
//! shortest, or all. Writing in place saves steps, but a part that is made long before the others keeps room for them.

use super::{
    PrepareError, PrepareOptions,
    front::Front,
    ground::{Ground, Whole},
    phases::Point,
    spread::{both, spread},
    way::{Draft, Way},
};
use crate::{
    plan::{RowEffort, control::SearchControl},
    rewrite::Views,
    schedule::{phases::worth_joining, schedule},
};

/// Bands that are driven to look at segments, and where only a first division is wanted.
const LOOKED_AT: u64 = 3_000_000;
const GLANCED_AT: u64 = 1_000_000;

pub(super) struct Fronts<'a> {
    fronts: Vec<Front<'a>>,
    whole: Point,
}

impl<'a> Fronts<'a> {
    /// The fronts of all ways to run a model, and its plan without phases. A `thorough` search looks at the way without
    /// joins, too: where bytes alone count it is the best of a few networks.
    pub(super) fn new(
        ground: &'a Ground,
        options: &'a PrepareOptions,
        thorough: bool,
    ) -> Result<(Whole, Self), PrepareError> {
        let (whole, fronts) = both(|| ground.planned(options), || searched(ground, options, thorough));
        let (whole, fronts) = (whole?, fronts?);
        let way = Way::new(&ground.graph, whole.schedule.clone(), options);
        let point = way.without_phases(whole.plan.clone())?;
        Ok((whole, Self { fronts, whole: point }))
    }

    /// The predicted time without phases.
    pub(super) fn without_us(&self) -> f64 {
        self.whole.predicted_us
    }

    /// Every point that no other one beats, fewest bytes last.
    pub(super) fn points(&self) -> Result<Vec<Point>, PrepareError> {
        let mut points = vec![self.whole.clone()];
        for front in &self.fronts {
            points.extend(front.points()?);
        }
        Ok(unbeaten(points))
    }

    /// The point with the least product of bytes and time. No placement takes less than what is alive, so divisions
    /// whose live bytes are worth no more than a plan that is there are never placed.
    pub(super) fn worthiest(self) -> Result<Point, PrepareError> {
        let worth = |bytes: u64, us: f64| bytes as f64 * us;
        let bound = |draft: &Draft| worth(draft.live_bytes, draft.predicted_us);
        let mut drafts: Vec<(&Front<'_>, Draft)> = Vec::new();
        for front in &self.fronts {
            drafts.extend(front.drafts()?.into_iter().map(|draft| (front, draft)));
        }
        drafts.sort_by(|(_, a), (_, b)| bound(a).total_cmp(&bound(b)));
        let mut best = self.whole;
        for (front, draft) in drafts {
            if bound(&draft) >= worth(best.bytes, best.predicted_us) {
                break;
            }
            let point = front.way.placed(draft, RowEffort::default())?;
            if worth(point.bytes, point.predicted_us) < worth(best.bytes, best.predicted_us) {
                best = point;
            }
        }
        Ok(best)
    }

    /// The same and the smallest pool that is found.
    pub(super) fn all(&self, control: &SearchControl<'_>) -> Result<Vec<Point>, PrepareError> {
        let mut points = vec![self.whole.clone()];
        for (index, front) in self.fronts.iter().enumerate() {
            let mine = front.points()?;
            let least = mine.iter().min_by_key(|point| (point.bytes, point.dispatches)).cloned();
            points.extend(mine);
            if let Some(least) = least {
                points.push(front.smallest(least, index..self.fronts.len(), control)?);
            }
        }
        Ok(unbeaten(points))
    }
}

/// The points that no other one beats, the fastest first.
fn unbeaten(mut points: Vec<Point>) -> Vec<Point> {
    points.sort_by(|a, b| a.predicted_us.total_cmp(&b.predicted_us).then(a.bytes.cmp(&b.bytes)));
    let mut least = u64::MAX;
    points.retain(|point| {
        let better = point.bytes < least;
        least = least.min(point.bytes);
        better
    });
    points
}

/// The fronts of all ways, not placed yet.
fn searched<'a>(
    ground: &'a Ground,
    options: &'a PrepareOptions,
    thorough: bool,
) -> Result<Vec<Front<'a>>, PrepareError> {
    let Ground { graph, free: [views, joins], .. } = ground;
    let plain = Way::new(graph, ground.plain().clone(), options);
    if joins.is_empty() {
        return Ok(vec![Front::new(plain, LOOKED_AT)]);
    }
    let plain = Front::new(plain, if thorough { LOOKED_AT } else { GLANCED_AT });
    let Way { unphased, model, .. } = &plain.way;
    let some = worth_joining(graph, unphased, model, &plain.least_bands(), joins);
    let mut joined = Vec::new();
    if !some.is_empty() {
        joined.push(views.with(&some));
    }
    if some != *joins {
        joined.push(views.with(joins));
    }
    let mut fronts = Vec::new();
    if thorough || some.is_empty() {
        fronts.push(plain);
    }
    let front = |free: &Views| {
        let way = Way::new(graph, schedule(graph, free)?, options);
        Ok::<_, PrepareError>(Front::new(way, LOOKED_AT))
    };
    for front in spread(&joined, front) {
        fronts.push(front?);
    }
    Ok(fronts)
}
