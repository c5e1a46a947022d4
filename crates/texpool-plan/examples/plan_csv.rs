//! Places the buffers of a CSV file in one arena. Uses only the memory planner, without a GPU or a model.
//!
//! `cargo run --release -p texpool-plan --example plan_csv [FILE.csv]`. If no file is given, it plans
//! `plan_csv.csv` in this folder. Prints minimalloc's CSV format with the offset of each buffer to standard output.

use std::{error::Error, path::PathBuf, process::ExitCode, time::Duration};
use texpool_plan::{
    ArenaPlanner,
    io::{buffers_from_csv, buffers_to_csv},
};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let here = || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/plan_csv.csv"));
    let file = std::env::args_os().nth(1).map_or_else(here, PathBuf::from);
    let buffers = buffers_from_csv(&std::fs::read_to_string(file)?)?;

    let plan = ArenaPlanner::from_iter(buffers.clone()).deadline(Duration::from_secs(10)).plan()?;

    print!("{}", buffers_to_csv(&buffers, Some(&plan))?);
    let naive: u64 = buffers.iter().map(|buffer| buffer.size).sum();
    let proof =
        if plan.is_optimal() { "no plan is smaller".to_owned() } else { format!("the bound is {}", plan.bound) };
    eprintln!("{} of {naive} bytes; {proof}", plan.total);
    if let Some(reason) = plan.stopped {
        eprintln!("stopped early: {reason}");
    }
    Ok(())
}
