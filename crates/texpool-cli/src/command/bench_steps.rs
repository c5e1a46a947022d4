//! Times and work of the steps of a session.

use super::{
    error::CliError,
    stats::Spread,
    timed_work::{MIN_RUNS, for_time},
    timeline,
};
use crate::report::{MemoryReport, StepTime};
use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};
use texpool::WeightFormat;
use texpool_compile::CompiledModel;
use texpool_gpu::{DispatchTime, Executor};
use texpool_ops::{
    graph::{Graph, Node, NodeId},
    ops,
};

/// Measures every dispatch, run after run; empty if the device has no timestamps. The timeline gets the last run.
pub(super) fn profile(session: &mut Executor, time: Duration) -> Result<Vec<Vec<DispatchTime>>, CliError> {
    let mut profiles = Vec::new();
    let mut ended = Instant::now();
    for_time("measuring steps", time, MIN_RUNS, || {
        let times = tracing::debug_span!("profiled run").in_scope(|| session.profile())?;
        ended = Instant::now();
        let timed = times.is_some();
        profiles.extend(times);
        Ok(timed)
    })?;
    if let Some(last) = profiles.last().filter(|_| timeline::is_on()) {
        let rows = MemoryReport::from_compiled(session.compiled()).rows;
        timeline::add_dispatches(last, ended, |step| rows.get(step).map(|row| (&*row.operator, &*row.writes)));
    }
    Ok(profiles)
}

/// Lists the operators in the order of their first steps. With stripes of rows, each has a step per stripe.
pub(super) fn steps(session: &Executor, profiles: &[Vec<DispatchTime>]) -> Vec<StepTime> {
    let compiled = session.compiled();
    let rows = MemoryReport::from_compiled(compiled).rows;
    let mut step_times: Vec<StepTime> = Vec::new();
    let mut of_node: BTreeMap<NodeId, usize> = BTreeMap::new();
    // A table instead of a search, because a plan with stripes has tens of thousands of steps, and every run has a time
    // for each dispatch.
    let mut of_step = Vec::with_capacity(rows.len());
    for ((number, row), step) in rows.into_iter().enumerate().zip(&compiled.schedule().steps) {
        // Transfers are not dispatches.
        if step.kind.is_transfer() {
            of_step.push(None);
            continue;
        }
        let at = *of_node.entry(step.node).or_insert_with(|| {
            step_times.push(without_time(compiled, step.node, number, (row.operator, row.writes)));
            step_times.len() - 1
        });
        step_times[at].stripes += 1;
        of_step.push(Some(at));
    }
    let mut times = vec![vec![0.0; profiles.len()]; step_times.len()];
    for (run, dispatches) in profiles.iter().enumerate() {
        for time in dispatches {
            // Dispatches that write poison have no step.
            let Some(at) = time.step.and_then(|step| of_step.get(step).copied().flatten()) else { continue };
            times[at][run] += time.ms;
            if !step_times[at].kernels.contains(&time.kernel) {
                step_times[at].kernels.push(time.kernel);
            }
        }
    }
    // Empty if the device has no timestamps.
    for (step, times) in step_times.iter_mut().zip(times).filter(|(_, times)| !times.is_empty()) {
        let spread = Spread::of(&times);
        (step.gpu_ms, step.gpu_ms_p10, step.gpu_ms_p90) = (Some(spread.median), Some(spread.p10), Some(spread.p90));
    }
    step_times
}

/// Parses the number of steps to print, or `all`.
pub(super) fn top(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("0 steps are no table; write a number from 1 on, or `all`".to_owned()),
        Ok(number) => Ok(number),
        Err(_) if text == "all" => Ok(usize::MAX),
        Err(_) => Err(format!("`{text}` is no number of steps; write a number such as 10, or `all`")),
    }
}

fn without_time(compiled: &CompiledModel, id: NodeId, step: usize, (operator, tensor): (String, String)) -> StepTime {
    let graph = compiled.graph();
    let node = &graph.nodes[id];
    let flops = ops::work(graph, node).flops;
    StepTime {
        step,
        stripes: 0,
        operator,
        tensor,
        shape: graph.tensors[node.output].dims.clone(),
        kernels: Vec::new(),
        flops: (flops > 0.0).then_some(flops),
        bytes: bytes(compiled, graph, node),
        written_bytes: graph.tensors[node.output].texels() * compiled.format().texel_bytes(),
        gpu_ms: None,
        gpu_ms_p10: None,
        gpu_ms_p90: None,
        share: None,
        gflop_per_s: None,
        gb_per_s: None,
        roofline: None,
    }
}

/// Returns the bytes of operands, weights and result. `None` if the node has weights whose format each node of the file
/// decides.
fn bytes(compiled: &CompiledModel, graph: &Graph, node: &Node) -> Option<u64> {
    let texel_bytes = compiled.format().texel_bytes();
    let computed = node.inputs.iter().chain(&node.epilogue.add).filter(|&&tensor| !graph.is_constant(tensor));
    let tensors = computed.chain([&node.output]);
    let moved: u64 = tensors.map(|&tensor| graph.tensors[tensor].texels() * texel_bytes).sum();
    let weights = ops::weight_texels(graph, node);
    // A texel has four values.
    let weight_texel_bytes = match compiled.weight_format() {
        _ if weights == 0 => Some(0),
        WeightFormat::F32 => Some(texel_bytes),
        WeightFormat::F16 => Some(8),
        WeightFormat::Int8 => Some(4),
        _ => None,
    };
    Some(moved + weights * weight_texel_bytes?)
}
