//! Lowers products with weights of few bits, which have scales for blocks of each column.

use super::{basic::two, matmul::dense};
use crate::import::{
    error::Problem,
    onnx::{
        array::Array,
        node_lowering::NodeLowering,
        op_registry::{InputLayout::Any, OF_RUNTIME, OnnxOpEntry},
        value::Value,
    },
    op_registry::Quantised,
};
use texpool_ops::graph::{Binary, Constant, ElementType, QuantParams};

pub(super) const OPERATORS: &[OnnxOpEntry] =
    &[OnnxOpEntry::new("MatMulNBits", 1, Quantised, "binary, dense", Any, product)
        .domain(OF_RUNTIME)
        .limits("weights of 2, 4 or 8 bits; weights and scales must be known; blocks are in order")];

/// Extents of packed weights.
#[derive(Clone, Copy, Debug)]
struct Packed {
    depth: usize,
    columns: usize,
    bits: usize,
    block: usize,
}

impl Packed {
    fn of(ctx: &NodeLowering<'_>) -> Result<Self, Problem> {
        let (depth, columns) = (ctx.size("K", 0)?, ctx.size("N", 0)?);
        let (bits, block) = (ctx.size("bits", 4)?, ctx.size("block_size", 0)?);
        let packed = Self { depth, columns, bits, block };
        if depth == 0 || columns == 0 || block == 0 {
            return Err(Problem::malformed(format!("it has {columns} columns of {depth}, in blocks of {block}")));
        }
        if !matches!(bits, 2 | 4 | 8) || !(block * bits).is_multiple_of(8) {
            return Err(Problem::unsupported(format!("its weights have {bits} bits, in blocks of {block}")));
        }
        Ok(packed)
    }

    /// Number of blocks of a column.
    const fn blocks(self) -> usize {
        self.depth.div_ceil(self.block)
    }

    /// Returns the integer of a place in a row of bytes, which hold the lower ones first.
    fn integer(self, row: &[u8], place: usize) -> u8 {
        let each = 8 / self.bits;
        let byte = row.get(place / each).copied().unwrap_or(0);
        (byte >> (place % each * self.bits)) & (u8::MAX >> (8 - self.bits))
    }

    /// Returns the integers, column by column.
    fn integers(self, ctx: &mut NodeLowering<'_>) -> Result<Vec<u8>, Problem> {
        let array = ctx.known(1, "weights")?;
        let of_column = self.blocks() * self.block * self.bits / 8;
        let bytes = array.to_bytes().filter(|bytes| bytes.len() == of_column * self.columns);
        let Some(bytes) = bytes else {
            let reason = format!("weights of {:?} are no {} columns of {of_column} bytes", array.dims(), self.columns);
            return Err(Problem::malformed(reason));
        };
        let count = ctx.budget_for(&[self.columns, self.depth], 1, 1)?;
        let mut integers = Vec::with_capacity(count);
        for row in bytes.chunks_exact(of_column) {
            integers.extend((0..self.depth).map(|place| self.integer(row, place)));
        }
        Ok(integers)
    }

    /// Returns the scales of all blocks.
    fn scales(self, ctx: &mut NodeLowering<'_>) -> Result<Vec<f32>, Problem> {
        let array = ctx.known(2, "scales")?;
        self.per_block(ctx, &array, "scales")
    }

    fn per_block(self, ctx: &mut NodeLowering<'_>, array: &Array, role: &str) -> Result<Vec<f32>, Problem> {
        let count = ctx.budget_for(&[self.columns, self.blocks()], 2 * size_of::<f32>(), 1)?;
        if array.len() != count {
            return Err(Problem::malformed(format!("{} {role} for {count} blocks", array.len())));
        }
        Ok(array.to_f32().into_owned())
    }

    /// Returns the zero points of all blocks.
    fn zeros(self, ctx: &mut NodeLowering<'_>) -> Result<Vec<f32>, Problem> {
        let count = ctx.budget_for(&[self.columns, self.blocks()], 2 * size_of::<f32>(), 1)?;
        if ctx.optional(3).is_none() {
            return Ok(vec![(1u32 << (self.bits - 1)) as f32; count]);
        }
        let array = ctx.known(3, "zero points")?;
        let Some(bytes) = array.to_bytes() else { return self.per_block(ctx, &array, "zero points") };
        let of_column = (self.blocks() * self.bits).div_ceil(8);
        if bytes.len() != of_column * self.columns {
            let reason = format!("{} bytes of zero points for {} columns", bytes.len(), self.columns);
            return Err(Problem::malformed(reason));
        }
        let column = |row| (0..self.blocks()).map(move |block| f32::from(self.integer(row, block)));
        Ok(bytes.chunks_exact(of_column).flat_map(column).collect())
    }

    /// Returns the weights, `[columns, depth]`. They stay bytes if blocks are whole and zero points are integers.
    fn weights(self, ctx: &mut NodeLowering<'_>) -> Result<Array, Problem> {
        let (integers, scales, zeros) = (self.integers(ctx)?, self.scales(ctx)?, self.zeros(ctx)?);
        let dims = vec![self.columns, self.depth];
        let is_whole = self.depth.is_multiple_of(self.block) && scales.iter().all(|scale| scale.is_finite());
        if is_whole && zeros.iter().all(|zero| zero.fract() == 0.0 && zero.abs() <= 255.0) {
            let zero = zeros.iter().map(|&zero| zero as i32).collect();
            let bytes = Array::of_stored(dims, Constant::new(ElementType::U8, integers.into()));
            let params = QuantParams { scale: scales, zero, inner: self.block };
            let weights = bytes.dequantized(params, ctx.meter())?;
            return weights.ok_or_else(|| Problem::malformed("its weights are no bytes"));
        }
        let count = ctx.budget_for(&dims, 2 * size_of::<f32>(), 1)?;
        let mut reals = Vec::with_capacity(count);
        for (column, row) in integers.chunks_exact(self.depth).enumerate() {
            reals.extend(row.iter().enumerate().map(|(place, &integer)| {
                let block = column * self.blocks() + place / self.block;
                (f32::from(integer) - zeros[block]) * scales[block]
            }));
        }
        Ok(Array::of_floats(dims, ElementType::F32, &reals))
    }
}

fn product(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    if ctx.optional(4).is_some() {
        return Err(Problem::unsupported("its rows name their blocks"));
    }
    let packed = Packed::of(ctx)?;
    let x = ctx.computed(0)?;
    if x.dims.last() != Some(&packed.depth) {
        return Err(Problem::malformed(format!("{:?} and columns of {} do not multiply", x.dims, packed.depth)));
    }
    let weights = packed.weights(ctx)?;
    let result = match ctx.optional(5) {
        Some(Value::Known(bias)) if bias.len() == packed.columns => dense(ctx, &x, &weights, Some(&bias))?,
        bias => {
            let mut result = dense(ctx, &x, &weights, None)?;
            if let Some(bias) = bias {
                result = two(ctx, Binary::Add, &Value::Computed(result), &bias, x.elem)?;
            }
            result
        }
    };
    ctx.give(0, Value::Computed(result));
    Ok(())
}
