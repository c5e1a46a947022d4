//! `texpool plan` on usage records and on the published tables.

#![cfg(test)]

use std::{fs, process::Command};

use serde_json::Value;

fn texpool(args: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_texpool")).args(args).current_dir(crate::ROOT).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn records_are_compared_and_the_plan_written_with_offsets() {
    let folder = tempfile::tempdir().unwrap();
    let records = folder.path().join("records.csv");
    fs::write(&records, "id,lower,upper,size\na,0,2,8\nb,1,3,4\nc,2,4,8\n").unwrap();
    let planned = folder.path().join("planned.csv");
    let (records, planned) = (records.to_str().unwrap(), planned.to_str().unwrap());
    let (code, out, err) = texpool(&["plan", "--records", records, "--write", planned, "--json"]);
    assert_eq!(code, Some(0), "{err}");
    let comparison: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(comparison["optimum"]["proven"], true);
    assert_eq!(comparison["best"]["bounds"]["offsets"], 12);
    let written = fs::read_to_string(planned).unwrap();
    assert!(written.starts_with("id,lower,upper,size,offset\na,0,2,8,"), "{written}");
    assert_eq!(written.lines().count(), 4);
    // The written file can be read again.
    assert_eq!(texpool(&["plan", "--records", planned, "--strategy", "greedy_by_size"]).0, Some(0));
}

/// The memory in both orders is printed beside each other, with the bound on every order.
#[test]
fn the_order_with_the_smallest_pool_is_compared_with_the_files() {
    let plan = ["plan", "tests/data/tiny.tflite", "--stream", "none", "--order", "memory"];
    let (code, out, err) = texpool(&[&plan[..], &["--json"]].concat());
    assert_eq!(code, Some(0), "{err}");
    let report: Value = serde_json::from_str(&out).unwrap();
    let order = &report["order"];
    let number = |value: &Value| value.as_u64().unwrap();
    assert_eq!(order["chosen"]["pool_bytes"], report["plan"]["bytes"]);
    assert!(number(&order["chosen"]["pool_bytes"]) <= number(&order["file"]["pool_bytes"]), "{order}");
    assert!(number(&order["bound_bytes"]) <= number(&order["chosen"]["peak_bytes"]), "{order}");
    assert!(order["proven"].is_boolean(), "{order}");
    for details in [&[][..], &["--details"]] {
        let (_, out, _) = texpool(&[&plan[..], details].concat());
        assert!(out.contains("order of operators, with whole tensors") && out.contains("lower bound"), "{out}");
    }
    let (_, out, _) = texpool(&[&plan[..4], &["--json"]].concat());
    let report: Value = serde_json::from_str(&out).unwrap();
    assert!(report["order"].is_null(), "the file's order needs no comparison");
    assert_eq!(texpool(&[&plan[..5], &["size"]].concat()).0, Some(2));
}

#[test]
fn the_records_of_a_model_are_written_for_other_planners() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (csv, aligned, json) = (path("records.csv"), path("aligned.csv"), path("records.json"));
    let model = "tests/data/tiny.tflite";
    for (to, more) in [(&csv, &[][..]), (&aligned, &["--align", "64"]), (&json, &["--stream", "none"])] {
        let (code, _, err) = texpool(&[&["plan", model, "--records-out", to], more].concat());
        assert!(code == Some(0) && err.contains("records to"), "{err}");
    }
    let rows = |path: &str| {
        let text = fs::read_to_string(path).unwrap();
        let (header, rows) = text.split_once('\n').unwrap();
        assert_eq!(header, "id,lower,upper,size");
        let sizes = rows.lines().map(|row| row.rsplit_once(',').unwrap().1.parse::<u64>().unwrap());
        sizes.collect::<Vec<_>>()
    };
    let (sizes, rounded) = (rows(&csv), rows(&aligned));
    let up: Vec<u64> = sizes.iter().map(|size| size.next_multiple_of(64)).collect();
    assert!(rounded == up && rounded != sizes, "{sizes:?} {rounded:?}");
    // Without streaming, inputs and outputs have textures of their own.
    let read: Value = serde_json::from_str(&fs::read_to_string(&json).unwrap()).unwrap();
    assert!(read["records"].as_array().unwrap().len() < sizes.len());
    for records in [&csv, &aligned, &json] {
        assert_eq!(texpool(&["plan", "--records", records]).0, Some(0));
    }
    for (wrong, code) in [
        (&["--align", "64"][..], 2),
        (&["--records-out", &csv, "--align", "48"], 2),
        (&["--records-out", &csv, "--budget", "1MiB"], 2),
        (&["--records-out", model], 1),
    ] {
        assert_eq!(texpool(&[&["plan", model], wrong].concat()).0, Some(code), "{wrong:?}");
    }
}

