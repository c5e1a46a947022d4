//! The Pareto front of all ways: pool bytes against predicted time.
//!
//! Ways differ in the concatenations and pads that are written in place: those that cost no memory where memory is
//! shortest, or all. Writing in place saves steps, but a part that is made long before the others keeps room for them.

use super::{
    PrepareError, PrepareOptions,
    front::Front,
    ground::{Ground, Whole},
    phases::Point,
    relay::relayed,
    spread::{both, spread},
    way::{Draft, Placed, Way, without_phases},
};
use crate::{
    plan::{Progress, RowEffort, SearchControl},
    rewrite::Views,
    schedule::{Schedule, phases::worth_joining, schedule},
};

/// Bands that are driven to look at segments, and where only a first division is wanted.
const LOOKED_AT: u64 = 3_000_000;
const GLANCED_AT: u64 = 1_000_000;

pub(super) struct Fronts<'a> {
    fronts: Vec<Front<'a>>,
    /// The plan without phases, and its steps.
    whole: Placed,
    unphased: Schedule,
}

/// A division that was placed, and which of the fronts it is of; none for the plan without phases.
#[derive(Clone)]
pub(super) struct Found {
    front: Option<usize>,
    pub(super) placed: Placed,
}

impl<'a> Fronts<'a> {
    /// The fronts of all ways to run a model, and its plan without phases. A `thorough` search looks at the way without
    /// joins, too: where bytes alone count it is the best of a few networks.
    pub(super) fn new(
        ground: &'a Ground,
        options: &'a PrepareOptions,
        thorough: bool,
        control: &SearchControl<'_>,
    ) -> Result<(Whole, Self), PrepareError> {
        let searched = || match ground.too_many_rows() {
            Some(_) => Ok(Vec::new()),
            None => searched(ground, options, thorough, control),
        };
        let (whole, fronts) = both(|| ground.planned(options, control), searched);
        let (whole, fronts) = (whole?, fronts?);
        let placed = without_phases(&ground.graph, &whole.schedule, whole.plan.clone(), options);
        let unphased = whole.schedule.clone();
        Ok((whole, Self { fronts, whole: placed, unphased }))
    }

    /// The predicted time without phases.
    pub(super) fn without_us(&self) -> f64 {
        self.whole.predicted_us
    }

    /// The divisions of every front, front by front.
    pub(super) fn placed(&self, control: &SearchControl<'_>) -> Result<Vec<Vec<Placed>>, PrepareError> {
        self.fronts.iter().map(|front| front.placed(control)).collect()
    }

    /// Those of the divisions, and of the plan without phases, that no other one beats, fewest bytes last.
    pub(super) fn unbeaten(&self, placed: &[Vec<Placed>]) -> Vec<Found> {
        let mut all = vec![Found { front: None, placed: self.whole.clone() }];
        for (front, placed) in placed.iter().enumerate() {
            all.extend(placed.iter().cloned().map(|placed| Found { front: Some(front), placed }));
        }
        all.sort_by(|a, b| {
            let (a, b) = (&a.placed, &b.placed);
            a.predicted_us.total_cmp(&b.predicted_us).then(a.bytes.cmp(&b.bytes))
        });
        let mut least = u64::MAX;
        all.retain(|found| {
            let better = found.placed.bytes < least;
            least = least.min(found.placed.bytes);
            better
        });
        all
    }

    /// The point of a division.
    pub(super) fn point(&self, found: Found) -> Point {
        match found.front.and_then(|front| self.fronts.get(front)) {
            Some(front) => front.way.point(found.placed),
            None => found.placed.with(self.unphased.clone()),
        }
    }

    /// The point with the least product of bytes and time. No placement takes less than what is alive, so divisions
    /// whose live bytes are worth no more than a plan that is there are never placed.
    pub(super) fn worthiest(&self, control: &SearchControl<'_>) -> Result<Point, PrepareError> {
        let worth = |bytes: u64, us: f64| bytes as f64 * us;
        let bound = |draft: &Draft| worth(draft.live_bytes, draft.predicted_us);
        let mut drafts: Vec<(usize, Draft)> = Vec::new();
        for (index, front) in self.fronts.iter().enumerate() {
            drafts.extend(front.drafts(control)?.into_iter().map(|draft| (index, draft)));
        }
        drafts.sort_by(|(_, a), (_, b)| bound(a).total_cmp(&bound(b)));
        let mut best = Found { front: None, placed: self.whole.clone() };
        let count = drafts.len() as u64;
        for (done, (front, draft)) in (0..).zip(drafts) {
            let progress = Progress::new("placing rows of divisions into phases", done, count);
            if bound(&draft) >= worth(best.placed.bytes, best.placed.predicted_us) || control.should_stop() {
                break;
            }
            let way = &self.fronts[front].way;
            let placed =
                relayed(control, progress, |control| way.placed(draft.segments, RowEffort::default(), control))?;
            let Some(placed) = placed else { continue };
            if worth(placed.bytes, placed.predicted_us) < worth(best.placed.bytes, best.placed.predicted_us) {
                best = Found { front: Some(front), placed };
            }
        }
        Ok(self.point(best))
    }

    /// The divisions, and of each front the smallest pool that is found.
    pub(super) fn all(
        &self,
        mut placed: Vec<Vec<Placed>>,
        control: &SearchControl<'_>,
    ) -> Result<Vec<Found>, PrepareError> {
        for (index, (front, mine)) in self.fronts.iter().zip(&mut placed).enumerate() {
            if let Some(least) = mine.iter().min_by_key(|placed| (placed.bytes, placed.dispatches)).cloned() {
                mine.push(front.smallest(least, index..self.fronts.len(), control)?);
            }
        }
        Ok(self.unbeaten(&placed))
    }
}

/// The fronts of all ways, not placed yet.
fn searched<'a>(
    ground: &'a Ground,
    options: &'a PrepareOptions,
    thorough: bool,
    control: &SearchControl<'_>,
) -> Result<Vec<Front<'a>>, PrepareError> {
    let Ground { graph, free: [views, joins], .. } = ground;
    let plain = Way::new(graph, ground.plain().clone(), options);
    if joins.is_empty() {
        return Ok(vec![Front::new(plain, LOOKED_AT, control)]);
    }
    let plain = Front::new(plain, if thorough { LOOKED_AT } else { GLANCED_AT }, control);
    let Way { unphased, model, .. } = &plain.way;
    let some = worth_joining(graph, unphased, model, &plain.least_bands(), joins, control);
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
        Ok::<_, PrepareError>(Front::new(way, LOOKED_AT, control))
    };
    for front in spread(&joined, front) {
        fronts.push(front?);
    }
    Ok(fronts)
}
