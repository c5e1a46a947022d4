//! Lowers `Loop` and `Scan` by repeating their bodies. The most iterations that there can be must be known on import: they
//! follow from a count, from a condition that each iteration computes from known values, or from the extent that a `Scan`
//! reads. Their end may be decided in a run (`loop_end.rs`).

use super::{
    basic::{is_true, two},
    concat::joined,
    loop_end::{self, Decider, LoopEnd},
    shapes::reshaped,
    slice::take,
};
use crate::import::{
    common::axes::{AxisRange, axis},
    error::Problem,
    onnx::{
        array::Array,
        graph_lowering::Shared,
        node_lowering::NodeLowering,
        op_registry::{InputLayout::Any, OnnxOpEntry},
        passed::Passed,
        value::{Computed, Value},
    },
    op_registry::All,
};
use texpool_ops::graph::{Binary, ElementType};

const BODY: &str = "body";

pub(super) const OPERATORS: &[OnnxOpEntry] = &[
    OnnxOpEntry::new("Loop", 1, All, "none", Any, |c| sharing(c, repeat)).limits(
        "its body is repeated, so its count, or the condition of each iteration, must be known on import, or at most \
             1024 iterations may be needed",
    ),
    OnnxOpEntry::new("Scan", 9, All, "none", Any, |c| sharing(c, scan))
        .limits("its body is repeated for each element of the axis"),
];

/// Values of the iterations so far.
struct Iterations {
    /// Values that each iteration passes on to the next one.
    carried: Vec<Value>,
    /// For each result that collects a value of every iteration, these values.
    collected: Vec<Vec<Value>>,
}

impl Iterations {
    /// Starts with the values of the operands from `first` up to `end`.
    fn new(ctx: &NodeLowering<'_>, first: usize, end: usize) -> Result<Self, Problem> {
        let carried = (first..end).map(|position| ctx.operand(position)).collect::<Result<Vec<_>, _>>()?;
        let Some(collected) = ctx.results.len().checked_sub(carried.len()) else {
            let (count, results) = (carried.len(), ctx.results.len());
            return Err(Problem::malformed(format!("it passes on {count} values, and has {results} results")));
        };
        Ok(Self { carried, collected: vec![Vec::new(); collected] })
    }

    /// Lowers the body once. Its operands are `before`, the carried values, and `after`; its results are `skipped` ones,
    /// which are returned, the carried values, and the collected ones. Returns `None` if a result depends on a node that
    /// was refused.
    fn next(
        &mut self,
        ctx: &mut NodeLowering<'_>,
        before: &[Value],
        after: &[Value],
        skipped: usize,
    ) -> Result<Option<Vec<Value>>, Problem> {
        let operands = [before, &self.carried, after].concat();
        let results = ctx.body(BODY, &operands)?;
        let (count, expected) = (results.len(), skipped + self.carried.len() + self.collected.len());
        if count != expected {
            let problem = Problem::malformed(format!("it has {count} results instead of {expected}"));
            return Err(problem.of_branch(BODY, &ctx.node.operator()));
        }
        let Some(mut results) = results.into_iter().collect::<Option<Vec<Value>>>() else { return Ok(None) };
        let collected = results.split_off(skipped + self.carried.len());
        self.carried = results.split_off(skipped);
        for (values, value) in self.collected.iter_mut().zip(collected) {
            ctx.meter().memory(value.known().map_or(0, Array::bytes))?;
            values.push(value);
        }
        Ok(Some(results))
    }

    /// Sets the results of the node. Collected values are joined along new axes, one for each of the results, in
    /// reverse if so given.
    fn finish(self, ctx: &mut NodeLowering<'_>, axes: &[CollectedAxis]) -> Result<(), Problem> {
        let states = self.carried.len();
        let charged: usize = self.collected.iter().flatten().filter_map(Value::known).map(Array::bytes).sum();
        for (position, value) in self.carried.into_iter().enumerate() {
            ctx.give(position, value);
        }
        for (position, (mut values, &CollectedAxis { axis: number, reversed })) in
            (states..).zip(self.collected.into_iter().zip(axes))
        {
            if !ctx.wants(position) {
                continue;
            }
            let Some(first) = values.first() else {
                let name = &ctx.node.outputs[position];
                let reason = format!("it has no iterations, so the extents of its result `{name}` are unknown");
                return Err(Problem::unsupported(reason));
            };
            let along = axis(number, first.dims().len() + 1)?;
            if reversed {
                values.reverse();
            }
            let mut parts = Vec::with_capacity(values.len());
            for value in &values {
                let mut dims = value.dims().to_vec();
                dims.insert(along, 1);
                parts.push(reshaped(ctx.lowering, value, &dims)?);
            }
            let result = joined(ctx, &parts, along)?;
            ctx.give(position, result);
        }
        ctx.meter().free(charged);
        Ok(())
    }
}

/// Where the values of iterations are joined.
#[derive(Clone, Copy, Debug)]
struct CollectedAxis {
    axis: i64,
    reversed: bool,
}

/// Lowers a loop, whose iterations share constants. A loop within another one shares those of the outer one.
fn sharing(ctx: &mut NodeLowering<'_>, lower: fn(&mut NodeLowering<'_>) -> Result<(), Problem>) -> Result<(), Problem> {
    if ctx.lowering.is_in_loop() {
        return lower(ctx);
    }
    ctx.lowering.share(Some(Shared::default()));
    let outcome = lower(ctx);
    ctx.lowering.share(None);
    outcome
}