#[test]
fn operands_in_whose_place_results_may_be_computed_leave_with_the_records() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (plain, pairs, planned) = (path("plain.csv"), path("pairs.csv"), path("planned.csv"));
    // Without rules, activations are functions of their own.
    let model = ["plan", "light_squeezenet", "--stream", "none", "--rules", "none", "--records-out"];
    for (to, more) in [(&plain, &[][..]), (&pairs, &["--in-place"])] {
        let (code, _, err) = texpool(&[&model[..], &[to], more].concat());
        assert_eq!((code, err.contains("computed in place of others")), (Some(0), !more.is_empty()), "{err}");
    }
    let total = |records: &str, to: &str| {
        let (code, out, err) = texpool(&["plan", "--records", records, "--arena", "--write", to, "--json"]);
        assert_eq!(code, Some(0), "{err}");
        let read: Value = serde_json::from_str(&out).unwrap();
        read["total"].as_u64().unwrap()
    };
    let (without, with) = (total(&plain, &path("plain plan.csv")), total(&pairs, &planned));
    assert!(with < without, "{with} {without}");
    // The plan keeps the pairs, so that a later pass may use them.
    let text = fs::read_to_string(&planned).unwrap();
    assert!(text.starts_with("id,lower,upper,size,in_place,offset\n"), "{text}");
    assert_eq!(total(&planned, &path("again.csv")), with);
    let json = path("pairs.json");
    assert_eq!(texpool(&[&model[..], &[&json, "--in-place"]].concat()).0, Some(2));
    assert_eq!(texpool(&["plan", "light_squeezenet", "--in-place"]).0, Some(2));
}

#[test]
fn a_wrong_record_is_named_by_file_line_and_column() {
    let folder = tempfile::tempdir().unwrap();
    let records = folder.path().join("records.csv");
    fs::write(&records, "id,lower,upper,size\na,5,2,8\n").unwrap();
    let (code, _, err) = texpool(&["plan", "--records", records.to_str().unwrap()]);
    assert_eq!(code, Some(1));
    assert!(err.contains("records.csv") && err.contains("line 2"), "{err}");
    let absent = folder.path().join("nowhere.csv");
    assert_eq!(texpool(&["plan", "--records", absent.to_str().unwrap()]).0, Some(1));
}

#[test]
fn nothing_to_plan_is_a_usage_error() {
    assert_eq!(texpool(&["plan"]).0, Some(2));
    assert_eq!(texpool(&["plan", "x", "--published"]).0, Some(2));
    let tiny = "tests/data/tiny.tflite";
    for wrong in [
        &["plan", tiny, "--strategy", "all", "--objective", "smallest"][..],
        &["plan", "--published", "--front"],
        &["plan", "--records", "records.csv", "--budget", "1MiB"],
        &["csdf", tiny, "--stripes", "0"],
    ] {
        let (code, _, err) = texpool(wrong);
        assert_eq!(code, Some(2), "{wrong:?}: {err}");
    }
}

#[test]
fn the_published_tables_are_printed_cell_by_cell() {
    let (code, out, _) = texpool(&["plan", "--published"]);
    assert_eq!(code, Some(0));
    assert!(out.contains("Table 1") && out.contains("Table 2") && out.contains("BlazeFace"), "{out}");
    let (_, out, _) = texpool(&["plan", "--published", "--json"]);
    assert!(serde_json::from_str::<Value>(&out).unwrap()["cells"].as_array().unwrap().len() > 50);
}

