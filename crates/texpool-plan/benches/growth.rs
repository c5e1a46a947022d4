//! Measures how the time of the strategies grows with the number of tensors, on generated networks: chains with
//! residual connections and a few long-lived tensors. Run with `cargo bench -p texpool-plan --bench growth`.

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use texpool_plan::{Strategy, UsageRecord};

/// Generates one tensor per step. Most are read by the next step, every fourth within 16 steps, every hundredth
/// within 1000.
fn network(tensors: usize) -> Vec<UsageRecord> {
    let mut state = 0x2545_f491_4f6c_dd1du64;
    let mut below = |limit: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 33) as usize % limit
    };
    let mut record = |step: usize| {
        let life = match below(100) {
            0 => 1 + below(1000),
            1..25 => 1 + below(16),
            _ => 1,
        };
        let channels = 4 * (1 + below(128));
        let side = 112 >> below(5);
        UsageRecord::new(step, step + life, (side * side * channels * 4) as u64)
    };
    (0..tensors).map(&mut record).collect()
}

fn growth(c: &mut Criterion) {
    for strategy in [
        Strategy::GreedyInOrder,
        Strategy::GreedyBySize,
        Strategy::GreedyByBreadth,
        Strategy::GreedyBySizeImproved,
        Strategy::GreedyBySizeImprovedMerged,
    ] {
        let mut group = c.benchmark_group(strategy.name());
        group.sample_size(10);
        for tensors in [100, 1000, 10_000, 100_000] {
            let records = network(tensors);
            group.bench_with_input(BenchmarkId::from_parameter(tensors), &records, |b, records| {
                b.iter(|| strategy.place(records));
            });
        }
        group.finish();
    }
}

criterion_group!(benches, growth);
criterion_main!(benches);
