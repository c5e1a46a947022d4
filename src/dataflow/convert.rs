//! From a network to its dataflow graph: Algorithm 1 of Minakova and Stefanov.
//!
//! An actor fires once for each band of rows of its layer's result (a row, unless told otherwise). From each channel it
//! takes what its window reaches and has not reached before; the rows that the next window reaches again it puts on a
//! loop. In their words, with a window of `K` rows, a stride of `s` and padding: the first phase takes `K - above`
//! rows, those between `s`, the last what remains, and the loop carries `K - s` rows from each phase to the next. The
//! cycle is the shortest that repeats, so a layer without overlap and padding has one phase, and the repetition vector
//! says how often it fires (their Line 9); a layer that reaches everything has one phase too.
//!
//! Where the text of the algorithm would break the graph, its intent is followed: rows are counted up to the input's
//! end, so no phase takes a negative number (5 x 5 windows with two rows of padding); a stride beyond the window takes
//! the rows in between as well (1 x 1 windows with a stride of two); dilation makes the window taller; a layer with
//! several inputs has one loop for what it keeps of all.

use std::collections::HashMap;

use super::{Actor, Channel, Csdf, DataflowError, Input, InputRows, Layer, Network, RowWindow, Sequence};

/// How layers are divided into phases.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Phasing {
    /// How many bands of rows a layer's result has.
    pub bands: Bands,
    /// What becomes of rows that two bands of a layer both read.
    pub overlap: Overlap,
}

/// How many bands of rows a layer's result has, as even as whole rows allow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Bands {
    /// A row each: the least that a phase can be.
    #[default]
    Rows,
    /// So many at most; one is the execution without phases.
    AtMost(usize),
    /// So many at most, by layer.
    PerLayer(Vec<usize>),
}

/// What becomes of rows that two bands of a layer both read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overlap {
    /// They are kept on a loop.
    #[default]
    Kept,
    /// Where both ends of an edge have as many bands, the source sends each band all it reads, some rows twice.
    Resent,
}

/// Phases of layers and of the ends of edges that are converted, together: some 100 MB.
pub const PHASE_LIMIT: u64 = 1 << 22;

