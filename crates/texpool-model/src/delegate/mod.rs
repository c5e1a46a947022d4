//! Selects the nodes that a delegate in another runtime takes of a file, in the sets in which that runtime hands them
//! over, with the tensors that cross their borders in every run.
//!
//! One function decides for the delegates and for `texpool explain`. A delegate that is loaded adds what only it knows
//! ([`Live`]): the runtime's graph, and what its device cannot compute. Without one, the file is enough.

mod boundary;
mod host;
mod integers;
mod live;
mod onnxruntime;
mod reading;
mod rules;
mod search;
mod selection;
mod tflite;
mod turns;
mod worth;

use crate::import::{GraphOutline, IMAGES, Outline, OutlineSource};
use search::Search;

pub use host::Host;
pub use live::{Live, Offline};
pub use selection::{NodeStanding, Partition, Selection};
pub use worth::{BYTES_OF_A_CALL, MIN_OPERATIONS};

/// Selects the nodes of each graph of a file. Sets of fewer than `min_operations` are left, by default
/// [`MIN_OPERATIONS`], and sets of more if they copy much.
///
/// Open heights and widths of images are tried with several extents, until all nodes can be read; otherwise the extent
/// with the most nodes wins. Only nodes of the winner are compiled.
///
/// # Errors
/// If the file cannot be outlined, and those of the delegate.
pub fn select<L: Live>(
    source: &OutlineSource,
    min_operations: u64,
    live: &mut L,
) -> Result<(Outline, Vec<Selection>), L::Error> {
    let [usual, others @ ..] = IMAGES;
    let mut best = outlined(source, usual, live)?;
    if best.graphs.iter().any(|graph| graph.is_of_image) {
        let mut least = left_count(&best, min_operations, live)?;
        for image in others {
            if least == 0 {
                break;
            }
            let other = outlined(source, image, live)?;
            let count = left_count(&other, min_operations, live)?;
            if count < least {
                (best, least) = (other, count);
            }
        }
    }
    let host = Host::of(best.format);
    let selections = best.graphs.iter().map(|graph| select_of(graph, host, min_operations, live));
    let mut selections: Vec<Selection> = selections.collect::<Result<_, _>>()?;
    take_first_values(&best, &mut selections);
    Ok((best, selections))
}

/// Selects the nodes of the first graph of a file, for a delegate to which the runtime hands one graph at a time. The
/// others only tell which variables they name.
///
/// # Errors
/// The errors of [`select`].
pub fn select_first<L: Live>(
    source: &OutlineSource,
    min_operations: u64,
    live: &mut L,
) -> Result<(GraphOutline, Selection), L::Error> {
    let [usual, ..] = IMAGES;
    let Outline { format, graphs } = source.outline(usual)?;
    let mut graph = graphs.into_iter().next().unwrap_or_default();
    live.complete(&mut graph);
    let selection = select_of(&graph, Host::of(format), min_operations, live)?;
    Ok((graph, selection))
}

/// Takes the graphs of first values whose calls are taken. Nothing of them is left to run.
fn take_first_values(outline: &Outline, selections: &mut [Selection]) {
    let mut called = Vec::new();
    for (graph, selection) in outline.graphs.iter().zip(&*selections) {
        let nodes = graph.nodes.iter().zip(&selection.standings);
        let taken = nodes.filter(|(_, standing)| matches!(standing, NodeStanding::Taken(_)));
        called.extend(taken.filter_map(|(node, _)| node.calls_once));
    }
    for index in called {
        if let (Some(graph), Some(selection)) = (outline.graphs.get(index), selections.get_mut(index)) {
            *selection = Selection::of_first_values(graph.nodes.len());
        }
    }
}

/// Selects the nodes of a graph.
///
/// # Errors
/// Those of the delegate.
pub fn select_of<L: Live>(
    graph: &GraphOutline,
    host: Host,
    min_operations: u64,
    live: &mut L,
) -> Result<Selection, L::Error> {
    Search::new(graph, host, min_operations, live.folds_constants()).run(live, true)
}

fn outlined<L: Live>(source: &OutlineSource, image: usize, live: &mut L) -> Result<Outline, L::Error> {
    let mut outline = source.outline(image)?;
    outline.graphs.iter_mut().for_each(|graph| live.complete(graph));
    Ok(outline)
}

/// Returns the number of nodes that are left of the graphs, before any are compiled.
fn left_count<L: Live>(outline: &Outline, min_operations: u64, live: &mut L) -> Result<usize, L::Error> {
    let mut count = 0;
    for graph in &outline.graphs {
        let mut search = Search::new(graph, Host::of(outline.format), min_operations, live.folds_constants());
        count += search.run(live, false)?.left_count();
    }
    Ok(count)
}
