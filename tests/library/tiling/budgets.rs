//! A budget for all of the device's memory misses no known plan: it finds the plan of whole tensors at once, and any
//! plan that the search for the smallest plan finds.

use super::{networks, properties};
use proptest::{prelude::*, strategy::Strategy};
use texpool_compile::{
    CompileError, CompileOptions, CompiledModel, DeviceProfile, Objective, StreamedIo, Tiling, WeightStorage, compile,
    compile_from, pareto_front,
    schedule::{Storage, StorageKind},
};
use texpool_ops::graph::Graph;
use texpool_plan::{SearchControl, StopReason};

const ALL: WeightStorage = WeightStorage::Streamed { resident_below: 0, tile_bytes: 64 << 10 };

fn options(objective: Objective, weights: WeightStorage, stream_io: StreamedIo) -> CompileOptions {
    CompileOptions { objective, weights, stream_io, ..CompileOptions::default() }
}

fn compiled(graph: &Graph, options: &CompileOptions) -> Result<CompiledModel, CompileError> {
    compile(graph, options, &SearchControl::new())
}

/// A kind of budget, with the options to test it with.
fn finds_what_there_is(graph: &Graph, weights: WeightStorage, stream_io: StreamedIo) {
    let least = compiled(graph, &options(Objective::Smallest, weights, stream_io)).unwrap().device_bytes();
    let whole = compiled(graph, &options(Objective::Fastest, WeightStorage::Resident, stream_io)).unwrap();
    let within = |bytes| compiled(graph, &options(Objective::Device(bytes), weights, stream_io));
    // A plan of whole tensors is chosen if one fits, to the byte: the fastest, and the smallest of equally fast ones, which
    // may differ in the parts that are written in place.
    let plain = whole.device_bytes();
    let model = within(plain).unwrap();
    let us = |model: &CompiledModel| model.predicted_us(&DeviceProfile::default());
    assert!(model.tiled().is_none() && model.device_bytes() <= plain && us(&model) <= us(&whole));
    // The smallest plan's size works as a budget, and so does a size in between.
    for bytes in [least, least.midpoint(plain.max(least))] {
        let model = within(bytes).unwrap();
        assert!(model.device_bytes() <= bytes, "{} bytes of {bytes}", model.device_bytes());
        // So does the size of what was found.
        let again = within(model.device_bytes()).unwrap();
        assert!(again.device_bytes() <= model.device_bytes(), "{} bytes, found in {bytes}", model.device_bytes());
    }
}

/// The time of a plan can be predicted without its search, and is what the search predicted.
#[test]
fn times_are_predicted_as_the_search_did() {
    let (graph, profile) = (networks::small(), DeviceProfile::default());
    let same = |actual: f64, expected: f64| assert!((actual / expected - 1.0).abs() < 1e-9, "{actual} {expected}");
    let least = compiled(&graph, &options(Objective::Smallest, ALL, StreamedIo::BOTH)).unwrap();
    same(least.predicted_us(&profile), least.tiled().unwrap().predicted_us);
    let options_of_front = options(Objective::Fastest, WeightStorage::Resident, StreamedIo::BOTH);
    let front = pareto_front(&graph, &options_of_front, &SearchControl::new()).unwrap();
    assert!(front.points().len() > 1);
    same(front.untiled().predicted_us(&profile), front.baseline_us());
    for (index, point) in front.points().iter().enumerate() {
        same(front.compiled(index).unwrap().predicted_us(&profile), point.predicted_us);
    }
    let slow = DeviceProfile { dispatch_us: 1e6, ..profile };
    assert!(least.predicted_us(&slow) > 1e6);
}

