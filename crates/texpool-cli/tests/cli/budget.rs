//! Figures on a model's memory that the command prints: those of the papers, tiling, budgets and fronts.

#![cfg(test)]
#![cfg(unix)]

use serde_json::{Value, json};
use std::process::Command;

use crate::command::{fetched, json, stderr, texpool};

/// A model whose maps take most of its memory, and whose plans are found in seconds.
const SMALL: &str = "mtcnn_pnet";

/// The figures comparable with published tables are shown beside the pool, and equal a plan by the papers'
/// convention, whatever else is in the pool.
#[test]
fn inputs_and_outputs_are_in_the_pool_and_the_papers_figures_beside() {
    let (large, small) = (fetched("blazeface"), concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/tiny.tflite"));
    let planned = |model: &str, args: &[&str]| json(&[&["plan", model, "--json", "--strategy", "best"], args].concat());
    let all_ways: [(&str, &[&[&str]]); 2] = [
        (&large, &[&[], &["--stream", "none"], &["--stream", "all"]]),
        (small, &[&[], &["--stream", "none"], &["--objective", "smallest"], &["--budget", "600KiB"]]),
    ];
    for (model, ways) in all_ways {
        let (default, apart) = (planned(model, &[]), planned(model, &["--stream", "none"]));
        assert!(default["io_bytes"] == 0 && apart["io_bytes"].as_u64().unwrap() > 0, "{default} {apart}");
        assert!(default["naive_bytes"].as_u64() > apart["naive_bytes"].as_u64());
        let papers = json!({
            "naive_bytes": apart["naive_bytes"],
            "lower_bound_bytes": apart["bounds"]["shared_objects"],
            "pool_bytes": apart["plan"]["bytes"],
        });
        for way in ways {
            assert_eq!(planned(model, way)["intermediates_alone"], papers, "{way:?}");
        }
        // With a budget they stay in the pool, too, however much room it leaves.
        assert_eq!(planned(model, &["--budget", "64MiB"])["io_bytes"], 0);
    }
}

#[test]
fn plans_are_asked_for_by_objective_and_by_budget() {
    let model = SMALL;
    let front: Value =
        serde_json::from_slice(&texpool(&["plan", model, "--front", "--stream", "none", "--json"]).stdout).unwrap();
    let bytes: Vec<u64> = front["points"].as_array().unwrap().iter().map(|p| p["bytes"].as_u64().unwrap()).collect();
    assert!(bytes.len() > 2 && bytes.windows(2).all(|pair| pair[1] < pair[0]), "{bytes:?}");
    let planned = |args: &[&str]| -> Value {
        let command = ["plan", model, "--json", "--strategy", "best"];
        serde_json::from_slice(&texpool(&[&command, args].concat()).stdout).unwrap()
    };
    let least = planned(&["--objective", "smallest", "--stream", "none"])["plan"]["bytes"].as_u64().unwrap();
    assert!(least <= bytes[bytes.len() - 1]);
    // With weights and inputs in the pool, the pool is larger and nothing lies outside it.
    let streamed = planned(&["--objective", "smallest"]);
    assert!(streamed["plan"]["bytes"].as_u64().unwrap() > least && streamed["weight_bytes"] == 0, "{streamed}");
    // The device memory that a plan reports is a sufficient budget for it.
    let plain = planned(&[]);
    let again = planned(&["--budget", &plain["device_bytes"].to_string()]);
    assert_eq!((&again["plan"], &again["device_bytes"]), (&plain["plan"], &plain["device_bytes"]));
    // The budget covers everything on the device.
    let [large, small] = ["64MiB", "1MiB"].map(|budget| planned(&["--budget", budget]));
    assert!(large["tiling"].is_null() && large["weight_bytes"].as_u64().unwrap() > 0, "{large}");
    assert!(small["plan"]["bytes"].as_u64().unwrap() < large["plan"]["bytes"].as_u64().unwrap(), "{small}");
    let none = texpool(&["plan", model, "--budget", "1KiB"]);
    assert_eq!(none.status.code(), Some(1));
    let message = stderr(&none);
    assert!(message.contains("within 1024 bytes: every plan of this model takes at least"), "{message}");
    assert!(message.contains("524592 for wgpu itself"), "{message}");
    let few = texpool(&["plan", model, "--budget", "600KiB"]);
    assert_eq!(few.status.code(), Some(1));
    let message = stderr(&few);
    assert!(message.contains("within 614400 bytes; the smallest that was found takes"), "{message}");
}

#[test]
fn a_budget_that_is_no_size_is_a_usage_error_that_shows_sizes() {
    for command in ["plan", "run", "bench"] {
        for (budget, why) in [
            ("abc", "no size"),
            ("", "no size"),
            ("1XB", "no size"),
            ("0", "less than a byte"),
            ("-1", "less than a byte"),
            ("18446744073709551616", "more than any pool"),
            ("99999999999999999999", "more than any pool"),
        ] {
            let wrong = texpool(&[command, "mobilenet_v1", "--budget", budget]);
            let message = stderr(&wrong);
            assert_eq!(wrong.status.code(), Some(2), "{budget}: {message}");
            let words = ["--budget", &format!("`{budget}`"), why, "2MiB"];
            assert!(words.iter().all(|word| message.contains(word)), "{budget}: {message}");
        }
    }
    let both = texpool(&["plan", "mobilenet_v1", "--budget", "1MiB", "--objective", "smallest"]);
    assert_eq!(both.status.code(), Some(2));
    assert!(stderr(&both).contains("cannot be used with"), "{}", stderr(&both));
}

#[test]
fn every_point_of_a_front_is_run_and_plans_are_compared() {
    let model = SMALL;
    let front = json(&["plan", model, "--front", "--measure", "--seconds", "0.1", "--json"]);
    for point in front["points"].as_array().unwrap() {
        for time in ["predicted_ms", "measured_ms", "wall_ms"] {
            assert!(point[time].as_f64().unwrap() > 0.0, "{time}: {point}");
        }
        assert!(point["peak"]["operator"].is_string(), "{point}");
    }
    let document = json(&["bench", model, "--plans", "fastest,smallest,1MiB", "--seconds", "0.2", "--json"]);
    let plans = document["plans"].as_array().unwrap();
    assert_eq!(plans.len(), 3);
    assert!(plans.iter().all(|plan| plan["same_bits"] == true), "{document}");
    assert!(plans[1]["pool_bytes"].as_u64() < plans[0]["pool_bytes"].as_u64(), "{document}");
    assert!(plans[2]["device_bytes"].as_u64().unwrap() <= 1 << 20, "{document}");
    assert_eq!(["objective", "strategy"].map(|key| plans[1][key].as_str()), [Some("smallest"), None]);
    let document = json(&["bench", model, "--strategies", "naive,best", "--seconds", "0.2", "--json"]);
    let plans = document["plans"].as_array().unwrap();
    assert_eq!([&plans[0], &plans[1]].map(|plan| plan["strategy"].as_str()), [Some("naive"), Some("best")]);
    assert!(plans[1]["pool_bytes"].as_u64() < plans[0]["pool_bytes"].as_u64(), "{document}");
    assert!(plans[1]["same_bits"] == true && document["device"]["kind"].is_string(), "{document}");
    let measured = json(&["plan", model, "--budget", "1MiB", "--measure", "--seconds", "0.1", "--json"]);
    let row = &measured["rows"][0];
    let ratio = row["measured_ms"].as_f64().unwrap() / measured["plain_ms"].as_f64().unwrap();
    assert!((row["time_ratio"].as_f64().unwrap() / ratio - 1.0).abs() < 1e-9, "{measured}");
}

/// A run says what a smaller plan takes and how long: by prediction, or by runs of both plans if that was asked for.
#[test]
fn a_run_compares_its_plan_with_the_plain_one() {
    let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/models/face_detection_front_2019.tflite");
    let cache = tempfile::tempdir().unwrap();
    let run = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_texpool"));
        let output =
            command.args(["run", model, "--random"]).args(args).env("TEXPOOL_CACHE", cache.path()).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", stderr(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    let smaller = |args: &[&str]| -> Value {
        serde_json::from_str::<Value>(&run(&[args, &["--json"]].concat())).unwrap()["smaller_plan"].clone()
    };
    assert!(smaller(&[]).is_null(), "no plan is kept yet");
    assert!(run(&["--measure"]).contains("\nLess: no smaller plan is kept, so none was measured; "));
    let tiled = smaller(&["--budget", "2MiB"]);
    assert_eq!([&tiled["used"], &tiled["measured"]], [true, false], "{tiled}");
    assert!(tiled["flags"].is_null() && tiled["same_bits"].is_null(), "{tiled}");
    assert!(tiled["pool_bytes"].as_u64() < tiled["plain_pool_bytes"].as_u64(), "{tiled}");
    // The plain plan is compared with the one that was kept.
    let cached = smaller(&[]);
    assert_eq!([&cached["used"], &cached["measured"]], [false, false], "{cached}");
    assert_eq!([&cached["flags"], &cached["time_ratio"]], [&json!("--budget 2MiB"), &tiled["time_ratio"]], "{cached}");
    assert!(cached["device_bytes"].as_u64().unwrap() <= 2 << 20, "{cached}");
    assert!(run(&[]).contains("\nLess: --budget 2MiB takes 2.0 MiB at most, about "), "{}", run(&[]));
    assert!(run(&[]).contains("the time (predicted; --measure runs both), the same bits.\n"), "{}", run(&[]));
    for (args, used) in [(&["--budget", "2MiB", "--measure"][..], true), (&["--measure"], false)] {
        let measured = smaller(args);
        assert_eq!(
            [&measured["used"], &measured["measured"], &measured["same_bits"]],
            [used, true, true],
            "{measured}"
        );
        assert!(measured["time_ratio"].as_f64().is_some_and(|ratio| ratio > 0.0), "{measured}");
        assert!(run(args).contains("the time (measured), the same bits.\n"), "{}", run(args));
    }
}
