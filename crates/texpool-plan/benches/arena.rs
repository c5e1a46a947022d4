//! Measures the time of `offsets::fit` on minimalloc's hard instances, compared to minimalloc.
//!
//! ```text
//! cargo bench -p texpool-plan --bench arena
//! ```
//!
//! measures the instances in `tests/data/minimalloc`. The environment variable `ARENA_INSTANCES` adds a folder with
//! more instances, in files named `NAME.CAPACITY.csv`, such as `benchmarks/challenging` of a checkout of
//! <https://github.com/google/minimalloc>. If `MINIMALLOC` names an executable of minimalloc, both are run
//! alternately on the same files, and the last columns contain the ratios of their times. `ARENA_REPEATS` sets the
//! number of runs of each (default 5). Figures are medians. Ours measure the call and theirs the process, both
//! without writing a result; processor time is user plus system time. The search for the smallest arena runs once,
//! for at most ten seconds.

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use cpu_time::ProcessTime;
use texpool_plan::{
    SearchControl, UsageRecord, check_layout,
    io::from_csv,
    offsets::{Fit, fit, smallest},
};

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

/// Wall time and processor time in seconds.
#[derive(Clone, Copy)]
struct Time {
    wall: f64,
    cpu: f64,
}

fn main() -> Fallible<()> {
    let repeats: usize = env::var("ARENA_REPEATS").map_or(Ok(5), |count| count.parse())?;
    let minimalloc = env::var_os("MINIMALLOC").map(PathBuf::from);
    println!(
        "| instance | tensors | fit, ms | of processor | smallest, ms | arena | bound | minimalloc, ms | of processor | ratio | of processor |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|");
    for (name, (path, capacity)) in instances()? {
        let records = from_csv(&fs::read_to_string(&path)?)?.records;
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..repeats {
            ours.push(time(|| fitted(&records, capacity))?);
            if let Some(program) = &minimalloc {
                theirs.push(run(program, &path, capacity)?);
            }
        }
        let mut smallest_arena = None;
        let whole = time(|| {
            let control = SearchControl::new().timeout(Duration::from_secs(10));
            smallest_arena = Some(smallest(&records, 1_000_000, &control)?);
            Ok(())
        })?;
        let arena = smallest_arena.map_or((0, 0), |arena| (arena.layout.total(), arena.bound));
        let ours = median(ours);
        let ms = |seconds: f64| format!("{:.1}", 1e3 * seconds);
        let beside = if theirs.is_empty() {
            "- | - | - | -".to_owned()
        } else {
            let theirs = median(theirs);
            let ratio = |theirs: f64, ours: f64| format!("{:.1}", theirs / ours);
            let ratios = [ratio(theirs.wall, ours.wall), ratio(theirs.cpu, ours.cpu)];
            [ms(theirs.wall), ms(theirs.cpu)].into_iter().chain(ratios).collect::<Vec<_>>().join(" | ")
        };
        let count = records.len();
        let (wall, cpu, whole) = (ms(ours.wall), ms(ours.cpu), ms(whole.wall));
        println!("| {name} | {count} | {wall} | {cpu} | {whole} | {} | {} | {beside} |", arena.0, arena.1);
    }
    Ok(())
}

/// Returns the instances by name, each with its file and capacity.
fn instances() -> Fallible<BTreeMap<String, (PathBuf, u64)>> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/minimalloc");
    let mut instances = BTreeMap::new();
    for folder in [Some(own), env::var_os("ARENA_INSTANCES").map(PathBuf::from)].into_iter().flatten() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if let [name, capacity, "csv"] = name.split('.').collect::<Vec<_>>()[..]
                && let Ok(capacity) = capacity.parse()
            {
                instances.insert(name.to_owned(), (path, capacity));
            }
        }
    }
    Ok(instances)
}

fn fitted(records: &[UsageRecord], capacity: u64) -> Fallible<()> {
    let control = SearchControl::new().timeout(Duration::from_secs(100));
    match fit(records, capacity, u64::MAX, &control)? {
        Fit::Fits(layout) => Ok(check_layout(records, &[], &layout)?),
        other => Err(format!("{other:?} at {capacity}").into()),
    }
}

fn time(mut work: impl FnMut() -> Fallible<()>) -> Fallible<Time> {
    let (start, cpu) = (Instant::now(), ProcessTime::now());
    work()?;
    Ok(Time { wall: start.elapsed().as_secs_f64(), cpu: cpu.elapsed().as_secs_f64() })
}

/// Runs minimalloc once.
fn run(program: &Path, input: &Path, capacity: u64) -> Fallible<Time> {
    let mut command = Command::new(program);
    command.arg(format!("--capacity={capacity}")).arg(format!("--input={}", input.display()));
    command.arg("--output=/dev/null").stdout(Stdio::null()).stderr(Stdio::null());
    let (start, cpu) = (Instant::now(), of_children());
    let status = command.status()?;
    if !status.success() {
        return Err(format!("{}: {status} on {}", program.display(), input.display()).into());
    }
    Ok(Time { wall: start.elapsed().as_secs_f64(), cpu: of_children() - cpu })
}

/// Returns the processor time of all finished child processes in seconds, with a resolution of a hundredth (proc(5),
/// fields 16 and 17). Returns NaN if the file does not exist.
fn of_children() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name in parentheses may contain spaces.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |field: usize| fields.get(field - 3).and_then(|ticks| ticks.parse::<f64>().ok()).unwrap_or(f64::NAN);
    (ticks(16) + ticks(17)) / 100.0
}

fn median(mut times: Vec<Time>) -> Time {
    let middle = times.len() / 2;
    times.sort_by(|a, b| a.wall.total_cmp(&b.wall));
    let wall = times[middle].wall;
    times.sort_by(|a, b| a.cpu.total_cmp(&b.cpu));
    Time { wall, cpu: times[middle].cpu }
}
