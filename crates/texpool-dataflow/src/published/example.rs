//! Table II: four executions of a network of five layers.
//!
//! The buffers in the table are those of the four edges between layers, with one byte per element. Rows that a layer
//! keeps from one phase to the next stay in the same buffer (Ex3 counts the 17 rows of a window once), so loops are
//! not added.

use crate::{
    Bands, Buffers, Csdf, DataflowError, Input, InputRows, Layer, Network, Order, Overlap, Phasing, RowWindow, convert,
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
    /// The published order in which phases execute. Its cell for Ex3 ends the phases of the first layer at 21 of 32, a
    /// misprint; this is the order of the text.
    pub order: &'static str,
    /// The published throughput in frames per second.
    pub frames: u64,
}

/// The rows of Table II.
pub const EXAMPLES: [Example; 4] = {
    use Overlap::{Kept, Resent};
    const fn row(
        name: &'static str,
        phases: [usize; 5],
        overlap: Overlap,
        published: [u64; 4],
        order: &'static str,
        frames: u64,
    ) -> Example {
        Example { name, phases, overlap, published, order, frames }
    }
    [
        row("Ex1", [1, 1, 1, 1, 1], Kept, [1024, 1024, 48, 2], "n11, n21, n31, n41, n51", 334),
        row("Ex2", [2, 2, 1, 1, 1], Resent, [768, 1024, 48, 2], "n11, n21, n12, n22, n31, n41, n51", 333),
        row(
            "Ex3",
            [32, 16, 1, 1, 1],
            Kept,
            [544, 1024, 48, 2],
            "n1(1-17), n21, [n1(18-32), n2(2-16)], n31, n41, n51",
            310,
        ),
        row(
            "Ex4",
            [32, 16, 4, 1, 1],
            Kept,
            [544, 384, 48, 2],
            "n1(1-17), n21, [n1(18-22), n2(2-6)], n31, [n1(23-25), n2(7-9)], n32, [n1(26-28), n2(10-12)], n33, \
             [n1(29-32), n2(13-16)], n34, n41, n51",
            308,
        ),
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

    /// Computes the order in which phases execute within the least buffers.
    ///
    /// # Errors
    /// Those of [`least_buffers`]; none occurs for these examples.
    pub fn order(&self) -> Result<Order, DataflowError> {
        let csdf = self.csdf()?;
        Order::new(&csdf, &least_buffers(&csdf)?.capacities)?.ok_or(DataflowError::Capacities)
    }

    /// Returns the frames per second if a phase costs [`FIRING_US`], all arithmetic together [`WORK_US`], and one phase
    /// executes at a time.
    pub fn inferred_frames(&self) -> f64 {
        1e6 / (WORK_US + FIRING_US * self.phases.iter().sum::<usize>() as f64)
    }
}

/// Microseconds of a phase beside its arithmetic, inferred from the table: with [`WORK_US`] it repeats all four throughputs,
/// if one phase executes at a time.
pub const FIRING_US: f64 = 5.1;
/// Microseconds of all arithmetic of an inference, inferred from the table.
pub const WORK_US: f64 = 2966.5;

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
