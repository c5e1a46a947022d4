//! The line about memory: how a smaller plan compares with the plain one. Its time is predicted, or measured on request,
//! because a measurement takes the device memory of both plans at the same time.

use super::{
    args::{ModelArgs, PlanSetting, Search},
    error::CliError,
    in_turns::{self, TimedSession},
    setup_model,
};
use crate::report::{rounded, size};
use serde::Serialize;
use std::time::Duration;
use texpool_cache::CachedPlan;
use texpool_compile::{CompileOptions, CompiledModel, Objective};
use texpool_gpu::{Executor, ExecutorOptions, Gpu};
use texpool_ops::graph::{Graph, InputValues};

/// Plans that are looked up, the smallest budget last.
const BUDGETS: [(&str, u64); 3] = [("8MiB", 8 << 20), ("4MiB", 4 << 20), ("2MiB", 2 << 20)];

/// Duration of a measurement.
const TIME: Duration = Duration::from_secs(1);

/// A plan that takes less memory than the plain one.
#[derive(Serialize)]
pub(super) struct Smaller {
    /// True if the runs had this plan; otherwise they had the plain plan, and `flags` selects this one.
    used: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    flags: Option<String>,
    device_bytes: u64,
    pool_bytes: u64,
    plain_pool_bytes: u64,
    /// Time divided by that of the plain plan.
    time_ratio: f64,
    /// False if the ratio is predicted.
    measured: bool,
    /// True if both plans gave the same results. `None` unless both ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    same_bits: Option<bool>,
    /// The options of the plan that the runs did not have.
    #[serde(skip)]
    other: CompileOptions,
}

impl Smaller {
    /// Returns the plan of the runs if it is smaller than the plain one, or else the plan for the smallest budget that an
    /// earlier call found and kept. Its time is predicted. `is_saved` says that the plan is that of a file, whose precision
    /// kept plans may not have.
    pub(super) fn find(
        args: &ModelArgs,
        is_saved: bool,
        (graph, gpu): (&Graph, &Gpu),
        compiled: &CompiledModel,
    ) -> Option<Self> {
        if compiled.tiled().is_some() {
            return Some(Self::new(compiled, compiled, None, args.plain_options()));
        }
        if is_saved || compiled.objective() != Objective::Fastest {
            return None;
        }
        let (budget, options, smaller) = smaller_cached(args, graph, gpu, compiled)?;
        Some(Self::new(&smaller, compiled, Some(format!("--budget {budget}")), options))
    }

    /// Compares a plan with the plain one; only a plan of whole tensors is compared with `plain` itself.
    fn new(smaller: &CompiledModel, plain: &CompiledModel, flags: Option<String>, other: CompileOptions) -> Self {
        let (plain_pool_bytes, smaller_us, plain_us) = match smaller.tiled() {
            Some(tiled) => (tiled.baseline_bytes, tiled.predicted_us, tiled.baseline_us),
            None => {
                let us = |plan: &CompiledModel| plan.predicted_us(&other.device_profile);
                (plain.plan().bytes(), us(smaller), us(plain))
            }
        };
        let time_ratio = smaller_us / plain_us.max(f64::MIN_POSITIVE);
        Self {
            used: flags.is_none(),
            flags,
            device_bytes: smaller.device_bytes(),
            pool_bytes: smaller.plan().bytes(),
            plain_pool_bytes,
            time_ratio,
            measured: false,
            same_bits: None,
            other,
        }
    }

    /// Replaces the predicted ratio by that of runs of both plans in turns. `session` has the plan of the runs, and `options`
    /// are its options.
    pub(super) fn measured(
        self,
        (session, options): (Executor, &ExecutorOptions),
        (graph, gpu, search): (&Graph, &Gpu, &Search),
        inputs: &[(Vec<usize>, Vec<f32>)],
    ) -> Result<Self, CliError> {
        let inputs: Vec<_> = inputs.iter().map(|(dims, values)| InputValues::new(values, dims)).collect();
        let options = ExecutorOptions { compile: self.other.clone(), ..options.clone() };
        let (other, _) = setup_model::session(gpu, graph, &options, search)?;
        let mut timed = [TimedSession::new(session, &inputs)?, TimedSession::new(other, &inputs)?];
        in_turns::run(&mut timed, &inputs, TIME)?;
        let [mine, other] = &timed;
        let (smaller, plain) = if self.used { (mine, other) } else { (other, mine) };
        let (time_ratio, same_bits) =
            (in_turns::ratio(&smaller.times.wall, &plain.times.wall), smaller.has_bits_of(plain));
        Ok(Self { time_ratio, measured: true, same_bits: Some(same_bits), ..self })
    }

    fn line(&self) -> String {
        let (about, how) = if self.measured { ("", "measured") } else { ("about ", "predicted; --measure runs both") };
        let time = format!("{about}{}× the time ({how})", rounded(self.time_ratio, 2));
        let bits = if self.same_bits == Some(false) { "OTHER BITS" } else { "the same bits" };
        let [pool, plain] = [self.pool_bytes, self.plain_pool_bytes].map(size);
        let share = 100.0 * self.pool_bytes as f64 / self.plain_pool_bytes.max(1) as f64;
        match &self.flags {
            Some(flags) => format!("Less: {flags} takes {} at most, {time}, {bits}.", size(self.device_bytes)),
            None => {
                format!("In stripes of rows: pool {pool} of the plain plan's {plain} ({share:.0} %), {time}, {bits}.")
            }
        }
    }
}

/// Requests of the user that decide the text if no smaller plan is known.
pub(super) struct LessRequest {
    /// A smaller plan.
    pub(super) smaller: bool,
    /// A measurement of it.
    pub(super) measured: bool,
}

/// Returns the line. `model` is what the user calls the model.
pub(super) fn line(smaller: Option<&Smaller>, model: &str, request: &LessRequest) -> String {
    match smaller {
        Some(smaller) => smaller.line(),
        None if request.smaller => {
            format!("Less: no smaller plan was chosen; `texpool plan {model}` shows the plans there are.")
        }
        None if request.measured => {
            format!("Less: no smaller plan is kept, so none was measured; `texpool plan {model}` finds some.")
        }
        None => {
            format!("Less: `texpool plan {model}` shows smaller plans; --budget SIZE keeps to one, with the same bits.")
        }
    }
}

/// Returns the plan for the smallest budget that an earlier call found and kept, with the budget and the options.
fn smaller_cached(
    args: &ModelArgs,
    graph: &Graph,
    gpu: &Gpu,
    compiled: &CompiledModel,
) -> Option<(&'static str, CompileOptions, CompiledModel)> {
    let folder = args.search().plans()?;
    let setting = |name: &str, bytes| PlanSetting { name: name.to_owned(), objective: Objective::Device(bytes) };
    // Options for different budgets differ in the budget alone, so the profile of the device is read once.
    let first = BUDGETS.first().map(|&(name, bytes)| args.options_for(&setting(name, bytes)))?;
    let first = setup_model::options_for(gpu, first).ok()?;
    BUDGETS.into_iter().rev().find_map(|(name, bytes)| {
        let options = CompileOptions { objective: Objective::Device(bytes), ..first.clone() };
        let smaller = CachedPlan::new(&folder, graph, &options)?.find(graph, &options)?;
        (smaller.device_bytes() < compiled.device_bytes()).then_some((name, options, smaller))
    })
}
