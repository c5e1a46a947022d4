//! Shows how near to the lower bound the planner comes on hard instances, and in what time.
//!
//! ```text
//! cargo bench -p texpool-plan --bench hard [-- NAME...]
//! ```
//!
//! Prints a row for every instance whose name contains one of the words, or for all. `HARD_SECONDS` is the deadline of
//! each search, 10 by default. `ARENA_INSTANCES` adds a folder with more instances, see the bench `arena`.

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use texpool_plan::{ArenaPlanner, Buffer, SearchControl, UsageRecord, io::from_csv, optimum};

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

/// Random numbers that are the same on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 32) * limit) >> 32
    }

    fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.below(most - least + 1)
    }
}

/// A rectangle of steps and bytes.
#[derive(Clone, Copy)]
struct Tile {
    start: u64,
    end: u64,
    bottom: u64,
    size: u64,
}

const SIDE: u64 = 1 << 20;
const LEAST_SIZE: u64 = 1 << 10;

/// Cuts a tile into a pinwheel: four blades around a centre. No straight cut crosses it.
fn pinwheel(Tile { start, end, bottom, size }: Tile, random: &mut Random) -> [Tile; 5] {
    let steps = random.between(1, (end - start - 1) / 2);
    let bytes = random.between(LEAST_SIZE, (size - LEAST_SIZE) / 2);
    let tile = |start, end, bottom, size| Tile { start, end, bottom, size };
    [
        tile(start, end - steps, bottom, bytes),
        tile(end - steps, end, bottom, size - bytes),
        tile(start + steps, end, bottom + size - bytes, bytes),
        tile(start, start + steps, bottom + bytes, size - bytes),
        tile(start + steps, end - steps, bottom + bytes, size - 2 * bytes),
    ]
}

/// Cuts a square into nested pinwheels. A tile is chosen with a probability in proportion to its area. The whole square
/// is full, so the smallest arena has [`SIDE`] bytes. The omnimalloc project generates instances of this kind.
fn pinwheels(count: usize, seed: u64) -> Vec<UsageRecord> {
    let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ seed.wrapping_mul(0xbf58_476d_1ce4_e5b9));
    let mut tiles = vec![Tile { start: 0, end: SIDE, bottom: 0, size: SIDE }];
    while tiles.len() < count {
        let (step, byte) = (random.below(SIDE), random.below(SIDE));
        let inside = |t: &Tile| (t.start..t.end).contains(&step) && (t.bottom..t.bottom + t.size).contains(&byte);
        let Some(index) = tiles.iter().position(inside) else { continue };
        let tile = tiles[index];
        if tile.end - tile.start >= 3 && tile.size >= 3 * LEAST_SIZE {
            tiles.splice(index..=index, pinwheel(tile, &mut random));
        }
    }
    // The order of the list must not tell the places.
    tiles.sort_by_key(|tile| (tile.start, tile.end, tile.size));
    tiles.iter().map(|tile| UsageRecord::new(tile.start as usize, tile.end as usize - 1, tile.size)).collect()
}

/// Returns random live ranges of up to `life` steps, spread over as many steps as there are records.
fn random(count: usize, life: u64) -> Vec<UsageRecord> {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let record = |_| {
        let first = random.below(count as u64);
        UsageRecord::new(first as usize, (first + random.below(life)) as usize, (random.below(1000) + 1) << 10)
    };
    (0..count).map(record).collect()
}

/// Returns chains with residual connections and a few long-lived tensors.
fn network(count: usize) -> Vec<UsageRecord> {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let record = |step: usize| {
        let life = match random.below(100) {
            0 => 1 + random.below(1000),
            1..25 => 1 + random.below(16),
            _ => 1,
        };
        let channels = 4 * (1 + random.below(128));
        let side = 112 >> random.below(5);
        UsageRecord::new(step, step + life as usize, side * side * channels * 4)
    };
    (0..count).map(record).collect()
}

/// Returns the instances in files named `NAME.CAPACITY.csv`, by name.
fn minimalloc() -> Fallible<BTreeMap<String, Vec<UsageRecord>>> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/minimalloc");
    let mut instances = BTreeMap::new();
    for folder in [Some(own), env::var_os("ARENA_INSTANCES").map(PathBuf::from)].into_iter().flatten() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if let Some(name) = file.strip_suffix(".1048576.csv") {
                instances.insert(format!("minimalloc {name}"), from_csv(&fs::read_to_string(&path)?)?.records);
            }
        }
    }
    Ok(instances)
}

fn main() -> Fallible<()> {
    let seconds = env::var("HARD_SECONDS").map_or(Ok(10), |seconds| seconds.parse())?;
    let words: Vec<String> = env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let is_asked_for = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(word.as_str()));
    let deadline = Duration::from_secs(seconds);
    println!("| instance | records | total | bound | over, % | s |\n|---|---:|---:|---:|---:|---:|");
    let mut instances: Vec<_> = minimalloc()?.into_iter().collect();
    let shared: Vec<_> =
        instances.iter().map(|(name, records)| (format!("objects of {name}"), records.clone())).collect();
    for seed in 0..3 {
        instances.push((format!("pinwheels {seed}"), pinwheels(1001, seed)));
    }
    instances.push(("short lives 5,000".into(), random(5000, 20)));
    instances.push(("short lives 100,000".into(), random(100_000, 20)));
    instances.push(("medium lives 100,000".into(), random(100_000, 500)));
    instances.push(("long lives 100,000".into(), random(100_000, 5000)));
    instances.push(("network 100,000".into(), network(100_000)));
    for (name, records) in instances {
        for fixed in [false, true] {
            let name = if fixed { format!("{name}, fixed") } else { name.clone() };
            if !is_asked_for(&name) || (fixed && !name.starts_with("minimalloc")) {
                continue;
            }
            let mut buffers: Vec<Buffer> = records.iter().copied().map(Buffer::from).collect();
            if fixed {
                let plan = ArenaPlanner::from_iter(buffers.clone()).capacity(1 << 20).effort(1 << 30).plan()?;
                buffers[0].offset = Some(plan.offsets[0]);
            }
            let begun = Instant::now();
            let plan = ArenaPlanner::from_iter(buffers).deadline(deadline).effort(1 << 40).plan()?;
            row(&name, records.len(), plan.total, plan.bound, begun);
        }
    }
    for (name, records) in shared.iter().filter(|(name, _)| is_asked_for(name)) {
        let begun = Instant::now();
        let best = optimum(records, u64::MAX, &SearchControl::new().timeout(deadline))?;
        row(name, records.len(), best.layout.total(), best.certificate.bound, begun);
    }
    Ok(())
}

fn row(name: &str, records: usize, total: u64, bound: u64, begun: Instant) {
    let over = 100.0 * (total as f64 / bound as f64 - 1.0);
    println!("| {name} | {records} | {total} | {bound} | {over:.2} | {:.1} |", begun.elapsed().as_secs_f64());
}
