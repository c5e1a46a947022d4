//! Kernel of sums of two quantised tensors with broadcasting. It computes with integers alone, because devices may
//! round or fuse operations on floats differently.

use super::{LEFT_SHIFT, QuantizedAdd, QuantizedSum, rest};
use crate::{
    graph::{Graph, Node},
    kernels::{
        Dispatch, KernelError, Shader, StepContext, common,
        params::ConstantTensor,
        shader::helpers::{ONE_TEXEL, TWO_OPERANDS},
        wgsl::{shader_params, shared_constants},
    },
    ops::{
        binary::kernel as binary,
        operator::{Kernels, Operator, category},
        work::{CostClass, Work},
    },
};

impl Kernels for QuantizedAdd {
    const SHADERS: &'static [Shader] = &[SHADER];
}

impl Operator for QuantizedAdd {
    category!(two_operands);

    fn work(&self, graph: &Graph, node: &Node) -> Work {
        Work::new(graph, node, CostClass::Elementwise, 1, 1)
    }

    /// Computes one texel per invocation.
    fn dispatches(&self, step: &StepContext<'_>) -> Result<Vec<Dispatch>, KernelError> {
        let params = |constant| Params::new(*self, constant);
        let constants = vec![("ARITHMETIC", f64::from(code(self.arithmetic)))];
        binary::reading_two(step, SHADER, common::texels(step), params, constants, &[])
    }
}

const SHADER: Shader = Shader::new("quantized_add", texpool_shaders::QUANTIZED_ADD)
    .constants(&[ARITHMETICS, SHIFTS, binary::CONSTANT_OPERANDS])
    .params::<Params>()
    .helpers(&[ONE_TEXEL, TWO_OPERANDS]);

shared_constants! {
    /// Arithmetics that `quantized_add.wgsl` supports.
    ARITHMETICS:
    SUM_FIXED = 0,
    SUM_SHIFT = 1,
    SUM_FLOAT = 2,
}

shared_constants! {
    /// Shift of operands.
    SHIFTS:
    FIXED_LEFT_SHIFT = LEFT_SHIFT,
}

const fn code(arithmetic: QuantizedSum) -> u32 {
    match arithmetic {
        QuantizedSum::Fixed { .. } => SUM_FIXED,
        QuantizedSum::Shift { .. } => SUM_SHIFT,
        QuantizedSum::Float { .. } => SUM_FLOAT,
    }
}

shader_params! {
    struct Params {
        constant: ConstantTensor,
        /// Significands of the operands' factors; signed integers of a shifted sum.
        factors: [u32; 2],
        /// Exponents of a fixed sum; shifts to a common unit of a float sum.
        shifts: [isize; 2],
        zeros: [isize; 2],
        limits: [isize; 2],
        /// Significand of the factor of a fixed sum.
        factor: u32,
        /// Exponent of the factor of a fixed sum; number of bits of fraction of another sum.
        shift: isize,
        /// Low and high half of the part of a float sum that does not depend on the operands.
        rest: [u32; 2],
        zero: isize,
    }
}

impl Params {
    fn new(add: QuantizedAdd, constant: ConstantTensor) -> Self {
        let none = Self {
            constant,
            factors: [0; 2],
            shifts: [0; 2],
            zeros: [0; 2],
            limits: [add.least, add.most].map(isize::from),
            factor: 0,
            shift: 0,
            rest: [0; 2],
            zero: 0,
        };
        match add.arithmetic {
            QuantizedSum::Fixed { factors, result } => Self {
                factors: factors.map(|factor| factor.significand.cast_unsigned()),
                shifts: factors.map(|factor| factor.exponent as isize),
                factor: result.significand.cast_unsigned(),
                shift: result.exponent as isize,
                ..none
            },
            QuantizedSum::Shift { factors, shift } => {
                Self { factors: factors.map(i32::cast_unsigned), shift: shift as isize, ..none }
            }
            QuantizedSum::Float { ratios, zeros, zero } => {
                // Ratios are whole numbers of 24 bits times powers of two. The smaller power is the common unit, of
                // which all sums are multiples: rounding only makes units larger.
                let exponents = ratios.map(|ratio| (ratio.to_bits() >> 23).cast_signed() - 150);
                let unit = exponents[0].min(exponents[1]);
                let rest = (f64::from(rest(ratios, zeros, zero)) * f64::from(-unit).exp2()) as i64;
                Self {
                    factors: ratios.map(|ratio| ratio.to_bits() & 0x7f_ffff | 0x80_0000),
                    shifts: exponents.map(|exponent| (exponent - unit) as isize),
                    zeros: zeros.map(isize::from),
                    shift: -unit as isize,
                    rest: [rest as u32, (rest >> 32) as u32],
                    zero: isize::from(zero),
                    ..none
                }
            }
        }
    }
}
