//! Saved plans: a loaded plan equals the compiled one, and the bytes of a saved plan are not trusted.

#[path = "../../fuzz/src/saved_plan.rs"]
mod saved_plan;

use std::{fs, path::Path, time::Duration};

use proptest::prelude::*;
pub(crate) use saved_plan::sealed;
use saved_plan::{BEGIN, GRAPHS, LIMITS, drive, holds, loaded, plan};
use texpool_compile::{
    CompileError, CompileOptions, CompiledModel, Objective, SavedPlanError, compile, load, pareto_front,
};
use texpool_model::{import::open, rewrite::Rules};
use texpool_ops::graph::{Act, Concat, Conv2d, Graph, GraphBuilder, Op, Pad, PadMode, Padding, Unary};
use texpool_plan::{
    LayoutError, PlanError, Planner, SearchBudget, SearchControl, Strategy, TexelFormat, TextureLimits,
};

use crate::{
    rewrite::property::graphs,
    support::models::model,
    tiling::{
        networks,
        properties::{inputs, network},
    },
};

/// A small budget for each search; the quality of the plan does not matter here.
const BUDGET: SearchBudget = SearchBudget { nodes: 2, moves: 200, ..SearchBudget::PORTFOLIO };

fn options(objective: Objective) -> CompileOptions {
    CompileOptions { objective, budget: BUDGET, limits: LIMITS, ..CompileOptions::default() }
}

/// Compiles, saves and loads a model. Checks that the loaded model equals the compiled one.
fn check_saved(graph: &Graph, options: &CompileOptions) -> CompiledModel {
    let compiled = compile(graph, options, &SearchControl::new()).unwrap();
    alike(graph, &compiled);
    compiled
}

fn alike(graph: &Graph, compiled: &CompiledModel) {
    let loaded = load(graph, &compiled.save(), compiled.limits()).unwrap();
    assert_eq!(loaded.schedule(), compiled.schedule());
    assert_eq!(loaded.plan(), compiled.plan());
    assert_eq!(loaded.tiled(), compiled.tiled());
    assert_eq!(loaded.objective(), compiled.objective());
    assert_eq!(loaded.too_many_rows(), compiled.too_many_rows());
    assert_eq!(loaded.stopped(), compiled.stopped());
    assert_eq!((loaded.format(), loaded.limits()), (compiled.format(), compiled.limits()));
    assert_eq!(loaded.rewriting(), compiled.rewriting());
    assert_eq!(format!("{:?}", loaded.graph()), format!("{:?}", compiled.graph()));
    assert!(loaded.best().is_none() && compiled.best().is_some());
    assert_eq!(loaded.save(), compiled.save());
    assert!(compiled.save().len() < 8 << 10, "{} bytes", compiled.save().len());
    holds(&loaded);
}

/// Parts that lie in a whole, a pad around one of them, and a concatenation of more parts in a texel than a step reads.
fn joined() -> Graph {
    let mut net = GraphBuilder::new("joined");
    let x = net.input("x", &[1, 16, 8, 4]).unwrap();
    let plain = Conv2d { stride: [1; 2], dilation: [1; 2], padding: Padding::default(), groups: 1 };
    let mut conv = |name: &str, x, [from, to]: [usize; 2]| {
        let weights = net.constant("w", &[to, 1, 1, from], &vec![0.5; to * from]).unwrap();
        let conv = net.conv2d(name, plain, x, weights, None, Act::None).unwrap();
        net.unary(name, Unary::Sin, conv).unwrap()
    };
    let [near, far] = [conv("near", x, [4, 8]), conv("far", x, [4, 4])];
    let narrow = [0; 4].map(|_| conv("narrow", x, [4, 1]));
    let both = net.concat("both", 3, &[near, far]).unwrap();
    let pad = Pad { before: [0, 1, 1, 0], after: [0, 1, 1, 0], mode: PadMode::Constant(0.5) };
    let framed = net.node("framed", Op::Pad(pad), &[both], Act::None).unwrap();
    let crowded = net.node("crowded", Op::Concat(Concat { axis: 3 }), &narrow, Act::None).unwrap();
    let out = [net.unary("cos", Unary::Cos, framed).unwrap(), net.unary("tan", Unary::Tan, crowded).unwrap()];
    net.finish(&out).unwrap()
}

