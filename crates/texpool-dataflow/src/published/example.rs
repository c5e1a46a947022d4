//! Table II: four executions of a network of five layers.
//!
//! The buffers in the table are those of the four edges between layers, with one byte per element. Rows that a layer
//! keeps from one phase to the next stay in the same buffer (Ex3 counts the 17 rows of a window once), so loops are
//! not added.

use crate::{
    Bands, Buffers, Csdf, DataflowError, Input, InputRows, Layer, Network, Overlap, Phasing, RowWindow, convert,
    least_buffers,
};

/// A row of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    /// Name in the table.
    pub name: &'static str,
    /// Phases of each layer in an iteration.
    pub phases: [usize; 5],
    /// Handling of rows that two phases read.
    pub overlap: Overlap,
    /// The published sizes of the buffers between layers, in bytes.
    pub published: [u64; 4],
}

/// The rows of Table II.
pub const EXAMPLES: [Example; 4] = {
    use Overlap::{Kept, Resent};
    [
        Example { name: "Ex1", phases: [1, 1, 1, 1, 1], overlap: Kept, published: [1024, 1024, 48, 2] },
        Example { name: "Ex2", phases: [2, 2, 1, 1, 1], overlap: Resent, published: [768, 1024, 48, 2] },
        Example { name: "Ex3", phases: [32, 16, 1, 1, 1], overlap: Kept, published: [544, 1024, 48, 2] },
        Example { name: "Ex4", phases: [32, 16, 4, 1, 1], overlap: Kept, published: [544, 384, 48, 2] },
    ]
};

impl Example {
    /// Returns its dataflow graph.
    ///
    /// # Errors
    /// Those of [`convert`]; none occurs for these examples.
    pub fn csdf(&self) -> Result<Csdf, DataflowError> {
        convert(&example(), &Phasing { bands: Bands::PerLayer(self.phases.to_vec()), overlap: self.overlap })
    }

    /// Computes the least sizes of the buffers between layers by execution, in bytes.
    ///
    /// # Errors
    /// Those of [`least_buffers`]; none occurs for these examples.
    pub fn found(&self) -> Result<Vec<u64>, DataflowError> {
        let csdf = self.csdf()?;
        let Buffers { capacities, .. } = least_buffers(&csdf)?;
        let edges = csdf.channels.iter().zip(capacities).filter(|(channel, _)| !channel.is_loop());
        Ok(edges.map(|(_, size)| size).collect())
    }
}

/// Builds the network of the example: data, two convolutions (the second crops one row and column on each side), a
/// dense layer, data.
pub fn example() -> Network {
    let window = |height, stride, padding_top| InputRows::Window(RowWindow { height, stride, padding_top });
    let layers: [(&str, &str, usize, usize, Option<InputRows>); 5] = [
        ("n1", "input", 32, 32, None),
        ("n2", "conv", 16, 16 * 4, Some(window(17, 1, 0))),
        ("n3", "conv", 4, 4 * 3, Some(window(5, 3, -1))),
        ("n4", "dot", 1, 2, Some(InputRows::All)),
        ("n5", "output", 1, 2, Some(InputRows::SAME_ROW)),
    ];
    let layer =
        |(index, (name, op, rows, row_elements, reach)): (usize, (&str, &str, usize, usize, Option<InputRows>))| {
            // Only the first layer reads nothing, so every other one has a predecessor.
            let inputs = reach.into_iter().map(|reach| Input { from: index - 1, rows: reach }).collect();
            Layer {
                name: name.into(),
                op: op.into(),
                rows,
                row_elements,
                inputs,
                parameters: 0,
                output_when_complete: false,
            }
        };
    Network { name: "example".into(), layers: layers.into_iter().enumerate().map(layer).collect() }
}
