//! Processes the bytes of a model, for the fuzz targets and for the tests that run the committed inputs. A result or
//! a typed error is fine; a panic, a hang or excessive memory is a bug.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use allocation_counter::measure;
use texpool_compile::{CompileOptions, Objective, compile, schedule::schedule};
use texpool_model::{
    delegate::{MIN_OPERATIONS, Offline, select},
    import::{Array, IMAGES, ImportError, ImportOptions, OutlineSource, from_bytes_with},
    rewrite::{Rewritten, Rules, rewrite, split},
};
use texpool_ops::graph::{self, Graph};
use texpool_plan::{LayoutKind, SearchBudget, SearchControl, Strategy};

/// Maximum number of nodes for compiling, because compile time grows with the nodes and the rows.
const MAX_NODES: usize = 48;
const MAX_ELEMENTS: usize = 1 << 20;
/// Maximum number of nodes for the search for stripes. It takes much longer: a second for ten nodes of seven rows each,
/// during which a thousand files could be imported.
const MAX_PHASED_NODES: usize = 4;
const MAX_PHASED_ROWS: usize = 24;
/// A small budget for each search.
const BUDGET: SearchBudget = SearchBudget { nodes: 2, moves: 200, ..SearchBudget::PORTFOLIO };
/// Maximum number of nodes for the greedy strategies, which compare pairs of tensors. Extents are not limited.
const MAX_GREEDY_NODES: usize = 1 << 10;

/// Upper limit on the memory of an import at any time, in bytes, for a file of this size. It is twice the limit of the
/// importer's meter (`crates/texpool-model/src/import/meter.rs`), because a growing list may hold twice what was
/// counted. Exceeding it is a bug, which is detected in a single run regardless of the machine's memory.
fn most_memory(file: usize) -> u64 {
    2 * ((128 << 20) + 32 * file as u64)
}

/// Resources that an input took.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Took {
    /// Peak memory of an import in bytes, as counted by the allocator.
    pub(crate) import: u64,
    /// Duration of the longest import.
    pub(crate) importing: Duration,
    /// Peak memory of all later steps on this thread, in bytes.
    pub(crate) rest: u64,
}

/// Imports a model unchanged, then with its open extents bound, then with its first input made a constant. Successful
/// imports are compiled. Returns the error of the first import.
pub(crate) fn drive(bytes: &[u8]) -> (Result<(), ImportError>, Took) {
    let mut took = Took::default();
    let answer = driven(bytes, &mut took);
    (answer, took)
}

/// Imports a model, and checks that it stays within the memory limit.
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

/// Outlines each node of the model, and selects nodes the way a delegate would. Checks that the outline stays within
/// the memory limit of an import.
fn outlined(bytes: &[u8]) {
    let source = OutlineSource::from_bytes(Arc::new(bytes.to_vec()), &ImportOptions::default());
    let counted = measure(|| drop(source.outline(IMAGES[0])));
    let most = most_memory(bytes.len());
    assert!(counted.bytes_max <= most, "the outline takes {} bytes, may take {most}", counted.bytes_max);
    drop(select(&source, MIN_OPERATIONS, &mut Offline));
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
    // Names that the file probably does not contain.
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

/// Runs everything that needs no device. Checks the graph, and rewrites, schedules and plans it with greedy
/// strategies. If it is small, also runs the searches and checks their results.
fn all_of(graph: &Graph) {
    assert_eq!(graph::check(graph).err().map(|e| e.to_string()), None, "what is imported passes the checker");
    greedy(graph);
    let elements = graph.tensors.iter().map(|tensor| tensor.shape.len()).fold(0, usize::saturating_add);
    if graph.nodes.len() > MAX_NODES || elements > MAX_ELEMENTS {
        return;
    }
    let rows = graph.tensors.iter().map(|tensor| tensor.shape.rows()).sum::<usize>();
    let tiled = graph.nodes.len() <= MAX_PHASED_NODES && rows <= MAX_PHASED_ROWS;
    for objective in [Objective::Fastest, Objective::Smallest].into_iter().take(1 + usize::from(tiled)) {
        let options = CompileOptions { budget: BUDGET, objective, ..CompileOptions::default() };
        if let Ok(compiled) = compile(graph, &options, &SearchControl::new()) {
            let found = graph::check(compiled.graph()).err().map(|e| e.to_string());
            assert_eq!(found, None, "what is rewritten passes the checker");
        }
    }
}

/// Rewrites a graph of any extents, and plans it with strategies that do not search.
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
                texpool_plan::check_layout(&schedule.records, &schedule.uses(), &layout).err().map(|e| e.to_string());
            assert_eq!(found, None, "{} overlaps", strategy.name());
        }
    }
}
