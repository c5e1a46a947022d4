//! A step's params: the parameters and row tables that `texel.wgsl` reads.

use super::{EpilogueParams, Operand, StepContext, context::starts};
use crate::graph::Shape;

const OUTPUT: usize = 2;
const INPUT: usize = 4;
const SECOND: usize = 6;
const OWN: usize = 8;

/// Writes a step's params: the shared head, the family's own parameters, then the row tables.
#[derive(Clone, Debug)]
pub struct KernelParams {
    head: [[u32; 4]; OWN],
    own: Vec<u32>,
    tables: Vec<(usize, Operand)>,
}

impl KernelParams {
    /// The head of a step with `items` invocations and epilogue `epilogue`.
    pub fn new(step: &StepContext<'_>, epilogue: &EpilogueParams, items: u32) -> Self {
        let mut params = Self::bare(&step.output, step.rows.start, items);
        params.head[0][2..].copy_from_slice(&epilogue.alpha.map(f32::to_bits));
        params.head[1] = [step.weights.base, step.weights.shift, epilogue.second[0], epilogue.second[1]];
        if let Some(add) = &step.add {
            params.operand(SECOND, add);
        }
        params
    }

    /// The head of `items` invocations that write `output` from row `first` on, and nothing else.
    pub fn bare(output: &Operand, first: u32, items: u32) -> Self {
        let mut params = Self { head: [[0; 4]; OWN], own: Vec::new(), tables: Vec::new() };
        params.head[0] = [items, first, 0, 0];
        params.operand(OUTPUT, output);
        params
    }

    /// States the first input.
    pub fn input(mut self, operand: &Operand) -> Self {
        self.operand(INPUT, operand);
        self
    }

    /// States the second input. A step whose epilogue adds a tensor has none of its own.
    pub fn second(mut self, operand: &Operand) -> Self {
        self.operand(SECOND, operand);
        self
    }

    /// Appends four of the family's own params: `param(8u)` is the first such.
    pub fn own(mut self, params: [u32; 4]) -> Self {
        self.own.extend(params);
        self
    }

    /// Appends a tensor without a row table to the family's own params.
    pub fn own_tensor(self, s: Shape) -> Self {
        self.own([0, 0, s.w as u32, s.h as u32]).own([s.b as u32, s.c as u32, s.slices() as u32, s.w as u32])
    }

    fn operand(&mut self, at: usize, operand: &Operand) {
        let s = operand.shape;
        self.head[at] = [0, operand.shift, s.w as u32, s.h as u32];
        self.head[at + 1] = [s.b as u32, s.c as u32, s.slices() as u32, operand.pitch];
        self.tables.push((at, operand.clone()));
    }

    /// The params in order, tables last, each operand's head pointing at its own.
    pub fn finish(mut self) -> Vec<u32> {
        let mut next = OWN * 4 + self.own.len();
        for (at, operand) in &self.tables {
            self.head[*at][0] = next as u32;
            next += operand.rows.rows() as usize;
        }
        let mut params: Vec<u32> = self.head.concat();
        params.append(&mut self.own);
        params.extend(self.tables.iter().flat_map(|(_, operand)| starts(operand)));
        params
    }
}
