//! Converts a network to its dataflow graph: Algorithm 1 of Minakova and Stefanov.
//!
//! An actor fires once per band of rows of its layer's result; by default a band is one row. From each channel it
//! takes the rows that its window reaches for the first time, and it puts the rows that the next window needs again
//! on a loop. In the paper's terms, with a window of `K` rows, a stride of `s` and padding: the first phase takes
//! `K - above` rows, the middle phases take `s` rows, the last takes the rest, and the loop carries `K - s` rows from
//! each phase to the next. The cycle is the shortest that repeats, so a layer without overlap and padding has one
//! phase, and the repetition vector gives the number of its firings (their Line 9). A layer that needs all rows of an
//! input has one phase too.
//!
//! Some cases deviate from the text of the algorithm, where it would give an invalid graph, to follow its intent.
//! Rows are counted only up to the input's end, so that no phase takes a negative number (5 x 5 windows with two rows
//! of padding). A stride larger than the window also takes the rows in between (1 x 1 windows with a stride of two).
//! Dilation makes the window taller. A layer with several inputs has one loop for the rows kept of all of them.

use std::collections::HashMap;

use super::{Actor, Channel, Csdf, DataflowError, Input, InputRows, Layer, Network, RowWindow, Sequence};

/// Division of layers into phases.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Phasing {
    /// Number of bands of rows in each layer's result.
    pub bands: Bands,
    /// Handling of rows that two bands of a layer both read.
    pub overlap: Overlap,
}

/// Number of bands of rows in a layer's result. Bands are as even as whole rows allow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Bands {
    /// One row per band, the smallest possible phase.
    #[default]
    Rows,
    /// An upper limit on the number of bands; 1 means execution without phases.
    AtMost(usize),
    /// An upper limit for each layer.
    PerLayer(Vec<usize>),
}

/// Handling of rows that two bands of a layer both read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overlap {
    /// Rows are kept on a loop.
    #[default]
    Kept,
    /// If both ends of an edge have equally many bands, the source sends each band all rows that it reads, some of
    /// them twice.
    Resent,
}

/// Upper limit on the total number of phases of layers and of ends of edges; it corresponds to some 100 MB.
pub const PHASE_LIMIT: u64 = 1 << 22;

/// Returns the dataflow graph of a network. A token is one element.
///
/// # Errors
/// Those of [`Network::check`]; [`DataflowError::Bands`]; [`DataflowError::TooManyPhases`].
pub fn convert(network: &Network, phasing: &Phasing) -> Result<Csdf, DataflowError> {
    network.check()?;
    let layers = &network.layers;
    let bands = bands(layers, &phasing.bands)?;
    let mut csdf = Csdf { name: network.name.clone(), ..Csdf::default() };
    let mut edges_made = Vec::new();
    for (index, layer) in layers.iter().enumerate() {
        let mut kept_elements = vec![0; bands[index].len()];
        for input in &layer.inputs {
            let source = &layers[input.from];
            let band_rows = BandRows::new(input, layer, source.rows, &bands[index]);
            let again = phasing.overlap == Overlap::Resent && bands[input.from].len() == bands[index].len();
            let elements = |rows: &[usize]| rows.iter().map(|&rows| (rows * source.row_elements) as u64).collect();
            let (produced, consumed): (Vec<u64>, Vec<u64>) = if again {
                (elements(&band_rows.spans), elements(&band_rows.spans))
            } else {
                for (kept_elements, rows) in kept_elements.iter_mut().zip(&band_rows.carried_rows) {
                    *kept_elements += (rows * source.row_elements) as u64;
                }
                (produced(source, &bands[input.from]), elements(&band_rows.consumed_rows))
            };
            edges_made.push((input.from, index, produced, consumed));
        }
        if kept_elements.iter().any(|&tokens| tokens > 0) {
            let mut consumed = kept_elements.clone();
            // A phase takes the rows that the phase before it kept. The first takes those kept by the last, which
            // keeps no rows.
            consumed.rotate_right(1);
            edges_made.push((index, index, kept_elements, consumed));
        }
    }
    // A cycle must fit all incoming and outgoing sequences of an actor, so all edges must exist by now.
    let mut sequences: Vec<Vec<&[u64]>> = vec![Vec::new(); layers.len()];
    for (from, to, produced, consumed) in &edges_made {
        sequences[*from].push(produced);
        sequences[*to].push(consumed);
    }
    let cycles: Vec<usize> =
        bands.iter().zip(&sequences).map(|(bands, sequences)| shortest_cycle(bands.len(), sequences)).collect();
    let mut names = UniqueNames::default();
    for (layer, &phases) in layers.iter().zip(&cycles) {
        csdf.actors.push(Actor { name: names.unique(&layer.name), op: layer.op.clone(), phases: phases as u64 });
    }
    for (from, to, produced, consumed) in edges_made {
        csdf.channels.push(Channel {
            name: names.unique(&format!("{} -> {}", csdf.actors[from].name, csdf.actors[to].name)),
            from,
            to,
            production: Sequence::new(produced[..cycles[from]].iter().copied()),
            consumption: Sequence::new(consumed[..cycles[to]].iter().copied()),
            initial: 0,
        });
    }
    Ok(csdf)
}

