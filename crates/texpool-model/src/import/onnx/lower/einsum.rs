//! Lowers sums of products over named indices.

use super::{
    matmul::matrices,
    reduce::reduced_over,
    shapes::{reshaped, transposed},
    slice::take,
};
use crate::import::{
    common::{axes::AxisRange, extents},
    error::Problem,
    onnx::{
        array::MAX_RANK,
        node_lowering::NodeLowering,
        op_registry::{InputLayout::Any, OnnxOpEntry},
        value::{Computed, Value},
    },
    op_registry::Numbers,
};
use texpool_ops::graph::ReduceKind;

pub(super) const OPERATORS: &[OnnxOpEntry] =
    &[OnnxOpEntry::new("Einsum", 12, Numbers, "matmul, rearrange, reduce", Any, einsum)
        .limits("the result names an index once")];

/// Returns the indices of each operand and of the result, with ellipses expanded.
pub(in crate::import::onnx) fn indices(ctx: &NodeLowering<'_>) -> Result<(Vec<Vec<char>>, Vec<char>), Problem> {
    let equation: String = ctx.text("equation", "")?.chars().filter(|c| !c.is_whitespace()).collect();
    let (left, right) = match equation.split_once("->") {
        Some((left, right)) => (left, Some(right)),
        None => (equation.as_str(), None),
    };
    // An axis has one letter; the rest of the limit is for punctuation and further operands.
    if equation.chars().count() > 4 * MAX_RANK {
        return Err(Problem::unsupported(format!("its equation has {} bytes", equation.len())));
    }
    let terms: Vec<&str> = left.split(',').collect();
    if terms.len() != ctx.count() {
        return Err(Problem::malformed(format!("its equation `{equation}` is for {} operands", terms.len())));
    }
    // An ellipsis stands for the remaining axes, aligned at the end.
    let named = |term: &str| term.replace("...", "").chars().count();
    let mut widest = 0;
    let mut operands = Vec::new();
    for (position, term) in terms.iter().enumerate() {
        let rank = ctx.operand(position)?.dims().len();
        let hidden = rank.checked_sub(named(term)).filter(|&n| n == 0 || term.contains("..."));
        let hidden = hidden.ok_or_else(|| Problem::malformed(format!("`{term}` for {rank} axes")))?;
        widest = widest.max(hidden);
        operands.push((term.to_string(), hidden));
    }
    // Hidden axes get characters of the private use area, so that they can be treated like letters.
    let dots = |n: usize| (widest - n..widest).filter_map(|i| char::from_u32(0xE000 + i as u32)).collect::<String>();
    let terms: Vec<Vec<char>> =
        operands.iter().map(|(term, hidden)| term.replace("...", &dots(*hidden)).chars().collect()).collect();
    let result: Vec<char> = match right {
        Some(right) => right.replace("...", &dots(widest)).chars().collect(),
        None => {
            let all: Vec<char> = terms.concat();
            // Without an arrow, the result has the axes of the ellipsis, followed by all letters that occur once,
            // sorted.
            let mut once: Vec<char> = all
                .iter()
                .copied()
                .filter(|c| *c < '\u{E000}' && all.iter().filter(|d| *d == c).count() == 1)
                .collect();
            once.sort_unstable();
            dots(widest).chars().chain(once).collect()
        }
    };
    if (1..result.len()).any(|i| result[..i].contains(&result[i])) {
        return Err(Problem::unsupported(format!("the result of `{equation}` names an index twice")));
    }
    Ok((terms, result))
}

/// A value with an index for each of its axes.
#[derive(Clone, Debug)]
struct Term {
    value: Value,
    indices: Vec<char>,
}

impl Term {
    /// Puts the axes into the order of these indices, which are all of its own.
    fn ordered(self, ctx: &mut NodeLowering<'_>, order: &[char]) -> Result<Value, Problem> {
        let perm = order.iter().map(|c| self.indices.iter().position(|own| own == c)).collect::<Option<Vec<_>>>();
        let perm = perm.ok_or_else(|| Problem::unsupported("its result names an index of no operand"))?;
        transposed(ctx.lowering, &self.value, &perm)
    }