/// Returns the most iterations that a loop can have, and their count if a run computes it.
fn count_of(ctx: &mut NodeLowering<'_>) -> Result<(i64, Option<Value>), Problem> {
    let count = match ctx.optional(0) {
        None => return Ok((i64::MAX, None)),
        Some(Value::Known(_)) => return Ok((ctx.integer(0, "count of iterations")?.max(0), None)),
        Some(Value::Computed(count)) => count,
    };
    if count.elem.is_float() || count.dims.iter().product::<usize>() != 1 {
        let Computed { elem, dims, .. } = count;
        return Err(Problem::malformed(format!("its count of iterations is {elem} {dims:?}, not a single integer")));
    }
    let most = match ctx.sizes.first().map(Vec::as_slice) {
        Some([Some(size)]) => i64::try_from(size.bound).ok(),
        _ => loop_end::most(ctx.lowering, &count)?,
    };
    let count = reshaped(ctx.lowering, &Value::Computed(count), &[])?;
    Ok((most.unwrap_or(i64::MAX), Some(count)))
}

fn repeat(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    let (most, count) = count_of(ctx)?;
    let truth = Value::Known(Array::of_ints(Vec::new(), ElementType::Bool, vec![1]));
    let mut condition = ctx.optional(1).unwrap_or_else(|| truth.clone());
    let operands = ctx.count().max(2);
    let mut iterations = Iterations::new(ctx, 2, operands)?;
    let mut end = LoopEnd::new(ctx, &iterations.carried);
    let first_node = ctx.lowering.graph.nodes.len();
    for number in 0..most {
        let counter = Value::Known(Array::of_ints(Vec::new(), ElementType::I64, vec![number]));
        match &condition {
            Value::Known(array) if !is_true(array) => break,
            Value::Known(_) => {}
            Value::Computed(flag) => end.only_if(ctx, flag, Decider::Condition)?,
        }
        if let Some(count) = &count {
            let flag = two(ctx, Binary::Less, &counter, count, ElementType::Bool)?;
            end.only_if(ctx, &flag, Decider::Count)?;
        }
        end.check(ctx, number, first_node)?;
        let Some(results) = iterations.next(ctx, &[counter, truth.clone()], &[], 1)? else {
            ctx.is_open = true;
            return Ok(());
        };
        end.after(ctx, &iterations.carried)?;
        condition = results.into_iter().next().unwrap_or_else(|| truth.clone());
    }
    iterations.carried = end.values(iterations.carried);
    let collects = (iterations.carried.len()..ctx.results.len()).any(|position| ctx.wants(position));
    if collects && let Some(axis) = end.axis(ctx)? {
        let states = iterations.carried.iter().map(|_| (Vec::new(), Vec::new()));
        let collected = iterations.collected.iter().map(|_| (vec![axis.clone()], Vec::new()));
        ctx.of_bodies.push(Passed::of_body(states.chain(collected).collect()));
    }
    let axes = vec![CollectedAxis { axis: 0, reversed: false }; iterations.collected.len()];
    iterations.finish(ctx, &axes)
}

/// Returns a list with an integer for each of several values. Zeros if the file states none.
fn each(ctx: &NodeLowering<'_>, name: &str, count: usize) -> Result<Vec<i64>, Problem> {
    let list = ctx.ints(name).filter(|list| !list.is_empty()).unwrap_or_else(|| vec![0; count]);
    match list.len() == count {
        true => Ok(list),
        false => Err(Problem::malformed(format!("its {name} are {list:?}, for {count} values"))),
    }
}

fn scan(ctx: &mut NodeLowering<'_>) -> Result<(), Problem> {
    if ctx.opset < 9 {
        return Err(Problem::unsupported("its operands are batches, as in operator set 8"));
    }
    let inputs = ctx.size("num_scan_inputs", 0)?;
    let Some(states) = ctx.count().checked_sub(inputs).filter(|_| inputs > 0) else {
        let operands = ctx.count();
        return Err(Problem::malformed(format!("it reads {inputs} values by elements, of {operands} operands")));
    };
    let (axes, directions) = (each(ctx, "scan_input_axes", inputs)?, each(ctx, "scan_input_directions", inputs)?);
    let mut sequences = Vec::with_capacity(inputs);
    for (position, number) in (states..).zip(axes) {
        let value = ctx.operand(position)?;
        let along = axis(number, value.dims().len())?;
        sequences.push((value, along));
    }
    let length = sequences.first().map_or(0, |(value, along)| value.dims()[*along]);
    if let Some((value, _)) = sequences.iter().find(|(value, along)| value.dims()[*along] != length) {
        return Err(Problem::malformed(format!("it reads {length} elements of one operand and {:?}", value.dims())));
    }
    let mut iterations = Iterations::new(ctx, 0, states)?;
    let collected = iterations.collected.len();
    for step in 0..length {
        let mut elements = Vec::with_capacity(inputs);
        for ((value, along), &direction) in sequences.iter().zip(&directions) {
            let at = if direction == 0 { step } else { length - 1 - step };
            let element = take(ctx, value, &[(*along, AxisRange::run(at, 1))])?;
            let mut dims = element.dims().to_vec();
            dims.remove(*along);
            elements.push(reshaped(ctx.lowering, &element, &dims)?);
        }
        if iterations.next(ctx, &[], &elements, 0)?.is_none() {
            ctx.is_open = true;
            return Ok(());
        }
    }
    let (axes, directions) =
        (each(ctx, "scan_output_axes", collected)?, each(ctx, "scan_output_directions", collected)?);
    let axes = axes.into_iter().zip(directions);
    let axes: Vec<_> = axes.map(|(axis, direction)| CollectedAxis { axis, reversed: direction != 0 }).collect();
    iterations.finish(ctx, &axes)
}