/// Returns the ends of each layer's bands, in rows of its result.
pub(super) fn bands(layers: &[Layer], bands: &Bands) -> Result<Vec<Vec<usize>>, DataflowError> {
    if let Bands::PerLayer(counts) = bands
        && counts.len() != layers.len()
    {
        return Err(DataflowError::Bands { expected: layers.len(), found: counts.len() });
    }
    let height = |(index, layer): (usize, &Layer)| {
        let band_count = match bands {
            Bands::Rows => layer.rows,
            Bands::AtMost(most) => *most,
            Bands::PerLayer(counts) => counts[index],
        };
        let whole = layer.inputs.iter().any(|input| input.rows == InputRows::All);
        // A layer that needs all rows for each row of its result cannot start a band early, so it gets one band.
        if whole { layer.rows } else { layer.rows.div_ceil(band_count.clamp(1, layer.rows)) }
    };
    let heights: Vec<usize> = layers.iter().enumerate().map(height).collect();
    let count = |layer: usize| layers[layer].rows.div_ceil(heights[layer]) as u64;
    // Checked before any list is built, since a network can declare any number of rows.
    let edges = |layer: usize| layers[layer].inputs.iter().map(move |input| count(layer) + count(input.from));
    let phases = (0..layers.len()).map(|layer| count(layer) + edges(layer).sum::<u64>()).sum();
    if phases > PHASE_LIMIT {
        return Err(DataflowError::TooManyPhases { phases, limit: PHASE_LIMIT });
    }
    let ends = |(layer, &height): (&Layer, &usize)| {
        (1..=layer.rows.div_ceil(height)).map(|band| (band * height).min(layer.rows)).collect()
    };
    Ok(layers.iter().zip(&heights).map(ends).collect())
}

/// Returns the elements that a layer puts on each outgoing edge, by band.
fn produced(layer: &Layer, bands: &[usize]) -> Vec<u64> {
    let mut before = 0;
    let last = bands.len() - 1;
    let band = |(index, &end): (usize, &usize)| {
        let rows = end - std::mem::replace(&mut before, end);
        let rows = match (layer.output_when_complete, index == last) {
            (false, _) => rows,
            (true, true) => layer.rows,
            (true, false) => 0,
        };
        (rows * layer.row_elements) as u64
    };
    bands.iter().enumerate().map(band).collect()
}

/// Rows of an input, for each band of the layer that reads it.
#[derive(Default)]
struct BandRows {
    /// Rows taken from the channel.
    consumed_rows: Vec<usize>,
    /// Rows kept for the next band.
    carried_rows: Vec<usize>,
    /// Rows that the band reads, including rows that an earlier band read.
    spans: Vec<usize>,
}

