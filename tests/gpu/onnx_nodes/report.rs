//! Runs all cases and compares the outcomes with the committed list and counts.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Instant,
};

use texpool_gpu::SharedPipelines;

use crate::support::open;

use super::{
    listed::{class, groups, matches},
    package::{FOLDERS, Files, cases},
    proto::facts,
    run::{How, Outcome, run},
};

/// Runs all cases on one device, one thread per core.
fn outcomes(cases: &BTreeMap<String, Files>) -> BTreeMap<String, Outcome> {
    let gpu = open();
    let (pipelines, next, outcomes) = (SharedPipelines::default(), AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    let all: Vec<(&String, &Files)> = cases.iter().collect();
    let work = || {
        while let Some((name, files)) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
            let outcome = run(&gpu, &pipelines, files);
            outcomes.lock().unwrap().insert((*name).clone(), outcome);
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    outcomes.into_inner().unwrap()
}

/// Lists the operators that pass only if some inputs are bound as constants, with those inputs.
fn bound(cases: &BTreeMap<String, Files>, outcomes: &BTreeMap<String, Outcome>) -> String {
    let mut bound: BTreeMap<String, BTreeSet<usize>> = BTreeMap::new();
    for (name, outcome) in outcomes {
        let Outcome::Passed(How::Bound(inputs)) = outcome else { continue };
        if let [operator] = &facts(&cases[name]["model.onnx"]).operators[..] {
            bound.entry(operator.clone()).or_default().extend(inputs);
        }
    }
    bound.iter().map(|(operator, inputs)| format!("{operator} {inputs:?}")).collect::<Vec<_>>().join(", ")
}

/// Counts for each operator (cases with only this operator) and each folder: cases that pass, all cases of supported
/// types, cases of 64-bit floats that pass in 32 bits, and cases of other types.
fn counts(cases: &BTreeMap<String, Files>, outcomes: &BTreeMap<String, Outcome>) -> String {
    let mut counts: BTreeMap<String, [usize; 4]> = BTreeMap::new();
    for (name, files) in cases {
        let operators = facts(&files["model.onnx"]).operators;
        let add = match &outcomes[name] {
            Outcome::Passed(_) => [1, 1, 0, 0],
            Outcome::Narrowed(_) => [0, 0, 1, 0],
            Outcome::Type(_) => [0, 0, 0, 1],
            _ => [0, 1, 0, 0],
        };
        let folder = name.split('/').next().unwrap().to_owned();
        let alone = <[String; 1]>::try_from(operators).ok().filter(|_| folder == FOLDERS[0]).map(|[operator]| operator);
        for key in [Some(format!("{folder}/")), alone].into_iter().flatten() {
            let count = counts.entry(key).or_default();
            *count = std::array::from_fn(|i| count[i] + add[i]);
        }
    }
    let mut csv = String::from(
        "operator or folder,passed,cases of supported types,passed in 32 bits for 64,cases of other types\n",
    );
    for (key, [passed, cases, narrowed, others]) in counts {
        writeln!(csv, "{key},{passed},{cases},{narrowed},{others}").unwrap();
    }
    csv
}

/// ONNX's official cases: fails if a case starts to fail, or to pass, and the list does not say so.
#[test]
fn every_case_passes_or_is_listed_with_its_reason() {
    let begun = Instant::now();
    let cases = cases();
    let outcomes = outcomes(&cases);
    let groups = groups();
    let mut wrong = Vec::new();
    let mut totals: BTreeMap<&str, usize> = BTreeMap::new();
    for (name, outcome) in &outcomes {
        let listed: Vec<_> = groups.iter().filter(|group| group.holds(name)).collect();
        let total = match outcome {
            Outcome::Passed(How::AtRunTime) => "passed",
            Outcome::Passed(How::Bound(_)) => "passed with some inputs bound",
            Outcome::Passed(How::OnImport) => "passed, computed on import",
            _ => class(outcome).unwrap().0,
        };
        *totals.entry(total).or_default() += 1;
        match (class(outcome), listed.as_slice()) {
            (None, []) => {}
            (None, [group, ..]) => wrong.push(format!("{name} passes, but is listed: {}", group.why)),
            (Some((class, reason)), []) => wrong.push(format!("{name} {class}: {reason}")),
            (Some((class, _)), [group]) if class == group.class => {}
            (Some((class, reason)), [group, ..]) => {
                let others = listed.len() - 1;
                wrong.push(format!("{name} {class}, listed as {} and {others} more: {reason}", group.class));
            }
        }
    }
    for pattern in groups.iter().flat_map(|group| &group.cases) {
        if !outcomes.keys().any(|name| matches(pattern, name)) {
            wrong.push(format!("{pattern} is listed, and there is no such case"));
        }
    }
    let counts = counts(&cases, &outcomes);
    if counts != include_str!("../../../crates/texpool-model/src/import/onnx/official.csv") {
        let path = concat!(env!("CARGO_TARGET_TMPDIR"), "/official.csv");
        std::fs::write(path, counts).unwrap();
        wrong.push(format!(
            "crates/texpool-model/src/import/onnx/official.csv differs from {path}, as counted just now"
        ));
    }
    println!("inputs bound: {}", bound(&cases, &outcomes));
    println!("{} cases in {:.0?}: {totals:?}", outcomes.len(), begun.elapsed());
    assert!(wrong.is_empty(), "{} cases:\n{}", wrong.len(), wrong.join("\n"));
}
