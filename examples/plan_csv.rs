//! Places the buffers of a CSV in one arena: the memory planner alone, without a GPU or a model.
//!
//! `cargo run --release --no-default-features --example plan_csv [FILE.csv]`; without a file, `plan_csv.csv` beside this
//! one is planned. On standard output is minimalloc's CSV with the offset of each buffer.

use std::{error::Error, path::PathBuf, process::ExitCode, time::Duration};
use texpool::plan::{
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