fn tiny() -> Graph {
    open(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/tiny.tflite")).unwrap()
}

fn front() -> Graph {
    open(model("face_detection_front_2019.tflite")).unwrap()
}

#[test]
fn a_loaded_plan_equals_the_compiled_one() {
    let formats = [TexelFormat::Rgba32Float, TexelFormat::Rgba16Float];
    for graph in [tiny(), joined(), networks::mobilenet_v2(), networks::squeezenet()] {
        for (objective, format) in [Objective::Fastest, Objective::Balanced].into_iter().zip(formats) {
            check_saved(&graph, &CompileOptions { format, ..options(objective) });
        }
    }
    let graph = front();
    for format in formats {
        assert!(check_saved(&graph, &CompileOptions { format, ..options(Objective::Fastest) }).tiled().is_none());
        assert!(check_saved(&graph, &CompileOptions { format, ..options(Objective::Balanced) }).tiled().is_some());
    }
}

/// Every kind of plan of whole tensors: objects, banks, and separate memory for each tensor.
#[test]
fn whoever_found_the_plan_is_named() {
    let graph = networks::resnet18();
    for planner in [Planner::Best, Planner::Optimum, Planner::Banks, Planner::Strategy(Strategy::Naive)] {
        check_saved(&graph, &CompileOptions { planner, ..options(Objective::Fastest) });
    }
}

/// Points come from every variant: with parts written in place, some of them, or none.
#[test]
fn every_point_of_a_front_is_loaded() {
    let mut in_place = Vec::new();
    for graph in [joined(), networks::mobilenet_v1()] {
        let front = pareto_front(&graph, &options(Objective::Fastest), &SearchControl::new()).unwrap();
        for (index, point) in front.points().iter().enumerate() {
            in_place.push(point.in_place.len());
            alike(&graph, &front.compiled(index).unwrap());
        }
    }
    assert!(in_place.iter().any(|&count| count > 0), "{in_place:?}");
}

#[test]
fn rules_are_those_of_the_saved_plan() {
    let graph = joined();
    for rules in [Rules::none(), Rules::exact(), Rules::all(), Rules::without(&["in-place"]).unwrap()] {
        for objective in [Objective::Fastest, Objective::Smallest] {
            check_saved(&graph, &CompileOptions { rules, ..options(objective) });
        }
    }
}

#[test]
fn a_search_that_was_stopped_still_was() {
    let graph = networks::mobilenet_v1();
    let control = SearchControl::new().timeout(Duration::ZERO);
    let compiled = compile(&graph, &options(Objective::Smallest), &control).unwrap();
    assert!(compiled.stopped().is_some());
    alike(&graph, &compiled);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn plans_of_random_graphs_are_loaded(graph in graphs(), objective in any::<bool>()) {
        check_saved(&graph, &options(if objective { Objective::Balanced } else { Objective::Fastest }));
    }

    #[test]
    fn phased_plans_of_random_graphs_are_loaded((layers, two, _) in inputs()) {
        check_saved(&network(&layers, two), &options(Objective::Balanced));
    }
}

/// Plans of each of two small models, with whole tensors and with, and one whose rows are scattered.
fn small_plans() -> Vec<(Graph, Vec<u8>)> {
    assert_eq!(GRAPHS.len(), 2);
    let graphs = GRAPHS.iter().map(|(graph, _)| graph);
    let plans = graphs.flat_map(|graph| {
        [Objective::Fastest, Objective::Smallest].map(|objective| (graph.clone(), plan(graph, objective)))
    });
    let scattered = (tiny(), plan(&tiny(), Objective::Smallest));
    plans.chain([scattered]).map(|(graph, plan)| (graph, plan.unwrap())).collect()
}

#[test]
fn a_byte_that_changed_is_an_error() {
    for (graph, bytes) in small_plans() {
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut bytes = bytes.clone();
                bytes[at] ^= 1 << bit;
                let outcome = load(&graph, &bytes, LIMITS);
                assert!(outcome.is_err(), "bit {bit} of byte {at}");
            }
        }
    }
}

/// With a valid checksum, only the reader and the checkers can reject a wrong plan.
#[test]
fn a_changed_byte_gives_an_error_or_a_valid_plan() {
    let mut accepted = 0;
    for (graph, bytes) in small_plans() {
        for at in BEGIN..bytes.len() {
            for change in [1, 2, 4, 8, 16, 32, 64, 128, 255] {
                let mut bytes = bytes.clone();
                bytes[at] ^= change;
                accepted += usize::from(loaded(&graph, &sealed(&bytes)).is_ok());
            }
        }
    }
    // The model's name does not matter, and predicted times are accepted as stated.
    assert!(accepted > 0);
}