/// A search that starts from a plan within the budget returns at least that, even without time, if it has the inputs
/// and outputs in the pool that are requested there.
#[test]
fn a_known_plan_within_the_budget_is_never_missed() {
    let graph = networks::small();
    let at_once = || SearchControl::new().timeout(std::time::Duration::ZERO);
    let smallest = compiled(&graph, &options(Objective::Smallest, ALL, StreamedIo::BOTH)).unwrap();
    let bytes = smallest.device_bytes();
    for stream_io in [StreamedIo::BOTH, StreamedIo::NONE] {
        let request = options(Objective::Device(bytes), WeightStorage::Resident, stream_io);
        assert!(compile_from(&graph, &request, None, &at_once()).is_err());
        let model = compile_from(&graph, &request, Some(&smallest), &at_once()).unwrap();
        assert_eq!((model.device_bytes() <= bytes, model.objective()), (true, request.objective));
    }
    let apart = compiled(&graph, &options(Objective::Smallest, ALL, StreamedIo::NONE)).unwrap();
    let request = options(Objective::Device(apart.device_bytes()), WeightStorage::Resident, StreamedIo::BOTH);
    if let Ok(model) = compile_from(&graph, &request, Some(&apart), &at_once()) {
        let is_input = |storage: &Storage| matches!(storage.kind, StorageKind::Input(_));
        assert!(!model.schedule().storages.iter().any(is_input), "an input is not in the pool");
    }
}

/// A search that is stopped before it finds anything keeps what an earlier one found.
#[test]
fn a_refusal_does_not_forget_a_smaller_plan() {
    let graph = networks::small();
    let first = compiled(&graph, &options(Objective::Smallest, ALL, StreamedIo::BOTH)).unwrap();
    let request = options(Objective::Device(first.device_bytes() - 1), WeightStorage::Resident, StreamedIo::BOTH);
    let control = SearchControl::new().timeout(std::time::Duration::ZERO);
    let unmet = compile_from(&graph, &request, Some(&first), &control).unwrap_err();
    let smallest = unmet.smallest.unwrap();
    assert!(smallest.device_bytes() <= first.device_bytes());
    assert_eq!((smallest.stopped(), smallest.objective()), (Some(StopReason::Deadline), request.objective));
}

fn network() -> impl Strategy<Value = Graph> {
    properties::inputs().prop_map(|(layers, two, _)| properties::network(&layers, two))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    #[test]
    fn a_budget_finds_what_the_smallest_plan_takes(graph in network(), resident in any::<bool>(), io in any::<bool>()) {
        let weights = if resident { WeightStorage::Resident } else { ALL };
        let stream_io = if io { StreamedIo::BOTH } else { StreamedIo::NONE };
        finds_what_there_is(&graph, weights, stream_io);
    }
}

#[test]
fn a_network_of_convolutions_fits_wherever_one_of_its_plans_does() {
    finds_what_there_is(&networks::small(), ALL, StreamedIo::BOTH);
    finds_what_there_is(&networks::small(), WeightStorage::Resident, StreamedIo::NONE);
}

/// Tables of a few hundred bytes decide here: only the search for fewer steps finds the smallest plan.
#[test]
fn the_size_of_a_plan_that_fewer_steps_made_smaller_is_a_sufficient_budget() {
    let layers = [(2, 159), (9, 17), (9, 77), (9, 57), (5, 75), (9, 127), (8, 86), (6, 36), (0, 87), (9, 161)];
    let graph = properties::network(&layers, true);
    let smallest = compiled(&graph, &options(Objective::Smallest, ALL, StreamedIo::BOTH)).unwrap().device_bytes();
    let within = |bytes| compiled(&graph, &options(Objective::Device(bytes), ALL, StreamedIo::BOTH));
    let bytes = within(smallest).unwrap().device_bytes();
    assert!(bytes < smallest && within(bytes).unwrap().device_bytes() <= bytes, "{bytes} of {smallest}");
}

