//! Lowers NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss, which look up the probability of each place's class.

use super::{
    align::placed_as,
    basic::{one, two},
    gather::picked_by,
    reduce::reduced_over,
    shapes::reshaped,
    softmax::normalised,
};
use crate::import::{
    error::Problem,
    onnx::{
        fold::math,
        layout::AtomLayout,
        node_lowering::NodeLowering,
        op_registry::{InputLayout::Any, OnnxOpEntry},
        value::{Computed, Value},
    },
    op_registry::Floats,
};
use texpool_ops::graph::{Binary, ElementType, GatherElements, Op, ReduceKind, Unary};

pub(super) const OPERATORS: &[OnnxOpEntry] = &[
    OnnxOpEntry::new("NegativeLogLikelihoodLoss", 12, Floats, "binary, gather, reduce, unary", Any, likelihood),
    OnnxOpEntry::new("SoftmaxCrossEntropyLoss", 12, Floats, "binary, gather, reduce, softmax, unary", Any, entropy),
];

fn likelihood(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let x = ctx.computed(0)?;
    loss(ctx, &x)
}

fn entropy(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let scores = ctx.computed(0)?;
    if scores.dims.len() < 2 {
        return Err(Problem::malformed(format!("its scores have the extents {:?}", scores.dims)));
    }
    let logarithms = normalised(ctx, &scores, &[1], true)?;
    ctx.give(1, Value::Computed(logarithms.clone()));
    loss(ctx, &logarithms)
}

/// Classes of all places, and their weights.
struct Labels {
    /// `[batch, 1, places]`.
    labels: Computed,
    /// True where a place does not count.
    ignored: Option<Value>,
    /// One for each place.
    weights: Option<Value>,
}

impl Labels {
    fn of(ctx: &mut NodeLowering<'_>, [batch, classes, places]: [usize; 3]) -> Result<Self, Problem> {
        let row = [batch, 1, places];
        let labels = Value::Computed(ctx.computed(1)?);
        let labels = reshaped(ctx.lowering, &labels, &row)?;
        let labels = ctx.compute(&labels)?;
        let value = Value::Computed(labels.clone());
        let ignored = match ctx.int("ignore_index")? {
            Some(index) => {
                Some(Value::Computed(two(ctx, Binary::Equal, &value, &math::scalar(index as f32), ElementType::Bool)?))
            }
            None => None,
        };
        let weights = match ctx.optional(2) {
            Some(weights) if weights.dims() == [classes] => {
                let own = picked_by(ctx, &weights, 0, &labels)?;
                let own = reshaped(ctx.lowering, &own, &row)?;
                Some(counted(ctx, &own, ignored.as_ref())?)
            }
            Some(weights) => {
                return Err(Problem::malformed(format!("weights of {:?} for {classes} classes", weights.dims())));
            }
            None => None,
        };
        Ok(Self { labels, ignored, weights })
    }

    /// Returns the weights that a mean divides by. `None` if each place counts as one.
    fn shares(&self, ctx: &mut NodeLowering<'_>, elem: ElementType) -> Result<Option<Computed>, Problem> {
        match (&self.weights, &self.ignored) {
            (Some(weights), _) => ctx.compute(weights).map(Some),
            (None, Some(ignored)) => {
                let ignored = ctx.compute(ignored)?;
                one(ctx, Unary::Not, &ignored, elem).map(Some)
            }
            (None, None) => Ok(None),
        }
    }
}

/// Replaces the values of ignored places by zeros.
fn counted(ctx: &mut NodeLowering<'_>, values: &Value, ignored: Option<&Value>) -> Result<Value, Problem> {
    match ignored {
        Some(ignored) => two(ctx, Binary::ZeroIf, ignored, values, values.element_type()).map(Value::Computed),
        None => Ok(values.clone()),
    }
}

/// Looks up the values of classes, `[batch, classes, places]`, by a class for each place.
fn of_class(ctx: &mut NodeLowering<'_>, x: &Value, labels: &Computed) -> Result<Value, Problem> {
    let axes = [vec![], vec![0], vec![2], vec![1]];
    let table = placed_as(ctx.lowering, x, &AtomLayout::of(x.dims(), &axes))?;
    let layout = AtomLayout::of(&labels.dims, &axes);
    let row = placed_as(ctx.lowering, &Value::Computed(labels.clone()), &layout)?;
    let tensor = ctx.emit(Op::GatherElements(GatherElements { axis: 3 }), &[table, row], layout.shape())?;
    let layout = layout.tidy(&labels.dims);
    Ok(Value::Computed(Computed { tensor, dims: labels.dims.clone(), layout, elem: x.element_type() }))
}

/// Sets the loss of logarithms of probabilities.
fn loss(ctx: &mut NodeLowering<'_>, x: &Computed) -> Result<(), Problem> {
    let target = ctx.operand(1)?.dims().to_vec();
    let (batch, classes, places) = match (x.dims.as_slice(), target.as_slice()) {
        (&[batch, classes, ref rest @ ..], &[also, ref own @ ..]) if also == batch && own == rest => {
            (batch, classes, rest.iter().product())
        }
        _ => return Err(Problem::malformed(format!("classes of {target:?} for values of {:?}", x.dims))),
    };
    let labels = Labels::of(ctx, [batch, classes, places])?;
    let flat = reshaped(ctx.lowering, &Value::Computed(x.clone()), &[batch, classes, places])?;
    let mut own = of_class(ctx, &flat, &labels.labels)?;
    if let Some(weights) = &labels.weights {
        own = Value::Computed(two(ctx, Binary::Mul, &own, weights, x.elem)?);
    }
    let own = counted(ctx, &own, labels.ignored.as_ref())?;
    let own = ctx.compute(&own)?;
    let losses = one(ctx, Unary::Neg, &own, x.elem)?;
    let all = [0, 1, 2];
    let result = match ctx.text("reduction", "mean")?.as_str() {
        "none" => reshaped(ctx.lowering, &Value::Computed(losses), &target)?,
        "sum" => {
            let sum = Value::Computed(reduced_over(ctx, &losses, ReduceKind::Sum, &all)?);
            reshaped(ctx.lowering, &sum, &[])?
        }
        "mean" => {
            let mean = match labels.shares(ctx, x.elem)? {
                Some(shares) => {
                    let sum = Value::Computed(reduced_over(ctx, &losses, ReduceKind::Sum, &all)?);
                    let shares = Value::Computed(reduced_over(ctx, &shares, ReduceKind::Sum, &all)?);
                    two(ctx, Binary::Div, &sum, &shares, x.elem)?
                }
                None => reduced_over(ctx, &losses, ReduceKind::Mean, &all)?,
            };
            reshaped(ctx.lowering, &Value::Computed(mean), &[])?
        }
        other => return Err(Problem::malformed(format!("its reduction is `{other}`"))),
    };
    ctx.give(0, result);
    Ok(())
}
