//! Execution times of phases: Equation 2 of Minakova and Stefanov, with the figures of a device.
//!
//! A phase launches its kernels and computes its share of the operator. Inputs and outputs cross between host and device.

use super::{Csdf, DataflowError, Network, Phasing, Sequence, convert::bands};
use texpool_compile::DeviceProfile;
use texpool_ops::{
    graph::Graph,
    ops::{Work, work},
};

/// Returns the execution times of each actor's phases in nanoseconds, at least 1. `microseconds` returns the time of a part
/// of a layer: its index, and its rows as a share of all rows. `csdf` must be the conversion of the network.
///
/// # Errors
/// The errors of [`convert`](fn@super::convert); [`DataflowError::Times`] if the graph has other actors than the network has
/// layers.
pub fn phase_times(
    network: &Network,
    phasing: &Phasing,
    csdf: &Csdf,
    microseconds: impl Fn(usize, f64) -> f64,
) -> Result<Vec<Sequence>, DataflowError> {
    let bands = bands(&network.layers, &phasing.bands)?;
    if bands.len() != csdf.actors.len() {
        let (expected, found) = (bands.len() as u64, csdf.actors.len() as u64);
        return Err(DataflowError::Times { actor: csdf.name.clone(), expected, found });
    }
    let of_layer = |(index, ends): (usize, &Vec<usize>)| {
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let rows = network.layers[index].rows;
        let share = |(start, &end): (usize, &usize)| (end - start) as f64 / rows as f64;
        let nanoseconds = |share: f64| (microseconds(index, share) * 1e3).round().max(1.0) as u64;
        // The cycle of an actor may be shorter than its layer's list of bands, which then repeats it.
        let phases = csdf.actors[index].phases as usize;
        Sequence::new(starts.zip(ends).map(share).map(nanoseconds).take(phases))
    };
    Ok(bands.iter().enumerate().map(of_layer).collect())
}

/// Returns the time of a part of each layer of [`Network::from_graph`] in microseconds, predicted for a device.
pub fn predicted_times<'a>(graph: &'a Graph, device: &'a DeviceProfile) -> impl Fn(usize, f64) -> f64 + 'a {
    let works: Vec<Work> = graph.nodes.iter().map(|node| work(graph, node)).collect();
    move |layer, share| {
        // Layers are the inputs, the nodes and the outputs, in this order.
        let (node, output) =
            (layer.checked_sub(graph.inputs.len()), layer.checked_sub(graph.inputs.len() + works.len()));
        let end = graph.inputs.get(layer).or_else(|| graph.outputs.get(output?));
        match (node.and_then(|node| works.get(node)), end) {
            (Some(work), _) => device.stripe_us(work, share),
            (None, Some(&tensor)) => {
                device.copy_us + share * device.transfer_us * graph.shape(tensor).texels() as f64 / 1e3
            }
            (None, None) => 0.0,
        }
    }
}