#[test]
fn bytes_that_are_missing_or_too_many_are_an_error() {
    for (graph, bytes) in small_plans() {
        for length in 0..bytes.len() {
            let cut = &bytes[..length];
            match load(&graph, cut, LIMITS).map(|_| ()) {
                Err(SavedPlanError::NotAPlan) => assert_eq!(length, 0),
                Err(SavedPlanError::Length { found, .. }) => assert_eq!(found, length as u64),
                other => panic!("{length} bytes: {other:?}"),
            }
            assert!(loaded(&graph, &sealed(cut)).is_err(), "{length} bytes, sealed");
        }
        let longer = [&bytes[..], &[0]].concat();
        assert!(matches!(load(&graph, &longer, LIMITS), Err(SavedPlanError::Length { .. })));
        let error = loaded(&graph, &sealed(&longer)).map(|_| ()).unwrap_err();
        assert!(matches!(error, SavedPlanError::Damaged { at, .. } if at == bytes.len()), "{error}");
    }
}

/// Returns the error of loading a plan.
fn refused(graph: &Graph, bytes: &[u8], limits: TextureLimits) -> SavedPlanError {
    load(graph, bytes, limits).map(|_| ()).unwrap_err()
}

#[test]
fn a_plan_of_another_model_is_refused_and_both_are_named() {
    let [resnet, mobilenet] = [networks::resnet18(), networks::mobilenet_v1()];
    for objective in [Objective::Fastest, Objective::Balanced] {
        let bytes = compile(&resnet, &options(objective), &SearchControl::new()).unwrap().save();
        let error = refused(&mobilenet, &bytes, LIMITS);
        assert!(matches!(error, SavedPlanError::OtherModel { .. }), "{error}");
        let message = error.to_string();
        for part in ["`ResNet-18`", "`MobileNet v1`", "compile the model again"] {
            assert!(message.contains(part), "{message}");
        }
    }
    // A different extent makes a different model, and so does a different operator.
    let net = |width: usize, unary: Unary| {
        let mut net = GraphBuilder::new("net");
        let x = net.input("x", &[1, 8, width, 4]).unwrap();
        let y = net.unary("y", unary, x).unwrap();
        let z = net.unary("z", unary, y).unwrap();
        net.finish(&[z]).unwrap()
    };
    let bytes = compile(&net(8, Unary::Sin), &options(Objective::Fastest), &SearchControl::new()).unwrap().save();
    assert!(load(&net(8, Unary::Sin), &bytes, LIMITS).is_ok());
    for other in [net(9, Unary::Sin), net(8, Unary::Cos)] {
        assert!(matches!(refused(&other, &bytes, LIMITS), SavedPlanError::OtherModel { .. }));
    }
}

/// Weights and names may change: the plan is the same.
#[test]
fn other_weights_and_names_have_the_same_plan() {
    let net = |name: &str, weight: f32| {
        let mut net = GraphBuilder::new(name);
        let x = net.input(&format!("{name}/x"), &[1, 8, 8, 4]).unwrap();
        let weights = net.constant("w", &[8, 4], &[weight; 32]).unwrap();
        let y = net.unary("y", Unary::Sin, x).unwrap();
        let z = net.node_to("z", Op::FullyConnected, &[y, weights], &[1, 8, 8, 8], Act::None).unwrap();
        let z = net.unary("z", Unary::Cos, z).unwrap();
        net.finish(&[z]).unwrap()
    };
    let compiled = compile(&net("old", 0.25), &options(Objective::Fastest), &SearchControl::new()).unwrap();
    let loaded = load(&net("new", 0.75), &compiled.save(), LIMITS).unwrap();
    assert_eq!((loaded.schedule(), loaded.plan()), (compiled.schedule(), compiled.plan()));
    assert_eq!(loaded.graph().name, "new");
}

#[test]
fn other_files_and_other_versions_have_different_errors() {
    let (graph, bytes) = small_plans().swap_remove(0);
    for bytes in [&b""[..], b"GIF89a", b"texplan", b"texplam\0 and more"] {
        let error = refused(&graph, bytes, LIMITS);
        match bytes == b"texplan" {
            true => assert!(matches!(error, SavedPlanError::Length { found: 7, .. }), "{error}"),
            false => assert!(matches!(error, SavedPlanError::NotAPlan), "{error}"),
        }
    }
    let mut newer = bytes.clone();
    newer[8] += 1;
    // A later version may continue with any bytes after its number.
    for newer in [&newer[..], &newer[..10]] {
        let error = refused(&graph, newer, LIMITS);
        assert!(matches!(error, SavedPlanError::Version { found, expected } if found == expected + 1), "{error}");
    }
    assert!(refused(&graph, &newer, LIMITS).to_string().contains("compile the model again"));
}

