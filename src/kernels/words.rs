//! A step's words: the parameters and row tables that `texel.wgsl` reads.

use super::{Operand, StepContext, TailPlan, context::starts};
use crate::graph::Shape;

const OUTPUT: usize = 2;
const INPUT: usize = 4;
const SECOND: usize = 6;
const OWN: usize = 8;

/// Writes a step's words: the shared head, the family's own parameters, then the row tables.
#[derive(Clone, Debug)]
pub struct Words {
    head: [[u32; 4]; OWN],
    own: Vec<u32>,
    tables: Vec<(usize, Operand)>,
}

impl Words {
    /// The head of a step with `items` invocations and tail `tail`.
    pub fn new(step: &StepContext<'_>, tail: &TailPlan, items: u32) -> Self {
        let mut words = Self::bare(&step.output, step.rows.start, items);
        words.head[0][2..].copy_from_slice(&tail.alpha.map(f32::to_bits));
        words.head[1] = [step.weights.base, step.weights.shift, tail.second[0], tail.second[1]];
        if let Some(add) = &step.add {
            words.operand(SECOND, add);
        }
        words
    }

    /// The head of `items` invocations that write `output` from row `first` on, and nothing else.
    pub fn bare(output: &Operand, first: u32, items: u32) -> Self {
        let mut words = Self { head: [[0; 4]; OWN], own: Vec::new(), tables: Vec::new() };
        words.head[0] = [items, first, 0, 0];
        words.operand(OUTPUT, output);
        words
    }

    /// States the first input.
    pub fn input(mut self, operand: &Operand) -> Self {
        self.operand(INPUT, operand);
        self
    }

    /// States the second input. A step whose tail adds a tensor has none of its own.
    pub fn second(mut self, operand: &Operand) -> Self {
        self.operand(SECOND, operand);
        self
    }

    /// Appends four of the family's own words: `param(8u)` is the first such.
    pub fn own(mut self, words: [u32; 4]) -> Self {
        self.own.extend(words);
        self
    }

    /// Appends a tensor without a row table to the family's own words.
    pub fn own_tensor(self, s: Shape) -> Self {
        self.own([0, 0, s.w as u32, s.h as u32]).own([s.b as u32, s.c as u32, s.slices() as u32, s.w as u32])
    }

    fn operand(&mut self, at: usize, operand: &Operand) {
        let s = operand.shape;
        self.head[at] = [0, operand.shift, s.w as u32, s.h as u32];
        self.head[at + 1] = [s.b as u32, s.c as u32, s.slices() as u32, operand.pitch];
        self.tables.push((at, operand.clone()));
    }

    /// The words in order, tables last, each operand's head pointing at its own.
    pub fn finish(mut self) -> Vec<u32> {
        let mut next = OWN * 4 + self.own.len();
        for (at, operand) in &self.tables {
            self.head[*at][0] = next as u32;
            next += operand.rows.rows() as usize;
        }
        let mut words: Vec<u32> = self.head.concat();
        words.append(&mut self.own);
        words.extend(self.tables.iter().flat_map(|(_, operand)| starts(operand)));
        words
    }
}
