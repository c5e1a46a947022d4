//! Pool sizes of published networks.

use super::networks;
use texpool_compile::{CompileError, CompileOptions, DeviceProfile, Objective, compile, pareto_front};
use texpool_model::rewrite::Rules;
use texpool_ops::graph::Graph;
use texpool_plan::{RowTable, SearchControl, TexelFormat};

fn options(objective: Objective) -> CompileOptions {
    CompileOptions { rules: Rules::none(), objective, ..CompileOptions::default() }
}

/// The smallest pool in MiB of 32-bit and in half of that of 16-bit floats, at most `most`.
fn is_small(graph: &Graph, most: f64) {
    for (format, most) in [(TexelFormat::Rgba32Float, most), (TexelFormat::Rgba16Float, most / 2.0)] {
        let compiled =
            compile(graph, &CompileOptions { format, ..options(Objective::Smallest) }, &SearchControl::new()).unwrap();
        let tiled = compiled.tiled().unwrap();
        let (bytes, name) = (compiled.plan().bytes(), &graph.name);
        let mib = bytes as f64 / f64::from(1 << 20);
        println!("{name} {format:?}: {mib:.4} MiB, {} bytes alive, {} dispatches", tiled.live_bytes, tiled.dispatches);
        // The expected figures have three digits.
        assert!(mib < most + 0.0005, "{name}: {mib} MiB, not {most}");
        assert!(tiled.live_bytes <= bytes);
    }
}

/// The smallest pool must stay at the size reached before, so that a regression of the planner fails.
#[test]
fn mobilenet_v1() {
    is_small(&networks::mobilenet_v1(), 0.537);
}

#[test]
fn rows_lie_whole_in_rings_and_scattered() {
    let compiled = compile(&networks::mobilenet_v1(), &options(Objective::Smallest), &SearchControl::new()).unwrap();
    let mut forms = [0; 3];
    for placement in &compiled.plan().placements {
        forms[match placement.rows {
            RowTable::Whole { .. } => 0,
            RowTable::Ring { .. } => 1,
            RowTable::Scattered { .. } => 2,
        }] += 1;
    }
    assert!(forms.iter().all(|&tensors| tensors > 0), "{forms:?}");
}

/// A network with residuals.
#[test]
fn mobilenet_v2() {
    is_small(&networks::mobilenet_v2(), 0.437);
}

/// A network with concatenations.
#[test]
fn squeezenet() {
    is_small(&networks::squeezenet(), 0.257);
}

/// A network with residuals of wide tensors.
#[test]
fn resnet18() {
    is_small(&networks::resnet18(), 0.547);
}

/// A network with very large tensors.
#[test]
fn vgg19() {
    is_small(&networks::vgg19(), 1.641);
}

#[test]
fn no_point_of_a_front_is_worse_than_another() {
    for graph in [networks::mobilenet_v1(), networks::resnet18()] {
        let front = pareto_front(&graph, &options(Objective::Fastest), &SearchControl::new()).unwrap();
        let points = front.points();
        assert!(points.len() >= 5, "{} has {} points", graph.name, points.len());
        for pair in points.windows(2) {
            let [fast, small] = [&pair[0], &pair[1]];
            assert!(fast.predicted_us <= small.predicted_us);
            // The front compares all device memory, and the pool is only one part.
            assert!(fast.bytes > small.bytes || fast.device_bytes > small.device_bytes);
        }
        let again = pareto_front(&graph, &options(Objective::Fastest), &SearchControl::new()).unwrap();
        assert!(
            points.iter().zip(again.points()).all(|(a, b)| a.plan == b.plan),
            "two fronts of {} differ",
            graph.name
        );
    }
}

#[test]
fn a_budget_takes_the_fastest_plan_that_fits() {
    let graph = networks::mobilenet_v2();
    let front = pareto_front(&graph, &options(Objective::Fastest), &SearchControl::new()).unwrap();
    let points = front.points();
    let middle = &points[points.len() / 2];
    let compiled = compile(&graph, &options(Objective::Pool(middle.bytes)), &SearchControl::new()).unwrap();
    assert_eq!(compiled.plan(), &middle.plan);
    // If everything fits, no operator is divided.
    assert_eq!(compile(&graph, &options(Objective::Pool(1 << 30)), &SearchControl::new()).unwrap().tiled(), None);
}

/// If the smaller pool of whole tensors copies the parts of a concatenation, writing them in place may be faster.
#[test]
fn a_budget_met_by_the_plain_plan_still_takes_the_fastest() {
    let graph = networks::squeezenet();
    for device_profile in [DeviceProfile::default(), DeviceProfile { dispatch_us: 300.0, ..DeviceProfile::default() }] {
        let options = |objective| CompileOptions {
            device_profile: device_profile.clone(),
            objective,
            ..CompileOptions::default()
        };
        let front = pareto_front(&graph, &options(Objective::Fastest), &SearchControl::new()).unwrap();
        for bytes in [u64::MAX, front.untiled().plan().bytes()] {
            let fitting = front.points().iter().find(|point| point.bytes <= bytes).unwrap();
            let compiled = compile(&graph, &options(Objective::Pool(bytes)), &SearchControl::new()).unwrap();
            assert_eq!(compiled.plan(), &fitting.plan, "{bytes}");
        }
    }
}

#[test]
fn a_budget_that_nothing_fits_names_the_least() {
    let graph = networks::mobilenet_v1();
    let Err(error) = compile(&graph, &options(Objective::Pool(1024)), &SearchControl::new()) else {
        panic!("1 KiB is enough")
    };
    let CompileError::Budget { bytes: 1024, least, tiled: true, stopped: None, .. } = error else { panic!("{error}") };
    assert_eq!(compile(&graph, &options(Objective::Smallest), &SearchControl::new()).unwrap().plan().bytes(), least);
    assert!(error.to_string().contains(&least.to_string()), "{error}");
}