#[test]
fn a_model_shows_every_strategy_and_the_reason_for_the_choice() {
    let (code, out, err) = texpool(&["plan", "tests/data/tiny.tflite", "--strategy", "all"]);
    assert_eq!(code, Some(0), "{err}");
    for word in ["greedy_by_breadth", "min_cost_flow", "offsets_smallest", "proven optimal", "chosen: "] {
        assert!(out.contains(word), "{word} is missing: {out}");
    }
}

#[test]
fn pools_and_fronts_are_drawn() {
    let model = "tests/data/models/face_detection_front_2019.tflite";
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let drawn = |name: &str, args: &[&str]| {
        let to = path(name);
        let (code, out, err) = texpool(&[args, &["--picture", &to]].concat());
        assert_eq!(code, Some(0), "{err}");
        let svg = fs::read_to_string(to).unwrap();
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"), "{svg}");
        assert_eq!(svg.matches("<title>").count(), svg.matches("</title>").count());
        assert!(err.contains(&format!("wrote the picture to {}, ", path(name))), "{err}");
        (serde_json::from_str::<Value>(&out).unwrap(), svg)
    };
    for objective in ["fastest", "smallest"] {
        let (report, svg) = drawn("pool.svg", &["plan", model, "--json", "--objective", objective, "--deadline", "3"]);
        // One path per tensor, one frame per texture.
        let plan = &report["plan"];
        assert_eq!(svg.matches("<path ").count(), plan["placements"].as_array().unwrap().len(), "{objective}");
        assert_eq!(svg.matches("<title>texture ").count(), plan["textures"].as_array().unwrap().len(), "{objective}");
        // The axis, the size of each texture, operators that fit, and the peak.
        assert!(svg.contains(">steps of a run</text>") && svg.contains(" KiB</text>"), "{svg}");
        assert!(svg.contains(">peak: step ") && svg.contains(" KiB alive</text>"), "{svg}");
        // Whole tensors have room for the names of their operators; rows may have none.
        assert!(objective == "smallest" || svg.contains("text-anchor=\"middle\">CONV_2D"), "{svg}");
        assert!(svg.contains("<title>DEPTHWISE_CONV_2D ") && svg.contains("prefers-color-scheme:dark"), "{svg}");
        // If rows are placed separately, all row starts are listed.
        let scattered =
            |p: &&Value| p["form"] == "scattered" && p["row_starts"].as_array().is_some_and(|s| s.len() > 1);
        assert_eq!(plan["placements"].as_array().unwrap().iter().any(|p| scattered(&p)), objective == "smallest");
    }
    let (front, svg) = drawn("front.svg", &["plan", model, "--json", "--front", "--deadline", "3"]);
    assert_eq!(svg.matches("<circle ").count(), front["points"].as_array().unwrap().len());
    assert!(svg.contains("MiB</text>") && svg.contains("time of a run in milliseconds</text>"), "{svg}");
    assert!(svg.contains("logarithmic") && svg.contains("prefers-color-scheme:dark"), "{svg}");
    let points = front["points"].as_array().unwrap();
    let bytes = |point: &Value| ["device_bytes", "bytes"].map(|key| point[key].as_u64().unwrap());
    assert!(
        points.windows(2).all(|pair| bytes(&pair[0])[0] > bytes(&pair[1])[0]),
        "each takes less than the one before"
    );
    assert!(points.iter().map(bytes).all(|[device, pool]| device > pool), "{points:?}");
    let records = path("records.csv");
    fs::write(&records, "id,lower,upper,size\na,0,2,8\nb,1,3,4\n").unwrap();
    let (_, svg) = drawn("records.svg", &["plan", "--records", &records, "--strategy", "greedy_by_size", "--json"]);
    assert_eq!(svg.matches("<title>tensor ").count(), 2);
    let (code, _, err) = texpool(&["plan", model, "--picture", &path("nowhere/pool.svg")]);
    assert_eq!(code, Some(1));
    assert!(err.contains("nowhere"), "{err}");
}