    /// Takes the diagonals of axes that have the same index.
    fn diagonal(mut self, ctx: &mut NodeLowering<'_>) -> Result<Self, Problem> {
        let repeated = |own: &[char]| {
            let second = (1..own.len()).find(|&i| own[..i].contains(&own[i]))?;
            Some((own.iter().position(|c| *c == own[second])?, second))
        };
        // Each iteration takes an axis away.
        while let Some((first, second)) = repeated(&self.indices) {
            let rank = self.indices.len();
            let rest: Vec<usize> = (0..rank).filter(|&axis| axis != first && axis != second).collect();
            let value = transposed(ctx.lowering, &self.value, &[&rest[..], &[first, second]].concat())?;
            let dims = value.dims().to_vec();
            let (outer, extent) = (&dims[..rank - 2], dims[rank - 1]);
            if dims[rank - 2] != extent {
                let index = self.indices[first];
                return Err(Problem::malformed(format!("the index {index} is of {} and {extent}", dims[rank - 2])));
            }
            let flat = reshaped(ctx.lowering, &value, &[outer, &[extent * extent]].concat())?;
            let stride = if extent > 1 { extent as isize + 1 } else { 1 };
            let range = AxisRange { begin: 0, stride, count: extent };
            let value = if extent > 1 { take(ctx, &flat, &[(rank - 2, range)])? } else { flat };
            let indices = rest.iter().chain([&first]).map(|&axis| self.indices[axis]).collect();
            self = Self { value, indices };
        }
        Ok(self)
    }

    /// Sums over all indices but these.
    fn summed(self, ctx: &mut NodeLowering<'_>, kept: impl Fn(char) -> bool) -> Result<Self, Problem> {
        let (stay, over): (Vec<usize>, Vec<usize>) =
            (0..self.indices.len()).partition(|&axis| kept(self.indices[axis]));
        if over.is_empty() {
            return Ok(self);
        }
        let x = ctx.compute(&self.value)?;
        let sum = reduced_over(ctx, &x, ReduceKind::Sum, &over)?;
        let dims: Vec<usize> = stay.iter().map(|&axis| x.dims[axis]).collect();
        let sum = Value::Computed(Computed { layout: sum.layout.tidy(&dims), dims, ..sum });
        Ok(Self { value: sum, indices: stay.iter().map(|&axis| self.indices[axis]).collect() })
    }

    /// Multiplies by another one, as matrices. Indices that are not kept are summed over.
    fn times(self, ctx: &mut NodeLowering<'_>, other: Self, kept: impl Fn(char) -> bool) -> Result<Self, Problem> {
        let a = self.clone().summed(ctx, |c| kept(c) || other.indices.contains(&c))?;
        let b = other.summed(ctx, |c| kept(c) || self.indices.contains(&c))?;
        let pick = |in_a: bool, in_b: bool, is_kept: bool| -> Vec<char> {
            let all = a.indices.iter().chain(b.indices.iter().filter(|c| !a.indices.contains(c)));
            let here = |c: &char| a.indices.contains(c) == in_a && b.indices.contains(c) == in_b && kept(*c) == is_kept;
            all.copied().filter(here).collect()
        };
        let (batch, rows, columns, summed) =
            (pick(true, true, true), pick(true, false, true), pick(false, true, true), pick(true, true, false));
        let a = a.ordered(ctx, &[batch.clone(), rows.clone(), summed.clone()].concat())?;
        let b = b.ordered(ctx, &[batch.clone(), summed.clone(), columns.clone()].concat())?;
        let (n, r, s) = (batch.len(), rows.len(), summed.len());
        let size = |list: &[usize]| list.iter().product::<usize>();
        let (a_dims, b_dims) = (a.dims().to_vec(), b.dims().to_vec());
        let matrix =
            |dims: &[usize], split: usize| [&dims[..n], &[size(&dims[n..split]), size(&dims[split..])]].concat();
        let a = reshaped(ctx.lowering, &a, &matrix(&a_dims, n + r))?;
        let b = reshaped(ctx.lowering, &b, &matrix(&b_dims, n + s))?;
        let outer = extents::broadcast(&[&a_dims[..n], &b_dims[..n]])?;
        let product = Value::Computed(matrices(ctx, &a, &b)?);
        let dims = [&outer[..], &a_dims[n..n + r], &b_dims[n + s..]].concat();
        let value = reshaped(ctx.lowering, &product, &dims)?;
        Ok(Self { value, indices: [batch, rows, columns].concat() })
    }
}

/// Multiplies the operands one after another, and sums over an index as soon as nothing further names it.
fn einsum(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let (terms, result) = indices(ctx)?;
    let mut product: Option<Term> = None;
    for (position, indices) in terms.iter().enumerate() {
        let term = Term { value: ctx.operand(position)?, indices: indices.clone() }.diagonal(ctx)?;
        let kept = |c: char| result.contains(&c) || terms[position + 1..].iter().any(|later| later.contains(&c));
        product = Some(match product {
            Some(product) => product.times(ctx, term, kept)?,
            None => term,
        });
    }
    let product = product.ok_or_else(|| Problem::malformed("it has no operands"))?;
    let product = product.summed(ctx, |c| result.contains(&c))?;
    let value = product.ordered(ctx, &result)?;
    ctx.give(0, value);
    Ok(())
}
