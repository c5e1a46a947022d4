//! Loops whose end is decided in a run. The body is repeated as often as any run may need, because iterations have no
//! effect but their results. Each result is the value after the last iteration before the end.
//!
//! Iterations behind the end go on with the values of the one before, as if the loop had not ended. So counters stay
//! known, and comparing them still ends the repetition on import.

use super::{basic::two, branch::chosen, shapes::reshaped};
use crate::import::{
    common::loops,
    error::Problem,
    onnx::{
        array::Array,
        graph_lowering::GraphLowering,
        layout::AtomLayout,
        node_lowering::NodeLowering,
        value::{BoundedAxis, Computed, Size, Value},
    },
};
use texpool_ops::graph::{Binary, ElementType, NodeId, Op, TensorId, Unary};

/// The operand of a loop that decides about its end in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decider {
    Condition,
    Count,
}

/// The part of a loop's end that the import knows, and the values with which a run decides the rest.
#[derive(Debug, Default)]
pub(super) struct LoopEnd {
    /// Number of iterations before the end of every run.
    certain: usize,
    /// For each iteration behind those, a truth value that a run computes: true before the end.
    is_before_end: Vec<Computed>,
    /// The operand that was the first to decide, and its tensor.
    decided_by: Option<(Decider, TensorId)>,
    /// Truth value of the current iteration, if a run computes it.
    flag: Option<Computed>,
    /// Values after the last iteration before the end. `None` for those that nothing reads.
    last: Vec<Option<Value>>,
}

impl LoopEnd {
    /// Starts with the values before the first iteration.
    pub(super) fn new(ctx: &NodeLowering<'_>, carried: &[Value]) -> Self {
        let last = carried.iter().enumerate().map(|(position, value)| ctx.wants(position).then(|| value.clone()));
        Self { last: last.collect(), ..Self::default() }
    }

    /// Ends the loop in runs in which a flag does not hold.
    pub(super) fn only_if(
        &mut self,
        ctx: &mut NodeLowering<'_>,
        flag: &Computed,
        decider: Decider,
    ) -> Result<(), Problem> {
        if flag.elem != ElementType::Bool || flag.dims.iter().product::<usize>() != 1 {
            let (elem, dims) = (flag.elem, &flag.dims);
            return Err(Problem::malformed(format!("its condition is {elem} {dims:?}, not a single truth value")));
        }
        let flag = reshaped(ctx.lowering, &Value::Computed(flag.clone()), &[])?;
        let flag = match &self.flag {
            Some(before) => two(ctx, Binary::And, &Value::Computed(before.clone()), &flag, ElementType::Bool)?,
            None => ctx.compute(&flag)?,
        };
        self.decided_by.get_or_insert((decider, flag.tensor));
        self.flag = Some(flag);
        Ok(())
    }

    /// Fails if a run would have to decide about too many iterations.
    pub(super) fn check(&self, ctx: &mut NodeLowering<'_>, number: i64, first_node: usize) -> Result<(), Problem> {
        let Some((decider, tensor)) = self.decided_by else { return Ok(()) };
        let nodes = ctx.lowering.graph.nodes.len() - first_node;
        if !loops::is_too_long(number, nodes) {
            return Ok(());
        }
        let what = match decider {
            Decider::Condition => "condition",
            Decider::Count => "count of iterations",
        };
        let sources = ctx.lowering.source_names(tensor)?;
        let reason = loops::too_long(&format!("its {what} is computed from {sources} in a run"), number, nodes);
        let hint = "bind what it is computed from to values, or export the model with few iterations at most";
        Err(Problem::new(reason, hint).decided_by(ctx.lowering.deciding_inputs(tensor)?))
    }