/// Without flags that select a plan, the answer is a table: the plain plan, sizes below it, and the smallest.
#[test]
fn a_model_is_answered_by_a_table_of_plans() {
    let cache = tempfile::tempdir().unwrap();
    let model = "tests/data/models/face_detection_front_2019.tflite";
    let planned = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_texpool"));
        let command = command.args(["plan", model]).args(args).current_dir(crate::ROOT);
        let output = command.env("TEXPOOL_CACHE", cache.path()).env("VK_DRIVER_FILES", crate::ABSENT).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let json = |args: &[&str]| serde_json::from_str::<Value>(&planned(&[args, &["--json"]].concat())).unwrap();
    let text = planned(&["--deadline", "2"]);
    assert!((7..=15).contains(&text.lines().count()), "{text}");
    for words in
        ["texture for every tensor", "predicted time", "  plain ", "  smallest ", "--objective smallest", "--details"]
    {
        assert!(text.contains(words), "{words} is missing: {text}");
    }
    // The model needs less than 4 MiB anyway.
    assert!(!text.contains("\n  8 MiB") && !text.contains("\n  4 MiB"), "{text}");
    let document = json(&["--deadline", "2"]);
    let rows = document["rows"].as_array().unwrap();
    assert_eq!(rows.iter().map(|row| row["name"].as_str().unwrap()).collect::<Vec<_>>(), ["plain", "smallest"]);
    assert!(rows[0]["time_ratio"] == 1.0 && rows[0]["device_bytes"] == document["device_bytes"], "{rows:?}");
    assert!(rows[1]["device_bytes"].as_u64() < rows[0]["device_bytes"].as_u64(), "{rows:?}");
    assert!(
        document["strategies"].as_array().unwrap().len() > 5 && document["predicted_for"].is_string(),
        "{document}"
    );
    // The plan of the row was kept: a millisecond is too short to find it again.
    assert_eq!(json(&["--deadline", "0.001"])["rows"][1]["device_bytes"], rows[1]["device_bytes"]);

    let one = planned(&["--budget", "2MiB"]);
    assert!(one.contains("  budget 2.0 MiB ") && !one.contains("\n  plain ") && one.lines().count() < 12, "{one}");
    assert_eq!(json(&["--strategy", "naive"])["rows"].as_array().unwrap().len(), 1);
    let details = planned(&["--details"]);
    assert!(details.contains("residency") && details.contains("lower bound of shared objects"), "{details}");
    assert!(!details.contains("predicted time"), "{details}");
}

/// Answers to `--capacity`: each has its exit code, and a plan that fits is written with its offsets.
#[test]
fn a_capacity_is_kept_refused_or_left_open() {
    let folder = tempfile::tempdir().unwrap();
    let planned = folder.path().join("planned.csv");
    let planned = planned.to_str().unwrap();
    let records = "tests/data/minimalloc/input.12.csv";
    let (code, out, err) = texpool(&["plan", "--records", records, "--capacity", "12", "--write", planned]);
    assert_eq!(code, Some(0), "{err}");
    assert!(out.starts_with("fits into 12: the plan ends at 12"), "{out}");
    assert!(fs::read_to_string(planned).unwrap().starts_with("id,lower,upper,size,offset\n"));
    fs::remove_file(planned).unwrap();
    let (code, out, _) = texpool(&["plan", "--records", records, "--capacity", "11", "--write", planned, "--json"]);
    let answer: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, answer["answer"].as_str(), answer["height"].as_u64()), (Some(3), Some("impossible"), None));
    assert!(fs::metadata(planned).is_err(), "nothing is written where there is no plan");
    let hard = "tests/data/minimalloc/J.1048576.csv";
    let (code, out, _) = texpool(&["plan", "--records", hard, "--capacity", "966KiB", "--deadline", "0"]);
    assert_eq!(code, Some(4), "{out}");
    assert!(out.starts_with("undecided"), "{out}");
    for wrong in [&["--capacity", "0"][..], &["--capacity", "12", "--strategy", "naive"], &["--deadline", "soon"]] {
        assert_eq!(texpool(&[&["plan", "--records", records], wrong].concat()).0, Some(2), "{wrong:?}");
    }
    assert_eq!(texpool(&["plan", "model.tflite", "--capacity", "12"]).0, Some(2));
}

