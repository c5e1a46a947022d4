//! The choice of plans, and the figures reported for each.

use super::{answer, context, model};

/// No plan of a front is beaten in both bytes and time; each reports both, and all give the same bits.
#[test]
fn every_plan_of_a_front_has_its_time() {
    let context = context();
    let plans = context.compile(&model()).pareto_front().unwrap();
    assert!(plans.len() > 1, "{} plans", plans.len());
    let right = answer(&context.compile(&model()).build().unwrap(), 0);
    for pair in plans.windows(2) {
        let [fast, small] = pair else { panic!("windows of two") };
        assert!(fast.pool_bytes() > small.pool_bytes());
        assert!(fast.predicted_time().unwrap() < small.predicted_time().unwrap());
    }
    for plan in &plans {
        assert!(answer(plan, 0) == right);
    }
}
