//! What is done with the bytes of a model: shared by the fuzz targets and by the tests that run the committed inputs.
//! An answer or a typed error is fine; a panic, a hang or a flood of memory is not.

use std::sync::Arc;

use texpool::{
    graph::{self, Graph},
    import::{Array, ImportError, ImportOptions, from_bytes_with},
    plan::{Budget, control::SearchControl},
    prepare::{Phases, PrepareOptions, prepare},
};

/// Largest graph that is carried beyond the importer: preparing takes time that grows with the nodes and the rows.
const MAX_NODES: usize = 48;
const MAX_ELEMENTS: usize = 1 << 20;
/// Largest that is divided into bands: the search for them takes far longer.
const MAX_PHASED_NODES: usize = 8;
const MAX_PHASED_ROWS: usize = 64;
/// A little of each search.
const BUDGET: Budget = Budget { nodes: 2, moves: 200 };

/// Imports a model as it is; then with whatever it leaves open bound; then with its first input made a constant. What
/// is imported is prepared. Gives the error of the first import.
pub(crate) fn drive(bytes: &[u8]) -> Result<(), ImportError> {
    let import = |options: &ImportOptions| from_bytes_with(Arc::new(bytes.to_vec()), options);
    let mut options = ImportOptions::default();
    let first = import(&options);
    match &first {
        Ok(graph) => {
            all_of(graph);
            bind_first_input(graph, &mut options);
        }
        Err(ImportError::Unbound(open)) => {
            let small = open.iter().enumerate().map(|(i, extent)| (extent.name.clone(), 1 + i % 5));
            options.dims.extend(small);
        }
        Err(_) => {}
    }
    if (!options.dims.is_empty() || !options.constants.is_empty())
        && let Ok(graph) = import(&options)
    {
        all_of(&graph);
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

/// Everything that needs no device: the graph is sound, and if it is small, so is what is made of it.
fn all_of(graph: &Graph) {
    assert_eq!(graph::check(graph).err().map(|e| e.to_string()), None, "what is imported passes the checker");
    let elements = graph.tensors.iter().map(|tensor| tensor.shape.len()).fold(0, usize::saturating_add);
    if graph.nodes.len() > MAX_NODES || elements > MAX_ELEMENTS {
        return;
    }
    let rows = graph.tensors.iter().map(|tensor| tensor.shape.rows()).sum::<usize>();
    let phased = graph.nodes.len() <= MAX_PHASED_NODES && rows <= MAX_PHASED_ROWS;
    for phases in [Phases::Off, Phases::Min].into_iter().take(1 + usize::from(phased)) {
        let options = PrepareOptions { budget: BUDGET, phases, ..PrepareOptions::default() };
        if let Ok(prepared) = prepare(graph, &options, &SearchControl::new()) {
            let found = graph::check(prepared.graph()).err().map(|e| e.to_string());
            assert_eq!(found, None, "what is rewritten passes the checker");
        }
    }
}
