//! What the page must show, from the plan and the steps alone.

use std::{collections::BTreeMap, path::Path, time::Duration};

use texpool_cli::fetch::{Fetcher, Quiet};
use texpool_compile::{CompileOptions, CompiledModel, Objective, StreamedIo, WeightStorage, compile};
use texpool_model::import::{self, ImportOptions};
use texpool_plan::SearchControl;

/// A row of a record: where it lies and when it lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) texture: usize,
    pub(super) texel: u64,
    pub(super) first: usize,
    pub(super) last: usize,
}

/// Compiles a model of the catalogue, or one that is kept here.
pub(super) fn compiled(name: &str, objective: Objective, deadline: Duration) -> CompiledModel {
    let committed = Path::new(crate::ROOT).join("tests/data").join(name);
    let (path, dims) = if committed.exists() {
        (committed, BTreeMap::new())
    } else {
        let fetcher = Fetcher::new(&Quiet).unwrap();
        let path = fetcher.get(name).unwrap_or_else(|error| panic!("{name}: {error}"));
        (path, fetcher.catalog.entry(name).unwrap().dims.clone())
    };
    let graph = import::open_with(&path, &ImportOptions { dims, ..ImportOptions::default() }).unwrap();
    let (weights, stream_io) = match objective {
        Objective::Fastest => (WeightStorage::Resident, StreamedIo::BOTH),
        _ => (WeightStorage::Streamed { resident_below: 0, tile_bytes: 64 << 10 }, StreamedIo::BOTH),
    };
    let options = CompileOptions { objective, weights, stream_io, ..CompileOptions::default() };
    compile(&graph, &options, &SearchControl::new().timeout(deadline)).unwrap()
}

/// Returns each row of each record that a step touches, by record and row.
pub(super) fn rows(compiled: &CompiledModel) -> BTreeMap<(usize, u32), Row> {
    let mut rows: BTreeMap<(usize, u32), Row> = BTreeMap::new();
    for (step, touched) in compiled.schedule().row_steps().iter().enumerate() {
        for used in touched.reads.iter().chain(&touched.writes) {
            let placement = &compiled.plan().placements[used.record];
            for row in used.rows.clone() {
                let place = Row {
                    texture: placement.texture,
                    texel: placement.rows.start(row).into(),
                    first: step,
                    last: step,
                };
                rows.entry((used.record, row)).or_insert(place).last = step;
            }
        }
    }
    rows
}

/// Returns the bytes that each record has live at a step.
pub(super) fn live_at(compiled: &CompiledModel, step: usize) -> BTreeMap<usize, u64> {
    let tensors = compiled.schedule().tensors();
    let mut live = BTreeMap::new();
    for ((record, _), _) in rows(compiled).into_iter().filter(|(_, row)| (row.first..=row.last).contains(&step)) {
        *live.entry(record).or_default() += u64::from(tensors[record].row_texels) * compiled.format().texel_bytes();
    }
    live
}

/// Returns the names of the records.
pub(super) fn names(compiled: &CompiledModel) -> Vec<String> {
    let schedule = compiled.schedule();
    let pooled = (0..schedule.storages.len()).filter(|&storage| schedule.record(storage).is_some());
    pooled.map(|storage| schedule.name_of(compiled.graph(), storage)).collect()
}