/// An arena with more buffers than the exact search takes is printed as such.
#[test]
fn more_buffers_than_the_exact_search_takes_are_said() {
    let folder = tempfile::tempdir().unwrap();
    let records = folder.path().join("records.csv");
    // The widest step needs 5 bytes, but the third buffer does not fit beside the first two.
    // Windows without a common byte leave the proof to the search for few buffers.
    let hard = "id,lower,upper,size,offset,gaps\na,0,2,2,2,\nb,0,1,2,,\nc,1,2,3,,\nw,3,9,2,,5-6@0:1 7-8@1:2\n";
    let more: String = (0..300).map(|at| format!("{at},{},{},1,,\n", at + 3, at + 4)).collect();
    fs::write(&records, hard.to_owned() + &more).unwrap();
    let (code, out, err) = texpool(&["plan", "--records", records.to_str().unwrap(), "--json"]);
    let plan: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, plan["stopped"].as_str()), (Some(0), Some("too_many_tensors")), "{out}");
    assert!(err.contains("more tensors overlap in time than the exact search takes"), "{err}");
}

/// One relaxation of this instance takes minutes: the command still answers by its deadline, and says that it
/// stopped.
#[test]
fn a_deadline_is_kept_and_said() {
    let hard = "tests/data/minimalloc/J.1048576.csv";
    let begun = std::time::Instant::now();
    let (code, out, err) = texpool(&["plan", "--records", hard, "--deadline", "2", "--json"]);
    assert!(begun.elapsed() < std::time::Duration::from_secs(20), "{:?}", begun.elapsed());
    assert_eq!(code, Some(0), "{err}");
    let comparison: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (comparison["stopped"].as_str(), comparison["optimum"]["proven"].as_bool()),
        (Some("deadline"), Some(false))
    );
    assert!(err.contains("stopped after") && err.contains("not proven"), "{err}");
}

/// minimalloc's whole file format: one arena, written with offsets, fitted into a capacity, drawn, and errors
/// located.
#[test]
fn buffers_with_alignments_gaps_and_places_are_planned_in_one_arena() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let input =
        file("b.csv", "buffer,start,end,size,alignment,gaps,offset\na,0,5,8,1,2-3,\nb,2,3,6,4,,\nc,0,5,3,1,,16\n");
    let planned = file("planned.csv", "");
    let drawn = file("drawn.svg", "");
    let (code, out, err) = texpool(&["plan", "--records", &input, "--write", &planned, "--picture", &drawn, "--json"]);
    assert_eq!(code, Some(0), "{err}");
    let plan: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&plan["total"], &plan["bound"], &plan["proof"]), (&19.into(), &19.into(), &"widest_step".into()));
    let written = fs::read_to_string(&planned).unwrap();
    let expected = "id,lower,upper,size,alignment,gaps,offset\na,0,6,8,1,2-4,0\nb,2,4,6,4,,0\nc,0,6,3,1,,16\n";
    assert_eq!(written, expected);
    assert_eq!(fs::read_to_string(&drawn).unwrap().matches("<title>buffer 0 a: 8, steps 0 to 5").count(), 2);
    // Planning a written plan again ignores its offsets: without the fixed offset of `c` the pool is smaller.
    let (code, out, err) = texpool(&["plan", "--records", &planned]);
    assert!(code == Some(0) && out.starts_with("one arena of 11; the widest step needs as much, "), "{out}{err}");
    let (code, out, _) = texpool(&["plan", "--records", &input, "--capacity", "18"]);
    assert!(code == Some(3) && out.starts_with("does not fit into 18: no plan does; "), "{out}");
    let (code, out, _) = texpool(&["plan", "--records", &input, "--capacity", "19"]);
    assert!(code == Some(0) && out.starts_with("fits into 19: the plan ends at 19; "), "{out}");
    let (code, _, err) = texpool(&["plan", "--records", &input, "--strategy", "greedy_by_size"]);
    assert!(code == Some(2) && err.contains("go with the strategy `best` only"), "{err}");
    let wrong = file("wrong.csv", "id,lower,upper,size,gaps\na,0,9,4,1-2 5-11\n");
    let (code, _, err) = texpool(&["plan", "--records", &wrong]);
    assert_eq!(code, Some(1));
    assert!(err.contains("wrong.csv: line 2, column 13: the gap 5-11 is not within the life 0-9"), "{err}");
    // All columns that minimalloc knows: the window of the first lets the second in beneath it, but not beside the
    // third.
    let all = file(
        "all.csv",
        "id,lower,upper,size,alignment,hint,gaps,offset\na,0,3,8,1,-1,1-2@6:8,\nb,1,2,5,4,0,,\nc,1,2,3,1,-1,,8\n",
    );
    let (code, out, err) = texpool(&["plan", "--records", &all, "--write", &planned, "--json"]);
    assert_eq!(code, Some(0), "{err}");
    let plan: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&plan["total"], &plan["bound"], &plan["proof"]), (&11.into(), &11.into(), &"widest_step".into()));
    let expected = "id,lower,upper,size,alignment,hint,gaps,offset\n\
                  a,0,3,8,1,-1,1-2@6:8,0\nb,1,2,5,4,0,,0\nc,1,2,3,1,-1,,8\n";
    assert_eq!(fs::read_to_string(&planned).unwrap(), expected);
    let ruled_out = file("ruled_out.csv", "id,lower,upper,size,offset\na,0,2,3,3\nb,0,1,4,\nc,1,2,3,\n");
    let (code, out, err) = texpool(&["plan", "--records", &ruled_out]);
    let answer = "one arena of 10; a search has ruled out everything smaller, ";
    assert!(code == Some(0) && out.starts_with(answer), "{out}{err}");
    let clash = file("clash.csv", "id,lower,upper,size,offset\na,0,9,4,0\nb,0,9,4,2\nc,0,9,4,\n");
    let (code, _, err) = texpool(&["plan", "--records", &clash]);
    assert!(code == Some(1) && err.contains("buffer 0 (a): its given place overlaps that of buffer 1"), "{err}");
}

