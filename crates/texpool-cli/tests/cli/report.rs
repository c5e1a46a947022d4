//! The memory report: its JSON form, which other programs read, and its table.

#![cfg(test)]

use serde_json::{Value, json};
use texpool_cli::report::{
    DeviceMemoryReport, Fit, FrontPoint, FrontReport, MemoryReport, PartBytes, PeakReport, PlanFigures, PlanRow,
    PlanRows, ReportInputs, StepRow, StepTime, grouped, step_table, with_speeds,
};
use texpool_compile::{Clock, DeviceCeiling, MemorySpeed};
use texpool_plan::{
    Planner, SearchBudget, SearchControl, TensorRows, TexelFormat, TextureLimits, UsageRecord, realize, solve,
    uses_from_records,
};

/// Three tensors in a chain, of 4 rows of 64, 64 and 32 texels.
fn report() -> MemoryReport {
    let records = [UsageRecord::new(0, 1, 256), UsageRecord::new(1, 2, 256), UsageRecord::new(2, 3, 128)];
    let tensors = [64, 64, 32].map(|row_texels| TensorRows { rows: 4, row_texels });
    let uses = uses_from_records(&records).unwrap();
    let best = solve(&records, &uses, Planner::Best, SearchBudget::default(), &SearchControl::new()).unwrap();
    let limits = TextureLimits { max_extent: 8192 };
    let mut plan = realize(&best.layout, &records, &tensors, TexelFormat::Rgba32Float, limits).unwrap();
    plan.strategy = best.strategy.clone();
    let names = ["a", "b/relu", "c"].map(String::from);
    let rows = ["CONV_2D", "PAD", "ADD", "SOFTMAX"]
        .map(|operator| StepRow { operator: operator.into(), writes: "probabilities".into() });
    MemoryReport::new(&ReportInputs {
        model: "tiny",
        names: &names,
        rows: &rows,
        best: Some(&best),
        plan: &plan,
        format: TexelFormat::Rgba32Float,
        io_bytes: 48,
        weight_bytes: 1000,
    })
}

