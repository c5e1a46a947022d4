//! Prints a table of the 23 sets: the best result of every strategy, the proven optimum, banks, one arena, and
//! processor times. Then the same for the public hard instances. Run with `cargo bench -p texpool-plan --bench
//! table`.

use std::{fs, path::PathBuf};

use cpu_time::ProcessTime;
use serde_json::Value;
use texpool_plan::{
    PlanError, Planner, SearchBudget, SearchControl, Strategy, UsageRecord, bank_bound, bounds, io::from_csv, offsets,
    optimum, place_banks, solve, uses_from_records,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/usage_records");
    let read = |name: &str| -> Result<Value, Box<dyn std::error::Error>> {
        Ok(serde_json::from_str(&fs::read_to_string(folder.join(name))?)?)
    };
    println!(
        "| set | tensors | naive | GBS | GBSI | GBB | in order | min-cost flow | bound | optimum | ms | banks | ms | bank bound | \
         arena | widest step | portfolio ms |"
    );
    println!("|---|{}", "---:|".repeat(16));
    let index = read("index.json")?;
    for instance in index["instances"].as_array().into_iter().flatten() {
        let Some(name) = instance["name"].as_str() else { continue };
        let set = read(&format!("{name}.json"))?;
        let number = |record: &Value, key: &str| record[key].as_u64().unwrap_or(0);
        let record =
            |r: &Value| UsageRecord::new(number(r, "first") as usize, number(r, "last") as usize, number(r, "size"));
        let records: Vec<UsageRecord> = set["records"].as_array().into_iter().flatten().map(record).collect();
        println!("| {name} | {} | {} |", records.len(), row(&records)?);
    }
    println!("\n| instance | tensors | optimum | proven | s | fits 1048576 | s |\n|---|---:|---:|---|---:|---|---:|");
    for name in ["A", "B", "C", "D", "E", "F"] {
        let text = fs::read_to_string(folder.join(format!("../minimalloc/{name}.1048576.csv")))?;
        let records = from_csv(&text)?.records;
        let (exact, solved_ms) = fastest(1, || optimum(&records, 1000, &SearchControl::new()))?;
        let (fit, fitted_ms) = fastest(1, || offsets::fit(&records, 1_048_576, 3_000_000, &SearchControl::new()))?;
        let fits = matches!(fit, offsets::Fit::Fits(_));
        println!(
            "| {name} | {} | {} | {} | {:.1} | {fits} | {:.1} |",
            records.len(),
            exact.layout.total(),
            exact.proven,
            solved_ms / 1e3,
            fitted_ms / 1e3
        );
    }
    Ok(())
}

/// Returns the result of `work`, and the processor time of the fastest of `runs` runs in milliseconds. The minimum is
/// used because other load on the machine can only increase times.
fn fastest<T>(runs: usize, work: impl Fn() -> Result<T, PlanError>) -> Result<(T, f64), PlanError> {
    let timed = || {
        let start = ProcessTime::try_now();
        let answer = work()?;
        let spent = start.and_then(|start| start.try_elapsed()).unwrap_or_default();
        Ok::<_, PlanError>((answer, spent.as_secs_f64() * 1e3))
    };
    let mut best = timed()?;
    for _ in 1..runs {
        best.1 = timed()?.1.min(best.1);
    }
    Ok(best)
}

fn row(records: &[UsageRecord]) -> Result<String, PlanError> {
    let uses = uses_from_records(records)?;
    let b = bounds(records)?;
    let (_, portfolio) =
        fastest(50, || solve(records, &uses, Planner::Best, SearchBudget::PORTFOLIO, &SearchControl::new()))?;
    let (exact, exact_ms) = fastest(5, || optimum(records, 100, &SearchControl::new()))?;
    let (banked, banked_ms) =
        fastest(5, || place_banks(records, &uses, &exact.layout, 400_000, &SearchControl::new()))?;
    let bank_bound = bank_bound(records, &uses, banked.total(), 1000, &SearchControl::new())?;
    let arena = offsets::smallest(records, 100_000, &SearchControl::new())?;
    let least = |strategy: Strategy| -> Result<u64, PlanError> {
        let mut least = u64::MAX;
        for reading in Strategy::ALL.iter().filter(|s| s.name().split('/').next() == Some(strategy.name())) {
            least = least.min(reading.place(records)?.total());
        }
        Ok(least)
    };
    let mut cells = vec![b.naive.to_string()];
    for strategy in [
        Strategy::GreedyBySize,
        Strategy::GreedyBySizeImproved,
        Strategy::GreedyByBreadth,
        Strategy::GreedyInOrder,
        Strategy::MinCostFlow,
    ] {
        cells.push(least(strategy)?.to_string());
    }
    cells.push(b.shared_objects.to_string());
    cells.push(format!("{}{}", exact.layout.total(), if exact.proven { "" } else { "?" }));
    cells.push(format!("{exact_ms:.1}"));
    cells.push(banked.total().to_string());
    cells.push(format!("{banked_ms:.1}"));
    cells.push(bank_bound.to_string());
    cells.push(arena.layout.total().to_string());
    cells.push(b.offsets.to_string());
    cells.push(format!("{portfolio:.2}"));
    Ok(cells.join(" | "))
}