/// Records that could share objects are placed in one arena on request, which takes less.
#[test]
fn records_without_alignments_are_placed_in_one_arena_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let records = folder.path().join("records.csv");
    fs::write(&records, "id,lower,upper,size\na,0,2,8\nb,1,3,4\nc,2,4,8\n").unwrap();
    let plan = ["plan", "--records", records.to_str().unwrap(), "--arena"];
    let (code, out, err) = texpool(&plan);
    assert!(code == Some(0) && out.starts_with("one arena of 12; the widest step needs as much, "), "{out}{err}");
    for wrong in [&["--strategy", "naive"][..], &["--scratch", "0=16"], &["--memory", "sram"]] {
        assert_eq!(texpool(&[&plan[..], wrong].concat()).0, Some(2), "{wrong:?}");
    }
}

/// Planning in passes, as Pisarchyk and Lee propose for tensors whose sizes become known during inference: tensors of
/// the first pass stay where they are, and those of the next are placed around them.
#[test]
fn a_second_pass_keeps_the_places_of_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (first, planned, both) = (path("first.csv"), path("planned.csv"), path("both.csv"));
    fs::write(&first, "id,lower,upper,size\na,0,2,8\nb,1,6,4\nc,5,7,8\n").unwrap();
    let (code, _, err) = texpool(&["plan", "--records", &first, "--arena", "--write", &planned]);
    assert_eq!(code, Some(0), "{err}");
    let earlier = fs::read_to_string(&planned).unwrap();
    fs::write(&both, earlier.clone() + "d,2,5,6,\ne,4,5,5,\n").unwrap();
    let total = |args: &[&str]| {
        let (code, out, err) = texpool(&[&["plan", "--arena", "--json", "--records"], args].concat());
        assert_eq!(code, Some(0), "{err}");
        let plan: Value = serde_json::from_str(&out).unwrap();
        assert_ne!(plan["proof"], "unproven");
        plan["total"].as_u64().unwrap()
    };
    // `b` lies above `a` and leaves no room for both new tensors below it.
    assert_eq!(total(&[&both, "--write", &planned]), 17);
    let written = fs::read_to_string(&planned).unwrap();
    assert!(written.starts_with(&earlier), "{written}");
    // Planned anew, they take the widest step.
    assert_eq!(total(&[&planned]), 15);
}