impl BandRows {
    fn new(input: &Input, layer: &Layer, rows: usize, bands: &[usize]) -> Self {
        let span = RowBounds::new(&input.rows, layer.rows, rows);
        let mut band_rows = Self::default();
        let (mut before, mut first) = (0, 0);
        for &end in bands {
            let last = end == layer.rows;
            // The last band takes the remaining rows, so that an iteration leaves its channels empty.
            let upto = if last { rows } else { span.upto[end - 1] };
            // A window also keeps rows of padding, as in the published algorithm.
            let overlap = match &input.rows {
                _ if last => 0,
                InputRows::Window(window) => window.height.saturating_sub(window.stride),
                _ => upto - span.from[end].min(upto),
            };
            band_rows.consumed_rows.push(upto - before);
            band_rows.carried_rows.push(overlap);
            band_rows.spans.push(upto - span.from[first].min(upto));
            (before, first) = (upto, end);
        }
        band_rows
    }
}

/// For each row of a result: `upto` is the end of the input rows that it and earlier rows need, `from` is the start
/// of the input rows that it and later rows need.
struct RowBounds {
    upto: Vec<usize>,
    from: Vec<usize>,
}

impl RowBounds {
    fn new(reach: &InputRows, results: usize, rows: usize) -> Self {
        let needs = |row: usize| match reach {
            InputRows::All => 0..rows,
            InputRows::Window(RowWindow { height, stride, padding_top }) => {
                let at = |row: usize| row.saturating_add_signed(padding_top.saturating_neg()).min(rows);
                // The first window begins at row 0 even if rows above it are cropped, since those must leave the
                // channel too.
                let start = if row == 0 { 0 } else { at(row.saturating_mul(*stride)) };
                start..at(row.saturating_mul(*stride).saturating_add(*height.max(stride)))
            }
            InputRows::PerRow(needs) => match needs.get(row) {
                Some(needs) if !needs.is_empty() => needs.start as usize..(needs.end as usize).min(rows),
                // Reads nothing: this end and this start change neither the maximum nor the minimum below.
                _ => rows..0,
            },
        };
        let (mut upto, mut from): (Vec<_>, Vec<_>) = (0..results).map(|row| (needs(row).end, needs(row).start)).unzip();
        // One pass computes the running maximum of the ends forwards and the running minimum of the starts backwards.
        for row in 1..results {
            upto[row] = upto[row].max(upto[row - 1]);
            let later = results - 1 - row;
            from[later] = from[later].min(from[later + 1]);
        }
        Self { upto, from }
    }
}

/// Returns the length of the shortest cycle after which all sequences repeat.
fn shortest_cycle(phases: usize, sequences: &[&[u64]]) -> usize {
    let repeats = |cycle: &usize| {
        phases.is_multiple_of(*cycle) && sequences.iter().all(|tokens| tokens[*cycle..] == tokens[..phases - cycle])
    };
    (1..=phases).find(repeats).unwrap_or(phases)
}

/// Generates unique names, because SDF3 identifies actors and channels by name.
#[derive(Default)]
struct UniqueNames {
    /// Number of requests for each name.
    requests: HashMap<String, usize>,
}

impl UniqueNames {
    fn unique(&mut self, name: &str) -> String {
        let mut unique = name.to_owned();
        let mut count = self.requests.get(name).copied().unwrap_or(0);
        // A layer's own name may be `name (1)`, so each candidate is checked. The next call continues from this
        // count.
        while self.requests.contains_key(&unique) {
            count += 1;
            unique = format!("{name} ({count})");
        }
        self.requests.insert(unique.clone(), 1);
        if unique != name {
            self.requests.insert(name.to_owned(), count);
        }
        unique
    }
}
