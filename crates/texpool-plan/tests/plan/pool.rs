//! Pools shared by several models.

use texpool_plan::{
    Planner, SearchBudget, SearchControl, UsageRecord, check_layout, overlay_pools, solve, uses_from_records,
};

use crate::data::usage_record_sets;

#[test]
fn models_share_one_pool() {
    let sets = usage_record_sets();
    let models: Vec<&Vec<UsageRecord>> = sets.iter().take(4).map(|(_, records)| records).collect();
    let budget = SearchBudget { nodes: 10, moves: 20_000, ..SearchBudget::PORTFOLIO };
    let plan = |records: &&Vec<UsageRecord>| {
        solve(records, &uses_from_records(records).unwrap(), Planner::Best, budget, &SearchControl::new())
            .unwrap()
            .layout
    };
    let layouts: Vec<_> = models.iter().map(plan).collect();
    let pool = overlay_pools(&layouts).unwrap();
    let (most, sum) = (layouts.iter().map(|l| l.total()).max().unwrap(), layouts.iter().map(|l| l.total()).sum());
    assert!((most..sum).contains(&pool.total()), "{} of {most} to {sum}", pool.total());
    for (records, layout) in models.iter().zip(&pool.layouts) {
        assert_eq!(layout.regions, pool.regions);
        assert_eq!(check_layout(records, &uses_from_records(records).unwrap(), layout), Ok(()));
    }
    let alone = overlay_pools(&layouts[..1]).unwrap();
    assert_eq!(alone.total(), layouts[0].total());
}