/// The dataflow graph of a network; a token is an element.
///
/// # Errors
/// As [`Network::check`]; [`DataflowError::Bands`]; [`DataflowError::TooManyPhases`].
pub fn convert(network: &Network, phasing: &Phasing) -> Result<Csdf, DataflowError> {
    network.check()?;
    let layers = &network.layers;
    let bands = bands(layers, &phasing.bands)?;
    let mut csdf = Csdf { name: network.name.clone(), ..Csdf::default() };
    let mut edges_made = Vec::new();
    for (index, layer) in layers.iter().enumerate() {
        let mut kept = vec![0; bands[index].len()];
        for input in &layer.inputs {
            let source = &layers[input.from];
            let band_rows = BandRows::new(input, layer, source.rows, &bands[index]);
            let again = phasing.overlap == Overlap::Resent && bands[input.from].len() == bands[index].len();
            let elements = |rows: &[usize]| rows.iter().map(|&rows| (rows * source.row_elements) as u64).collect();
            let (produced, consumed): (Vec<u64>, Vec<u64>) = if again {
                (elements(&band_rows.spans), elements(&band_rows.spans))
            } else {
                for (kept, rows) in kept.iter_mut().zip(&band_rows.kept) {
                    *kept += (rows * source.row_elements) as u64;
                }
                (produced(source, &bands[input.from]), elements(&band_rows.taken))
            };
            edges_made.push((input.from, index, produced, consumed));
        }
        if kept.iter().any(|&tokens| tokens > 0) {
            let mut taken = kept.clone();
            // A phase takes what the one before it has kept; the first takes what the last keeps, which is nothing.
            taken.rotate_right(1);
            edges_made.push((index, index, kept, taken));
        }
    }
    // A cycle must fit all sequences of an actor, in and out, so every edge has to be there before.
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

/// The ends of each layer's bands, in rows of its result.
fn bands(layers: &[Layer], bands: &Bands) -> Result<Vec<Vec<usize>>, DataflowError> {
    if let Bands::PerLayer(counts) = bands
        && counts.len() != layers.len()
    {
        return Err(DataflowError::Bands { expected: layers.len(), found: counts.len() });
    }
    let height = |(index, layer): (usize, &Layer)| {
        let wanted = match bands {
            Bands::Rows => layer.rows,
            Bands::AtMost(most) => *most,
            Bands::PerLayer(counts) => counts[index],
        };
        let whole = layer.inputs.iter().any(|input| input.rows == InputRows::All);
        // Who needs all rows for any of its own could begin no band early, so it has one.
        if whole { layer.rows } else { layer.rows.div_ceil(wanted.clamp(1, layer.rows)) }
    };
    let heights: Vec<usize> = layers.iter().enumerate().map(height).collect();
    let count = |layer: usize| layers[layer].rows.div_ceil(heights[layer]) as u64;
    // Counted before any list is made: a network may state as many rows as it likes.
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

/// Elements that a layer puts on each edge out of it, by band.
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

/// Rows of an input by band of the layer that reads it.
#[derive(Default)]
struct BandRows {
    /// Rows taken from the channel.
    taken: Vec<usize>,
    /// Rows kept for the next band.
    kept: Vec<usize>,
    /// Rows that the band reads, whether or not one before it did.
    spans: Vec<usize>,
}

impl BandRows {
    fn new(input: &Input, layer: &Layer, rows: usize, bands: &[usize]) -> Self {
        let span = RowBounds::new(&input.rows, layer.rows, rows);
        let mut band_rows = Self::default();
        let (mut before, mut first) = (0, 0);
        for &end in bands {
            let last = end == layer.rows;
            // The last band takes what is left, so that an iteration leaves its channels empty.
            let upto = if last { rows } else { span.upto[end - 1] };
            // A window keeps rows of padding too, as the algorithm has it.
            let kept = match &input.rows {
                _ if last => 0,
                InputRows::Window(window) => window.height.saturating_sub(window.stride),
                _ => upto - span.from[end].min(upto),
            };
            band_rows.taken.push(upto - before);
            band_rows.kept.push(kept);
            band_rows.spans.push(upto - span.from[first].min(upto));
            (before, first) = (upto, end);
        }
        band_rows
    }
}

/// By row of a result: where the input's rows end that it and those before it need, and where those begin that it and
/// those after it need.
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
                // The first window begins at row 0 even where rows above it are cropped, for those have to leave the
                // channel too.
                let start = if row == 0 { 0 } else { at(row.saturating_mul(*stride)) };
                start..at(row.saturating_mul(*stride).saturating_add(*height.max(stride)))
            }
            InputRows::PerRow(needs) => match needs.get(row) {
                Some(needs) if !needs.is_empty() => needs.start as usize..(needs.end as usize).min(rows),
                // Reads nothing: an end and a start that change neither maximum nor minimum below.
                _ => rows..0,
            },
        };
        let (mut upto, mut from): (Vec<_>, Vec<_>) = (0..results).map(|row| (needs(row).end, needs(row).start)).unzip();
        // Ends are gathered downwards and starts upwards, in one pass.
        for row in 1..results {
            upto[row] = upto[row].max(upto[row - 1]);
            let later = results - 1 - row;
            from[later] = from[later].min(from[later + 1]);
        }
        Self { upto, from }
    }
}

/// The shortest cycle after which all sequences repeat.
fn shortest_cycle(phases: usize, sequences: &[&[u64]]) -> usize {
    let repeats = |cycle: &usize| {
        phases.is_multiple_of(*cycle) && sequences.iter().all(|tokens| tokens[*cycle..] == tokens[..phases - cycle])
    };
    (1..=phases).find(repeats).unwrap_or(phases)
}

/// Hands out names that are unique: SDF3 tells actors and channels apart by name.
#[derive(Default)]
struct UniqueNames {
    /// Each with how often it was asked for.
    given: HashMap<String, usize>,
}

impl UniqueNames {
    fn unique(&mut self, name: &str) -> String {
        let mut unique = name.to_owned();
        let mut count = self.given.get(name).copied().unwrap_or(0);
        // A layer may itself be called `name (1)`, so each is tried; the next call goes on from the count found here.
        while self.given.contains_key(&unique) {
            count += 1;
            unique = format!("{name} ({count})");
        }
        self.given.insert(unique.clone(), 1);
        if unique != name {
            self.given.insert(name.to_owned(), count);
        }
        unique
    }
}
