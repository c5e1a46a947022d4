//! What is done with the bytes of a model: shared by the fuzz targets and by the tests that run the committed inputs.
//! An answer or a typed error is fine; a panic, a hang or a flood of memory is not.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use allocation_counter::measure;
use texpool::{
    compile::{CompileOptions, Phases, compile},
    delegate::{Host, select},
    graph::{self, Graph},
    import::{Array, ImportError, ImportOptions, from_bytes_with, outline_from_bytes},
    plan::{LayoutKind, SearchBudget, SearchControl, Strategy},
    rewrite::{Rewritten, Rules, rewrite, split},
    schedule::schedule,
};

/// Largest graph that is carried beyond the importer: compiling takes time that grows with the nodes and the rows.
const MAX_NODES: usize = 48;
const MAX_ELEMENTS: usize = 1 << 20;
/// Largest that is divided into bands: the search for them takes far longer, a second for ten nodes of seven rows each,
/// in which a thousand files could be imported.
const MAX_PHASED_NODES: usize = 4;
const MAX_PHASED_ROWS: usize = 24;
/// A little of each search.
const BUDGET: SearchBudget = SearchBudget { nodes: 2, moves: 200, ..SearchBudget::PORTFOLIO };
/// Most nodes of a graph that is planned by the greedy strategies, whatever its tensors' extents: they look at pairs.
const MAX_GREEDY_NODES: usize = 1 << 10;

/// Most bytes at a time that one import of a file of so many bytes may have: twice what the importer's own meter allows
/// it (`src/import/meter.rs`), because what is counted there once may be held by a list that grows. Above that is a fault,
/// found in one run whatever memory the machine has.
fn most_memory(file: usize) -> u64 {
    2 * ((128 << 20) + 32 * file as u64)
}

/// What one input took.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Took {
    /// Most bytes at a time of one import, as the allocator counts them.
    pub(crate) import: u64,
    /// Longest that an import took.
    pub(crate) importing: Duration,
    /// Most bytes at a time of all that followed, on this thread.
    pub(crate) rest: u64,
}

/// Imports a model as it is; then with whatever it leaves open bound; then with its first input made a constant. What
/// is imported is compiled. Gives the error of the first import.
pub(crate) fn drive(bytes: &[u8]) -> (Result<(), ImportError>, Took) {
    let mut took = Took::default();
    let answer = driven(bytes, &mut took);
    (answer, took)
}

/// Imports a model, and looks that this took no more memory than it may.
fn measured(bytes: &[u8], options: &ImportOptions, took: &mut Took) -> Result<Graph, ImportError> {
    let file = Arc::new(bytes.to_vec());
    let (mut answer, began) = (None, Instant::now());
    let counted = measure(|| answer = Some(from_bytes_with(file, options)));
    took.importing = took.importing.max(began.elapsed());
    took.import = took.import.max(counted.bytes_max);
    let bound: usize = options.constants.values().map(|array| array.len() * size_of::<i64>()).sum();
    let most = most_memory(bytes.len() + bound);
    assert!(counted.bytes_max <= most, "the import takes {} bytes, may take {most}", counted.bytes_max);
    answer.unwrap_or(Err(ImportError::Empty))
}

/// Looks at each node by itself, and at what a delegate would take, which takes no more memory than an import may.
fn outlined(bytes: &[u8]) {
    let file = Arc::new(bytes.to_vec());
    let mut outline = None;
    let counted = measure(|| outline = outline_from_bytes(file, &ImportOptions::default()).ok());
    let most = most_memory(bytes.len());
    assert!(counted.bytes_max <= most, "the outline takes {} bytes, may take {most}", counted.bytes_max);
    if let Some(outline) = outline {
        outline.graphs.iter().for_each(|graph| drop(select(graph, Host::of(outline.format))));
    }
}

fn driven(bytes: &[u8], took: &mut Took) -> Result<(), ImportError> {
    outlined(bytes);
    let mut import = |options: &ImportOptions| {
        let imported = measured(bytes, options, took);
        if let Ok(graph) = &imported {
            let counted = measure(|| all_of(graph));
            took.rest = took.rest.max(counted.bytes_max);
        }
        imported
    };
    let mut options = ImportOptions::default();
    let first = import(&options);
    match &first {
        Ok(graph) => bind_first_input(graph, &mut options),
        Err(ImportError::UnresolvedDim(open)) => {
            let small = open.iter().enumerate().map(|(i, extent)| (extent.name.clone(), 1 + i % 5));
            options.dims.extend(small);
        }
        Err(_) => {}
    }
    if !options.dims.is_empty() || !options.constants.is_empty() {
        let _ = import(&options);
    }
    // Names that the file most likely does not have.
    options.dims.insert("N".to_owned(), 2);
    options.dims.insert("x:0".to_owned(), usize::MAX);
    let _ = import(&options);
    first.map(|_| ())
}

fn bind_first_input(graph: &Graph, options: &mut ImportOptions) {
    let Some(&input) = graph.inputs.first() else { return };
    let tensor = &graph.tensors[input];
    if tensor.shape.len() > MAX_ELEMENTS {
        return;
    }
    let values: Vec<f32> = (0..tensor.shape.len()).map(|i| i as f32 - 2.0).collect();
    if let Some(array) = Array::floats(&tensor.dims, &values) {
        options.constants.insert(tensor.name.clone(), array);
    }
}

/// Everything that needs no device: the graph is sound, it is rewritten, scheduled and planned as it comes; and if it is
/// small, so is what the searches make of it.
fn all_of(graph: &Graph) {
    assert_eq!(graph::check(graph).err().map(|e| e.to_string()), None, "what is imported passes the checker");
    greedy(graph);
    let elements = graph.tensors.iter().map(|tensor| tensor.shape.len()).fold(0, usize::saturating_add);
    if graph.nodes.len() > MAX_NODES || elements > MAX_ELEMENTS {
        return;
    }
    let rows = graph.tensors.iter().map(|tensor| tensor.shape.rows()).sum::<usize>();
    let phased = graph.nodes.len() <= MAX_PHASED_NODES && rows <= MAX_PHASED_ROWS;
    for phases in [Phases::Off, Phases::Min].into_iter().take(1 + usize::from(phased)) {
        let options = CompileOptions { budget: BUDGET, phases, ..CompileOptions::default() };
        if let Ok(compiled) = compile(graph, &options, &SearchControl::new()) {
            let found = graph::check(compiled.graph()).err().map(|e| e.to_string());
            assert_eq!(found, None, "what is rewritten passes the checker");
        }
    }
}

/// Rewrites a graph of any extents, and plans it by the strategies that search for nothing.
fn greedy(graph: &Graph) {
    let Rewritten { graph, views, .. } = rewrite(&split(graph), &Rules::all());
    let found = graph::check(&graph).err().map(|e| e.to_string());
    assert_eq!(found, None, "what is rewritten passes the checker");
    if graph.nodes.len() > MAX_GREEDY_NODES {
        return;
    }
    let Ok(schedule) = schedule(&graph, &views) else { return };
    for strategy in [Strategy::GreedyBySizeImproved, Strategy::GreedyByBreadth] {
        assert_eq!(strategy.problem(), LayoutKind::SharedObjects);
        if let Ok(layout) = strategy.place(&schedule.records) {
            let found =
                texpool::plan::check_layout(&schedule.records, &schedule.uses, &layout).err().map(|e| e.to_string());
            assert_eq!(found, None, "{} overlaps", strategy.name());
        }
    }
}
