//! Prints a table of networks whose order of operators matters: the largest sum of live tensors and the arena in the
//! given order and in ours, the bound on all orders, and processor times. Run with `cargo bench -p texpool-plan --bench
//! order`.

use cpu_time::ProcessTime;
use texpool_plan::{ArenaPlanner, Buffer, LeastPeak, PlanError, SearchControl, UsageRecord, least_peak, smallest_pool};

#[path = "../tests/plan/topologies.rs"]
mod topologies;

use topologies::{Network, darts, darts_cells, densenet, googlenet, nasnet_cells, randwire, randwire_cell, unet};

fn main() -> Result<(), PlanError> {
    println!(
        "| network | operators | peak given | peak ours | bound | states | s | arena given | arena ours | proven |"
    );
    println!("|---|{}---|", "---:|".repeat(8));
    row("U-Net", unet())?;
    row("DenseNet-121", densenet())?;
    row("GoogLeNet", googlenet())?;
    row("DARTS, one cell", darts_cells(1))?;
    row("DARTS, four cells", darts_cells(4))?;
    row("DARTS", darts())?;
    row("NASNet-A, three cells", nasnet_cells(3))?;
    row("NASNet-A, 18 cells", nasnet_cells(18))?;
    for seed in 0..3 {
        row(&format!("RandWire, one cell of 16, seed {seed}"), randwire_cell(seed, 16))?;
    }
    for seed in 0..5 {
        row(&format!("RandWire, one cell, seed {seed}"), randwire_cell(seed, 32))?;
    }
    for seed in 0..3 {
        row(&format!("RandWire, seed {seed}"), randwire(seed))?;
    }
    for nodes in [48, 64, 96, 128] {
        row(&format!("RandWire, one cell of {nodes}, seed 0"), randwire_cell(0, nodes))?;
    }
    Ok(())
}

fn row(name: &str, network: Network) -> Result<(), PlanError> {
    let problem = network.problem()?;
    let start = ProcessTime::try_now();
    let least = least_peak(&problem, LeastPeak::EFFORT, &SearchControl::new());
    let seconds = start.and_then(|start| start.try_elapsed()).unwrap_or_default().as_secs_f64();
    let best = smallest_pool(&problem, &least, |records, _| arena(records))?;
    println!(
        "| {name} | {} | {} | {} | {} | {} | {seconds:.2} | {} | {} | {} |",
        problem.len(),
        least.given_peak,
        least.peak,
        least.bound,
        least.states,
        best.given_pool,
        best.pool,
        if best.is_proven() { "yes" } else { "no" }
    );
    Ok(())
}

fn arena(records: &[UsageRecord]) -> Result<u64, PlanError> {
    Ok(ArenaPlanner::from_iter(records.iter().copied().map(Buffer::from)).plan()?.total)
}