/// The plan of whole tensors needs no search time, if it fits.
#[test]
fn the_plan_of_whole_tensors_needs_no_time() {
    let graph = networks::small();
    let whole = compiled(&graph, &options(Objective::Fastest, WeightStorage::Resident, StreamedIo::BOTH)).unwrap();
    let control = SearchControl::new().timeout(std::time::Duration::ZERO);
    let request = |bytes| options(Objective::Device(bytes), WeightStorage::Resident, StreamedIo::BOTH);
    // A search that is stopped at once may return another pool, which must then fit.
    let stopped =
        compile(&graph, &options(Objective::Fastest, WeightStorage::Resident, StreamedIo::BOTH), &control).unwrap();
    let bytes = stopped.device_bytes().max(whole.device_bytes());
    let model = compile(&graph, &request(bytes), &control).unwrap();
    assert!(model.tiled().is_none());
    assert!(model.device_bytes() <= bytes);
}

/// A refusal without a search names a lower bound on every plan. A refusal after a search names at most the size of
/// the plan without a budget.
#[test]
fn refusals_name_a_floor_or_a_plan() {
    let graph = networks::small();
    let within = |bytes| compiled(&graph, &options(Objective::Device(bytes), ALL, StreamedIo::BOTH));
    let least = compiled(&graph, &options(Objective::Smallest, ALL, StreamedIo::BOTH)).unwrap().device_bytes();
    let whole = compiled(&graph, &options(Objective::Fastest, WeightStorage::Resident, StreamedIo::BOTH)).unwrap();
    let floor = match within(4) {
        Err(error @ CompileError::BelowFloor { bytes: 4, floor, wgpu }) => {
            let message = error.to_string();
            assert!(message.contains(&floor.to_string()) && message.contains(&wgpu.to_string()), "{message}");
            assert!(wgpu < floor);
            floor
        }
        other => panic!("{other:?}"),
    };
    assert!(floor <= least, "a floor of {floor}, and a plan of {least}");
    match within(floor) {
        Err(CompileError::DeviceBudget { least, .. }) => assert!(floor < least && least <= whole.device_bytes()),
        other => panic!("{other:?}"),
    }
    // The same holds if the search is stopped before it starts.
    let control = SearchControl::new().timeout(std::time::Duration::ZERO);
    match compile(&graph, &options(Objective::Device(floor), ALL, StreamedIo::BOTH), &control) {
        Err(CompileError::DeviceBudget { least, stopped: Some(_), .. }) => assert!(least <= 2 * whole.device_bytes()),
        other => panic!("{other:?}"),
    }
}

/// With whole tensors alone, every objective gives an untiled plan, a budget still streams what saves memory, and a tiled
/// plan of an earlier search is not used.
#[test]
fn whole_tensors_stay_whole_under_every_objective() {
    let graph = networks::small();
    let whole = |objective| CompileOptions {
        tiling: Tiling::Whole,
        ..options(objective, WeightStorage::Resident, StreamedIo::NONE)
    };
    let plain = compiled(&graph, &whole(Objective::Fastest)).unwrap();
    for objective in [Objective::Balanced, Objective::Smallest, Objective::Pool(plain.plan().bytes())] {
        let model = compiled(&graph, &whole(objective)).unwrap();
        assert_eq!((model.plan(), model.tiled(), model.objective()), (plain.plan(), None, objective));
    }
    let streamed = CompileOptions { weights: ALL, stream_io: StreamedIo::BOTH, ..whole(Objective::Smallest) };
    let bytes = compiled(&graph, &streamed).unwrap().device_bytes();
    assert!(bytes < plain.device_bytes());
    let model = compiled(&graph, &whole(Objective::Device(bytes))).unwrap();
    assert!(model.tiled().is_none() && model.device_bytes() <= bytes);

    let tiled = compiled(&graph, &options(Objective::Smallest, ALL, StreamedIo::BOTH)).unwrap();
    assert!(tiled.tiled().is_some() && tiled.device_bytes() < bytes);
    let request = whole(Objective::Device(tiled.device_bytes()));
    assert!(compile_from(&graph, &request, Some(&tiled), &SearchControl::new()).is_err());
    assert_eq!(pareto_front(&graph, &whole(Objective::Fastest), &SearchControl::new()).unwrap().points().len(), 1);
}