fn device_memory() -> DeviceMemoryReport {
    DeviceMemoryReport {
        parts: PartBytes { pool: 8448, weights: 1024, io: 64, tables: 512, transfer: 96, other: 32 },
        allocated_peak: Some(9500),
        reserved: Some(16384),
        reserved_peak: Some(32768),
        planned: PartBytes { pool: 8192, weights: 1000, io: 48, tables: 512, transfer: 96, other: 16 },
    }
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn the_json_form_is_stable() {
    let mut report = report();
    let value = serde_json::to_value(&report).unwrap();
    let mut expected =
        ["bounds", "io_bytes", "model", "naive_bytes", "plan", "steps", "strategies", "weight_bytes"].to_vec();
    assert_eq!(keys(&value), expected);
    assert_eq!(value["model"], "tiny");
    assert_eq!(value["steps"], 4);
    assert_eq!(value["naive_bytes"], (256 + 256 + 128) * 16);
    assert_eq!(value["bounds"], json!({"shared_objects": 512 * 16, "offsets": 512 * 16}));
    for strategy in value["strategies"].as_array().unwrap() {
        assert_eq!(keys(strategy), ["bytes", "name", "objects", "problem"]);
        assert!(["shared_objects", "offsets", "banks"].contains(&strategy["problem"].as_str().unwrap()));
    }
    let naive = json!({"name": "naive", "problem": "shared_objects", "bytes": 640 * 16, "objects": 3});
    assert!(value["strategies"].as_array().unwrap().contains(&naive));
    let plan = &value["plan"];
    assert_eq!(keys(plan), ["bytes", "placements", "problem", "strategy", "textures"]);
    assert_eq!(plan["bytes"], 512 * 16);
    assert_eq!(plan["textures"].as_array().unwrap().len(), 2);
    // The planner chooses the width.
    let [width, height] = ["width", "height"].map(|k| plan["textures"][0][k].as_u64().unwrap());
    assert_eq!(width * height * 16, 4096);
    let texture = json!({"width": width, "height": height, "format": "rgba32float", "bytes": 4096});
    assert_eq!(plan["textures"][0], texture);
    let texture = plan["placements"][1]["texture"].clone();
    assert_eq!(
        plan["placements"][1],
        json!({"tensor": "b/relu", "texture": texture, "form": "whole", "texel": 0, "rows": 4, "first": 1, "last": 2})
    );

    report.driver_bytes = Some(9000);
    report.device_memory = Some(device_memory());
    let value = serde_json::to_value(&report).unwrap();
    expected.splice(1..1, ["device_memory", "driver_bytes"]);
    assert_eq!(keys(&value), expected);
    assert_eq!(value["driver_bytes"], 9000);
    let planned = json!({"pool": 8192, "weights": 1000, "io": 48, "tables": 512, "transfer": 96, "other": 16});
    let mut memory = json!({"allocated_peak": 9500, "reserved": 16384, "reserved_peak": 32768, "planned": planned});
    for (key, bytes) in
        [("pool", 8448), ("weights", 1024), ("io", 64), ("tables", 512), ("transfer", 96), ("other", 32)]
    {
        memory[key] = bytes.into();
    }
    assert_eq!(value["device_memory"], memory);
    assert_eq!(serde_json::from_value::<MemoryReport>(value).unwrap().device_memory, report.device_memory);
}

#[test]
fn the_table_says_every_number_and_who_lives_where() {
    let mut report = report();
    // Without a device, the planned figures.
    report.device_bytes = Some(543_210);
    let text = report.to_string();
    for needle in ["bytes of device memory", "together", "9,240", "tables, transfer buffers", "543,210"] {
        assert!(text.contains(needle), "{needle} is missing:\n{text}");
    }
    report.device_memory = Some(device_memory());
    let text = report.to_string();
    for needle in [
        "543,210 what a budget is compared with",
        "10,240",
        "8,192",
        "8,448",
        "9,864",
        "10,176",
        "9,500",
        "32,768",
        "80.0 %",
        "naive",
        "lower bound",
        "weights",
        "1,000",
        "rgba32float",
    ] {
        assert!(text.contains(needle), "{needle} is missing:\n{text}");
    }
    let row = |step: &str| {
        let line = text.lines().rfind(|line| line.trim_start().starts_with(step));
        line.unwrap().split_whitespace().map(String::from).collect::<Vec<_>>()
    };
    let shared = |row: &[String]| row[1..3].iter().map(|cell| cell.trim_matches('>').to_owned()).collect::<Vec<_>>();
    assert_eq!(row("0 ")[3..], ["CONV_2D", "->", "0", "a"]);
    assert_eq!(row("3 ")[3..], ["SOFTMAX", "->", "probabilities"]);
    // The first and the third tensor share a texture; the second has the other.
    let (first, middle, last) = (shared(&row("0 ")), shared(&row("1 ")), shared(&row("3 ")));
    assert_eq!(first.iter().position(|c| c == "0"), last.iter().position(|c| c == "2"), "{text}");
    assert!(middle.contains(&"0".into()) && middle.contains(&"1".into()), "{text}");
}

/// Thousands are separated.
#[test]
fn digits_are_grouped() {
    assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
}

fn row(name: &str, flags: &str, mib: Option<u64>) -> PlanRow {
    let figures = mib.map(|mib| PlanFigures {
        device_bytes: mib << 20,
        pool_bytes: mib << 19,
        of_naive: mib as f64 / 40.0,
        predicted_ms: 10.0,
        measured_ms: None,
        time_ratio: 20.0 / mib as f64,
    });
    let fit = if mib.is_some() { Fit::Fits } else { Fit::Undecided };
    PlanRow { name: name.into(), flags: flags.into(), fit, figures, least_bytes: Some(9 << 20), stopped: None }
}

#[test]
fn plans_stand_side_by_side() {
    let rows = vec![
        row("plain", "", Some(20)),
        row("8 MiB", "--budget 8MiB", None),
        row("smallest", "--objective smallest", Some(2)),
    ];
    let table = PlanRows { naive_device_bytes: 40 << 20, predicted_for: "a device".into(), plain_ms: 12.345, rows };
    let expected = "  plan          device        pool  of naive  predicted time
  plain       20.0 MiB    10.0 MiB    50.0 %           1.00x
  8 MiB      not found in time; the smallest so far takes 9.0 MiB
  smallest     2.0 MiB     1.0 MiB     5.0 %          10.00x  --objective smallest

  times: predicted for a device, 12.3 ms for the plain plan
";
    assert_eq!(table.to_string(), expected);
    let measured = table.measured(8.0, &[8.0, 12.0]).to_string();
    assert!(measured.contains("measured time") && measured.contains(" 1.50x  --objective smallest"), "{measured}");
    assert!(measured.contains("times: measured, 8 ms for the plain plan"), "{measured}");
}

#[test]
fn slow_steps_come_first_with_their_speeds() {
    let step = |step, operator: &str, ms: f64, flops| StepTime {
        step,
        stripes: 1,
        operator: operator.into(),
        tensor: format!("t{step}"),
        shape: vec![1, 8],
        kernels: vec!["conv"],
        flops,
        bytes: Some(1_000_000),
        written_bytes: 375_000,
        gpu_ms: Some(ms),
        gpu_ms_p10: None,
        gpu_ms_p90: None,
        share: None,
        gflop_per_s: None,
        gb_per_s: None,
        roofline: None,
    };
    let mut steps =
        vec![step(0, "CONV_2D", 1.0, Some(2e6)), step(1, "ADD", 2.0, None), step(2, "CONV_2D", 5.0, Some(1e8))];
    let kinds = with_speeds(&mut steps, None);
    assert_eq!((kinds[0].operator.as_str(), kinds[0].count, kinds[0].gpu_ms), ("CONV_2D", 2, 6.0));
    assert_eq!((steps[0].gflop_per_s, steps[0].gb_per_s, steps[0].share), (Some(2.0), Some(1.0), Some(0.125)));
    let expected = "   step        ms   share   so far  GFLOP/s    GB/s  operator
      2     5.000  62.5 %   62.5 %       20     0.2  CONV_2D t2 [1, 8]
      1     2.000  25.0 %   87.5 %        -     0.5  ADD t1 [1, 8]
            1.000  12.5 %  1 more steps; --top all lists them

  count        ms   share   so far  GFLOP/s    GB/s  by operator
      2     6.000  75.0 %   75.0 %       17   0.333  CONV_2D
      1     2.000  25.0 %  100.0 %        -     0.5  ADD
      3     8.000 100.0 %  100.0 %     12.8   0.375  all steps
  a multiply-add is two operations; operands, weights and results count once
";
    assert_eq!(step_table(&steps, &kinds, 2), expected);
    let short = step_table(&steps, &kinds, 1);
    assert!(short.contains("            2.000  25.0 %  1 more kinds of operator\n"), "{short}");
    // Reads take at least 0.3125 ms, writes 0.375 ms, and 100 MFLOP take 1 ms.
    let [read, write] = [2.0, 1.0].map(|gb_per_s| MemorySpeed { bytes: 1 << 16, gb_per_s });
    let ceiling =
        DeviceCeiling { gflop_per_s: 100.0, reads: vec![read], writes: vec![write], dispatch_us: 1.0, run_us: 1.0 };
    let kinds = with_speeds(&mut steps, Some(&ceiling));
    assert_eq!(steps.iter().map(|step| step.roofline.unwrap()).collect::<Vec<_>>(), [0.375, 0.1875, 0.2]);
    assert_eq!((kinds[0].roofline, kinds[1].roofline), (Some(1.375 / 6.0), Some(0.1875)));
    let table = step_table(&steps, &kinds, 1);
    for line in [
        "   step        ms   share   so far  GFLOP/s    GB/s roofline  operator\n",
        "      2     5.000  62.5 %   62.5 %       20     0.2   20.0 %  CONV_2D t2 [1, 8]\n",
        "      3     8.000 100.0 %  100.0 %     12.8   0.375   21.9 %  all steps\n",
        "  roofline: the least time",
    ] {
        assert!(table.contains(line), "{line}: {table}");
    }
    // Bytes that are not known for one operator are not known for their sum.
    steps[0].bytes = None;
    let kinds = with_speeds(&mut steps, None);
    assert_eq!((kinds[0].bytes, kinds[0].gb_per_s, kinds[0].flops), (None, None, Some(1.02e8)));
}

/// Measured times scatter: a line through all of them would be a zigzag.
#[test]
fn only_unbeaten_points_of_a_front_are_joined() {
    let point = |mib: u64, predicted_ms: f64, measured_ms: f64| FrontPoint {
        device_bytes: mib << 20,
        bytes: mib << 19,
        live_bytes: 0,
        dispatches: 1,
        predicted_ms,
        measured_ms: Some(measured_ms),
        wall_ms: None,
        peak: PeakReport { step: 0, operator: "ADD".into(), tensor: "t".into(), cascade: None },
        cascades: vec![],
    };
    let points = vec![point(16, 10.0, 12.0), point(8, 11.0, 10.0), point(4, 12.0, 15.0), point(2, 13.0, 14.0)];
    let svg = FrontReport { model: "a<b".into(), clock: Clock::Wall, points, stopped: None }.svg();
    let joined: Vec<usize> =
        svg.lines().filter(|line| line.starts_with("<polyline")).map(|line| line.matches(',').count()).collect();
    assert_eq!(joined, [4, 2], "{svg}");
    assert_eq!(svg.matches("<circle ").count(), 8);
    for words in
        [">8 MiB</text>", "logarithmic", ">predicted, joined", ">measured, joined", ">8.0 MiB, 10 ms<", "a&lt;b"]
    {
        assert!(svg.contains(words), "{words} is missing: {svg}");
    }
}