#[test]
fn a_device_that_allows_less_is_told_which_texture_is_too_large() {
    let graph = networks::resnet18();
    let compiled = compile(&graph, &options(Objective::Fastest), &SearchControl::new()).unwrap();
    let widest = compiled.plan().textures.iter().map(|texture| texture.width.max(texture.height)).max().unwrap();
    assert!(load(&graph, &compiled.save(), TextureLimits { max_extent: widest }).is_ok());
    let error = refused(&graph, &compiled.save(), TextureLimits { max_extent: widest - 1 });
    assert!(matches!(error, SavedPlanError::Limits { max_extent, .. } if max_extent == widest - 1), "{error}");
    assert!(error.to_string().contains("compile the model for this device"), "{error}");
}

/// An invalid model cannot be compiled, so it cannot load a plan either.
#[test]
fn a_graph_that_is_not_whole_is_refused() {
    let (mut graph, bytes) = small_plans().swap_remove(0);
    graph.outputs.clear();
    let error = refused(&graph, &bytes, LIMITS);
    assert!(matches!(&error, SavedPlanError::Compile(of) if matches!(**of, CompileError::Graph(_))), "{error}");
}

#[test]
fn a_plan_that_breaks_a_rule_is_refused_by_the_checker() {
    let [_, _, (graph, mut whole), (_, tiled), _]: [_; 5] = small_plans().try_into().unwrap();
    // The last bytes are the texture and the first texel of two tensors; the second is put where the first is read
    // from.
    let [first, second] = [4, 2].map(|from_end| whole.len() - from_end);
    whole[second] = whole[first];
    let error = loaded(&graph, &sealed(&whole)).map(|_| ()).unwrap_err();
    let overlap = matches!(error, SavedPlanError::Plan(PlanError::Layout(LayoutError::Overlap { a: 0, b: 1, .. })));
    assert!(overlap, "{error}");
    assert!(error.to_string().contains("compile the model again"), "{error}");
    // In stripes rows overwrite each other.
    let overwritten = |&(at, change): &(usize, u8)| {
        let mut bytes = tiled.clone();
        bytes[at] ^= change;
        let outcome = loaded(&graph, &sealed(&bytes));
        matches!(outcome, Err(SavedPlanError::Plan(PlanError::Layout(LayoutError::RowNotThere { .. }))))
    };
    let changes = (BEGIN..tiled.len()).flat_map(|at| (1..8).map(move |change| (at, change)));
    assert!(changes.filter(overwritten).count() > 0);
}

/// Numbers that would make the reader allocate excessive memory.
#[test]
fn large_numbers_get_little_memory() {
    for (graph, bytes) in small_plans() {
        for at in BEGIN..bytes.len() {
            for large in
                [&[0xff, 0xff, 0xff, 0xff, 0x0f][..], &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]]
            {
                let bytes = [&bytes[..at], large, &bytes[at + 1..]].concat();
                let _ = loaded(&graph, &sealed(&bytes));
            }
        }
    }
}

/// The committed inputs of the fuzz target. Its seeds are plans saved by earlier builds, which must load as long as
/// the format keeps its version.
#[test]
fn plans_that_were_saved_before_are_loaded() {
    let seed_folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("seeds/saved_plan");
    fs::create_dir_all(&seed_folder).unwrap();
    for (number, (graph, _)) in (0u8..).zip(&*GRAPHS) {
        for (name, objective) in [("whole", Objective::Fastest), ("tiled", Objective::Smallest)] {
            let bytes = [&[number], &plan(graph, objective).unwrap()[BEGIN..]].concat();
            fs::write(seed_folder.join(format!("{}_{name}", graph.name)), &bytes).unwrap();
            assert_eq!(drive(&bytes).unwrap().unwrap().tiled().is_some(), objective == Objective::Smallest);
        }
    }
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz");
    let read = |kind: &str| fs::read_dir(fuzz.join(kind).join("saved_plan")).into_iter().flatten().map(Result::unwrap);
    let mut seeds = 0;
    for seed in read("seeds") {
        let answer = drive(&fs::read(seed.path()).unwrap()).unwrap();
        let again = "raise the version of the format, and copy the plans of today";
        assert!(
            answer.is_ok(),
            "{}: {:?}: {again} from {}",
            seed.path().display(),
            answer.err(),
            seed_folder.display()
        );
        seeds += 1;
    }
    assert_eq!(seeds, 4);
    for entry in read("found") {
        let _ = drive(&fs::read(entry.path()).unwrap());
    }
}