    /// Ends an iteration with the values that it passes on.
    pub(super) fn after(&mut self, ctx: &mut NodeLowering<'_>, carried: &[Value]) -> Result<(), Problem> {
        match &self.flag {
            Some(flag) => self.is_before_end.push(flag.clone()),
            None => self.certain += 1,
        }
        for (position, value) in carried.iter().enumerate() {
            let Some(Some(last)) = self.last.get(position) else { continue };
            let value = match &self.flag {
                Some(flag) => {
                    alike(ctx, position, [last, value])?;
                    chosen(ctx, flag, [value.clone(), last.clone()])?
                }
                None => value.clone(),
            };
            self.last[position] = Some(value);
        }
        Ok(())
    }

    /// Returns the values after the last iteration before the end, in place of those after all iterations.
    pub(super) fn values(&self, carried: Vec<Value>) -> Vec<Value> {
        let last = self.last.iter().cloned().chain(std::iter::repeat(None));
        carried.into_iter().zip(last).map(|(value, last)| last.unwrap_or(value)).collect()
    }

    /// Returns the axis along which values of all iterations are collected. A run has those before its end. `None` if
    /// that is all of them in every run.
    pub(super) fn axis(&self, ctx: &mut NodeLowering<'_>) -> Result<Option<BoundedAxis>, Problem> {
        if self.is_before_end.is_empty() {
            return Ok(None);
        }
        if ctx.is_nested {
            let reason = "a result collects values of iterations whose number a run decides, inside a body or function";
            return Err(Problem::unsupported(reason));
        }
        let certain = Array::of_ints(Vec::new(), ElementType::I64, vec![self.certain as i64]);
        let mut count = Value::Known(certain);
        for flag in &self.is_before_end {
            let flag = Value::Computed(flag.clone());
            count = Value::Computed(two(ctx, Binary::Add, &count, &flag, ElementType::I64)?);
        }
        let Computed { tensor, .. } = ctx.compute(&count)?;
        let (dims, layout, elem) = (vec![1], AtomLayout::natural(&[1]), ElementType::I64);
        let (least, bound) = (self.certain, self.certain + self.is_before_end.len());
        let count = Computed { tensor, dims, layout, elem };
        Ok(Some(BoundedAxis { axis: 0, size: Size { count, least, bound } }))
    }
}

/// Fails if the values before and after an iteration have other extents or types.
fn alike(ctx: &NodeLowering<'_>, position: usize, [last, value]: [&Value; 2]) -> Result<(), Problem> {
    if (last.dims(), last.element_type()) == (value.dims(), value.element_type()) {
        return Ok(());
    }
    let facts = |value: &Value| format!("{} {:?}", value.element_type(), value.dims());
    let (name, [before, after]) = (&ctx.node.outputs[position], [last, value].map(facts));
    let reason = format!(
        "its result `{name}` is {before} before an iteration and {after} after it, and a run decides how many there are"
    );
    Err(Problem::new(reason, "export the model with a value of the same extents in each iteration"))
}

/// Returns the most that a number can be, if the nodes that compute it state that.
pub(super) fn most(lowering: &mut GraphLowering, number: &Computed) -> Result<Option<i64>, Problem> {
    let graph = &lowering.graph;
    lowering.meter.work(graph.nodes.len())?;
    let mut tensor = number.tensor;
    // Each round looks at earlier nodes.
    for index in (0..graph.nodes.len()).rev() {
        let node = &graph.nodes[NodeId::new(index)];
        if node.output != tensor {
            continue;
        }
        let constant = |id: &TensorId| graph.tensors[*id].constant.as_ref().map(|constant| constant.to_f32());
        match &node.op {
            Op::Reshape | Op::Unary(Unary::Trunc) => tensor = node.inputs[0],
            Op::Unary(Unary::Clip { max, .. }) => return Ok(Some(*max as i64)),
            Op::Binary(Binary::Minimum) => {
                let constants = node.inputs.iter().filter_map(constant);
                let most = constants.map(|values| values.iter().copied().fold(f32::NEG_INFINITY, f32::max));
                return Ok(most.reduce(f32::min).map(|most| most as i64));
            }
            _ => return Ok(None),
        }
    }
    Ok(None)
}
