//! Comparing with the references step by step, and the plans that are compared.

use std::ops::ControlFlow;

use texpool_compile::{CompileOptions, Objective};
use texpool_gpu::{GpuError, compare, tolerance};
use texpool_plan::TexelFormat;

use crate::support::{goldens::golden, models, open};

/// `compare` finds no difference in a correct run, in stripes and in place too.
#[test]
fn every_step_of_every_kind_of_plan_is_near_its_reference() {
    let golden = golden("blazeface_short_range");
    let graph = texpool_model::import::open(models::model(&golden.model)).unwrap();
    let gpu = open();
    for (format, objective) in [
        (TexelFormat::Rgba32Float, Objective::Fastest),
        (TexelFormat::Rgba16Float, Objective::Fastest),
        (TexelFormat::Rgba32Float, Objective::Smallest),
    ] {
        let compile = CompileOptions { format, objective, ..CompileOptions::default() };
        let mut reports = Vec::new();
        let progress = |done, of| {
            reports.push((done, of));
            ControlFlow::Continue(())
        };
        let steps = compare(&gpu, &graph, compile, &[&golden.input], tolerance(format), progress).unwrap();
        let worst = steps.iter().map(|step| step.relative()).fold(0.0, f32::max);
        println!("{format:?} {objective:?}: {} steps, {worst:e} of the largest", steps.len());
        assert!(worst <= tolerance(format), "{:?}", steps.last());
        assert_eq!(reports.last(), Some(&(steps.len(), steps.len())));
    }
}

#[test]
fn the_first_step_beyond_the_tolerance_is_the_last_that_is_answered() {
    let golden = golden("blazeface_short_range");
    let graph = texpool_model::import::open(models::model(&golden.model)).unwrap();
    let compile = CompileOptions::default();
    let steps = compare(&open(), &graph, compile, &[&golden.input], 0.0, |_, _| ControlFlow::Continue(())).unwrap();
    let (last, before) = steps.split_last().unwrap();
    assert!(last.worst > 0.0 && (last.device - last.reference).abs() == last.worst, "{last:?}");
    assert!(before.iter().all(|step| step.worst == 0.0), "{before:?}");
}

/// A comparison that was interrupted is not reported as one that agrees.
#[test]
fn a_comparison_that_is_broken_off_is_an_error() {
    let golden = golden("blazeface_short_range");
    let graph = texpool_model::import::open(models::model(&golden.model)).unwrap();
    let stop = |done, _| if done == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
    let outcome = compare(&open(), &graph, CompileOptions::default(), &[&golden.input], 1e-3, stop);
    assert!(matches!(outcome, Err(GpuError::Cancelled { doing: "comparing" })), "{outcome:?}");
}
