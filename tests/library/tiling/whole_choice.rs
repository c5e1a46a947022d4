//! The choice between plans of whole tensors, which differ in the parts that are written in place.

use texpool_compile::{
    CompileOptions, CompiledModel, DeviceProfile, Objective, OperatorOrder, Rate, Tiling, compile, load, pareto_front,
};
use texpool_ops::graph::{Act, Conv2d, Graph, GraphBuilder, Op, Padding, TensorId, Unary};
use texpool_plan::SearchControl;

const SIDE: usize = 32;
/// Bytes of a map of four channels.
const MAP: u64 = (SIDE * SIDE * 16) as u64;

fn pointwise(b: &mut GraphBuilder, x: TensorId, [to, from]: [usize; 2]) -> TensorId {
    let weights = b.constant("w", &[to, 1, 1, from], &vec![0.25; to * from]).unwrap();
    let padding = Padding { top: 0, bottom: 0, left: 0, right: 0 };
    let conv = Conv2d { stride: [1; 2], dilation: [1; 2], padding, groups: 1 };
    b.conv2d("conv", conv, x, weights, None, Act::None).unwrap()
}

/// Two concatenations. The parts of `late` are computed one after another at the end, so writing them in place is free.
/// The first part of `early` is computed before the two largest maps and the other one after them, so in place the
/// result of `early` lies in the pool at the peak.
fn network() -> Graph {
    let mut b = GraphBuilder::new("two concatenations");
    let x = b.input("x", &[1, SIDE, SIDE, 4]).unwrap();
    let first = b.unary("first", Unary::Sin, x).unwrap();
    let wide = pointwise(&mut b, first, [64, 4]);
    let wider = pointwise(&mut b, wide, [64, 64]);
    let second = pointwise(&mut b, wider, [4, 64]);
    let early = b.concat("early", 3, &[first, second]).unwrap();
    let left = pointwise(&mut b, early, [4, 8]);
    let right = pointwise(&mut b, early, [8, 8]);
    let late = b.concat("late", 3, &[left, right]).unwrap();
    let out = pointwise(&mut b, late, [4, 12]);
    b.finish(&[out]).unwrap()
}

fn whole(objective: Objective) -> CompileOptions {
    CompileOptions { objective, tiling: Tiling::Whole, ..CompileOptions::default() }
}

fn compiled(options: &CompileOptions) -> CompiledModel {
    compile(&network(), options, &SearchControl::new()).unwrap()
}

fn copies(compiled: &CompiledModel) -> usize {
    let steps = compiled.schedule().steps.iter();
    steps.filter(|step| matches!(compiled.graph().nodes[step.node].op, Op::Concat(_))).count()
}

/// Returns the number of copies, and the bytes of the pool in maps.
fn figures(compiled: &CompiledModel) -> (usize, u64) {
    assert_eq!(compiled.tiled(), None);
    (copies(compiled), compiled.plan().bytes() / MAP)
}

#[test]
fn each_objective_weighs_copies_against_memory_in_its_own_way() {
    // At the peak there are the two largest maps of 16 slices, and `first` or the whole of `early`.
    let (fast, small) = ((0, 34), (1, 33));
    assert_eq!(figures(&compiled(&whole(Objective::Fastest))), fast);
    // The plan without other options is the same.
    assert_eq!(figures(&compiled(&CompileOptions::default())), fast);
    assert_eq!(figures(&compiled(&whole(Objective::Smallest))), small);
    // A 34th of memory is worth less than a copy that takes nearly all time, and more than one that takes none.
    let dear = DeviceProfile { dispatch_us: 1e6, ..DeviceProfile::default() };
    let mut free = DeviceProfile { dispatch_us: 0.0, ..DeviceProfile::default() };
    free.rates.values_mut().for_each(|rate| *rate = Rate { mflop_us: 11.0, ktexel_us: 0.0 });
    for (device_profile, expected) in [(dear, fast), (free, small)] {
        let options = CompileOptions { device_profile, ..whole(Objective::Balanced) };
        assert_eq!(figures(&compiled(&options)), expected);
    }
}

#[test]
fn a_limit_takes_the_fastest_plan_within_it() {
    let bytes = |objective| compiled(&whole(objective)).device_bytes();
    let (fast, small) = (bytes(Objective::Fastest), bytes(Objective::Smallest));
    assert!(small < fast);
    for (limit, copies) in
        [(Objective::Pool(34 * MAP), 0), (Objective::Pool(33 * MAP), 1), (Objective::Device(fast), 0)]
    {
        assert_eq!(figures(&compiled(&whole(limit))).0, copies, "{limit:?}");
    }
    assert!(compile(&network(), &whole(Objective::Pool(33 * MAP - 1)), &SearchControl::new()).is_err());
}

/// The order of the operators does not change the time of a plan, so the objective chooses in any order.
#[test]
fn the_objective_also_chooses_in_a_searched_order() {
    for (objective, copies) in [(Objective::Fastest, 0), (Objective::Smallest, 1)] {
        let searched = CompileOptions { order: OperatorOrder::Memory, ..whole(objective) };
        let (searched, file) = (compiled(&searched), compiled(&whole(objective)));
        assert_eq!(figures(&searched).0, copies, "{objective:?}");
        assert!(searched.plan().bytes() <= file.plan().bytes());
    }
}

#[test]
fn the_front_of_whole_tensors_has_a_point_for_each_plan_that_none_beats() {
    let graph = network();
    let options = whole(Objective::Fastest);
    let front = pareto_front(&graph, &options, &SearchControl::new()).unwrap();
    let models: Vec<CompiledModel> = (0..front.points().len()).filter_map(|index| front.compiled(index)).collect();
    assert_eq!(models.iter().map(figures).collect::<Vec<_>>(), [(0, 34), (1, 33)]);
    let profile = DeviceProfile::default();
    for (point, model) in front.points().iter().zip(&models) {
        let predicted_us = model.predicted_us(&profile);
        assert!((point.predicted_us / predicted_us - 1.0).abs() < 1e-9, "{} {predicted_us}", point.predicted_us);
        assert_eq!((point.device_bytes, point.bytes), (model.device_bytes(), model.plan().bytes()));
        // The strategies are those for the steps of this point.
        let records = model.best().unwrap().layout.places.len();
        assert_eq!(records, model.schedule().records.len());
        assert_eq!(load(&graph, &model.save(), options.limits).unwrap().plan(), model.plan());
    }
    let [fast, small] = &front.points() else { panic!("{} points", front.points().len()) };
    assert!(fast.predicted_us < small.predicted_us && fast.device_bytes > small.device_bytes);
}
