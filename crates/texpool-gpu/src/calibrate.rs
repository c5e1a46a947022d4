//! Measures the profile of a device. For each class of operators, it times chains of that operator. A long chain of
//! different pipelines gives the cost of a dispatch.
//!
//! The time of a chain is the cost of its dispatches plus the cost of its work. Costs that are already known are
//! subtracted, so a chain may contain operators of classes that were measured before it.
//!
//! The constants below were chosen by judgement; each comment says which problem the value avoids.

mod probes;
mod uploads;

use std::{ops::ControlFlow, time::Duration};

use self::probes::{PROBES, Probe};
use super::{Executor, ExecutorOptions, Gpu, GpuError, Wait, wait::now};
use texpool_compile::{BlockChoice, Clock, CompileOptions, DeviceProfile, Rate, WeightStorage};
use texpool_model::rewrite::Rules;
use texpool_ops::{
    graph::{Blocks, BuildError, Graph, GraphBuilder, NodeId, TensorId, Unary},
    ops::{CostClass, Work, work},
};
use texpool_plan::TexelFormat;

/// Operators per chain: several, so that the cost of submission and waiting matters little.
const CHAIN_LENGTH: usize = 6;
/// Number of runs of a chain. The fastest counts, because other load on the machine can only add time.
const RUNS: usize = 12;
/// Number of dispatches in the chain that measures the cost of a dispatch. It is long because lavapipe's threads
/// sleep between dispatches and waking them is most of the cost. In the fastest run of a short chain no thread had
/// slept, so it gave 15 us where a network paid 35.
const DISPATCH_CHAIN_LENGTH: usize = 768;
/// Number of runs of that chain. The median counts, for the same reason.
const DISPATCH_CHAIN_RUNS: usize = 33;
/// Minimum ratio of work time to dispatch time. Height and width of a chain are doubled until it reaches this ratio,
/// because smaller signals would be lost in the variance of the dispatch time.
const MIN_SIGNAL: f64 = 3.0;
/// Upper limit on the factor for height and width, so that the chain does not grow without bound on a fast device.
const MAX_EDGE_FACTOR: usize = 16;

/// A clock with a function that reads it.
pub struct Stopwatch<'a> {
    /// Identifies the clock.
    pub clock: Clock,
    /// Reads the current time.
    pub read: &'a dyn Fn() -> Duration,
}

/// Measures the costs of a device for texels of `format` and kernels that compute `blocks`, in the time of the given
/// clock. A pool of bytes gets the figures of 32-bit floats. `progress` gets the number of finished parts and the total, and
/// returns whether to continue.
///
/// # Errors
/// Errors of the device; [`GpuError::Cancelled`] if `progress` stops, because a partial profile is useless.
pub fn calibrate(
    gpu: &Gpu,
    format: TexelFormat,
    blocks: Blocks,
    stopwatch: &Stopwatch<'_>,
    progress: &mut dyn FnMut(usize, usize) -> ControlFlow<()>,
) -> Result<DeviceProfile, GpuError> {
    // In processor time, an idle core costs nothing. A stripe of few workgroups then costs no more than its share, so
    // the number of concurrent workgroups is 1.
    let device_profile = DeviceProfile {
        clock: stopwatch.clock,
        concurrent_workgroups: 1.0,
        rates: [].into(),
        ..DeviceProfile::default()
    };
    let mut calibrator = Calibrator { gpu, format: format.of_floats(), blocks, stopwatch, device_profile };
    let parts = PROBES.len() + 1;
    let mut at = |done: usize| match progress(done, parts) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(GpuError::Cancelled { doing: "measuring the device" }),
    };
    at(0)?;
    // First, because the cost of dispatches is subtracted from every later chain.
    calibrator.dispatches()?;
    for (done, (class, probes)) in (1..).zip(PROBES) {
        at(done)?;
        calibrator.class(*class, probes)?;
        // Derived from pointwise convolutions, whose rates must be known first.
        if *class == CostClass::Pointwise && stopwatch.clock == Clock::Wall {
            calibrator.concurrent_workgroups()?;
        }
    }
    calibrator.transfers()?;
    calibrator.uploads()?;
    at(parts)?;
    Ok(rounded(calibrator.device_profile))
}

/// Rounds to thousandths: finer digits are noise, and a text file then stores the values exactly.
fn rounded(mut device_profile: DeviceProfile) -> DeviceProfile {
    let round = |figure: &mut f64| *figure = (*figure * 1e3).round() / 1e3;
    let DeviceProfile {
        clock: _,
        dispatch_us,
        run_us,
        transfer_us,
        upload_us,
        copy_us,
        submission_us,
        concurrent_workgroups,
        rates,
    } = &mut device_profile;
    let figures = [dispatch_us, run_us, transfer_us, upload_us, copy_us, submission_us, concurrent_workgroups];
    let of_rates = rates.values_mut().flat_map(|rate| [&mut rate.mflop_us, &mut rate.ktexel_us]);
    of_rates.chain(figures).for_each(round);
    device_profile
}

struct Calibrator<'a> {
    gpu: &'a Gpu,
    format: TexelFormat,
    blocks: Blocks,
    stopwatch: &'a Stopwatch<'a>,
    device_profile: DeviceProfile,
}

/// Result of a probe: the work of its class and the measured microseconds.
struct Sample {
    mflop: f64,
    ktexels: f64,
    us: f64,
}

impl Calibrator<'_> {
    /// Measures the cost of a dispatch and of a run, with a short and a long chain of the smallest operators.
    /// Neighbours are of different kinds, as in a network that runs in stripes, so each dispatch changes the pipeline.
    fn dispatches(&mut self) -> Result<(), GpuError> {
        let small = |links: usize| {
            let kinds = [Unary::Abs, Unary::Relu, Unary::Neg, Unary::Square];
            let mut next = kinds.into_iter().cycle();
            self.chain(&[1, 1, 1, 4], links, |b, x, _| b.unary("y", next.next().unwrap_or(Unary::Abs), x))
        };
        let middle =
            |links| Ok::<_, GpuError>(self.runs(&small(links)?, DISPATCH_CHAIN_RUNS)?[DISPATCH_CHAIN_RUNS / 2]);
        let (short, long) = (middle(1)?, middle(DISPATCH_CHAIN_LENGTH)?);
        self.device_profile.dispatch_us = ((long - short) / (DISPATCH_CHAIN_LENGTH - 1) as f64).max(0.0);
        self.device_profile.run_us = (short - self.device_profile.dispatch_us).max(0.0);
        Ok(())
    }

    fn class(&mut self, class: CostClass, probes: &[Probe]) -> Result<(), GpuError> {
        let samples = probes.iter().map(|probe| self.probe(class, probe)).collect::<Result<Vec<_>, _>>()?;
        self.device_profile.rates.insert(class, fit(&samples));
        Ok(())
    }

    fn probe(&self, class: CostClass, probe: &Probe) -> Result<Sample, GpuError> {
        let mut factor = 1;
        loop {
            let edge = probe.edge * factor;
            let graph = self.chain(&[1, edge, edge, probe.channels], CHAIN_LENGTH, probe.link)?;
            let works: Vec<Work> = graph.nodes.iter().map(|node| work(&graph, node)).collect();
            // A concatenation of two inputs takes two dispatches.
            let dispatches = works.len() + works.iter().filter(|w| w.class == CostClass::Concat).count();
            let overhead = dispatches as f64 * self.device_profile.dispatch_us;
            let total = self.time(&graph)? - self.device_profile.run_us;
            // Chains on one pixel are not enlarged: with more pixels, a dense layer would belong to another class.
            if total < (1.0 + MIN_SIGNAL) * overhead && factor < MAX_EDGE_FACTOR && edge > 1 {
                factor *= 2;
                continue;
            }
            let (mine, others): (Vec<&Work>, Vec<&Work>) = works.iter().partition(|w| w.class == class);
            let known: f64 = others.iter().map(|w| self.device_profile.work_us(w)).sum();
            return Ok(Sample {
                mflop: mine.iter().map(|w| w.flops).sum::<f64>() / 1e6,
                ktexels: mine.iter().map(|w| w.texels).sum::<f64>() / 1e3,
                us: (total - overhead - known).max(0.0),
            });
        }
    }

    /// Measures how many workgroups run concurrently: the time of a single workgroup, divided by its share in the
    /// time of a large dispatch.
    fn concurrent_workgroups(&mut self) -> Result<(), GpuError> {
        // The smallest square that fills a workgroup of 64 lanes. With blocks of eight pixels by two slices, 64 pixels
        // with 64 channels fill exactly one.
        let filled = |edge: usize| {
            let one = self.chain(&[1, edge, edge, 64], CHAIN_LENGTH, |b, x, _| probes::conv(b, x, [64, 64], 1))?;
            let work = work(&one, &one.nodes[NodeId::new(0)]);
            Ok::<_, GpuError>((one, work, work.texels / work.block / 64.0))
        };
        let mut edge = 2;
        let (one, work, groups) = loop {
            match filled(edge)? {
                (.., groups) if groups < 1.0 => edge *= 2,
                filled => break filled,
            }
        };
        let alone =
            (self.time(&one)? - self.device_profile.run_us) / CHAIN_LENGTH as f64 - self.device_profile.dispatch_us;
        let share = self.device_profile.work_us(&work) / groups;
        self.device_profile.concurrent_workgroups = if share > 0.0 { (alone / share).max(1.0) } else { 1.0 };
        Ok(())
    }

    /// Measures the cost of transferring inputs and outputs to the device and back.
    fn transfers(&mut self) -> Result<(), GpuError> {
        let dims = [1, 224, 224, 3];
        let graph = self.chain(&dims, 1, |b, x, _| b.unary("y", Unary::Abs, x))?;
        let mut session = self.session(&graph)?;
        let values = vec![0.0; dims.iter().product()];
        let mut outputs = session.run(&[&values])?;
        let mut best = f64::INFINITY;
        for _ in 0..RUNS {
            let begun = (self.stopwatch.read)();
            session.run_into(&[&values], &mut outputs)?;
            best = best.min(self.since(begun) * 1e6);
        }
        let known = self.device_profile.run_us
            + self.device_profile.stripe_us(&work(&graph, &graph.nodes[NodeId::new(0)]), 1.0);
        let texels = 2 * graph.shape(graph.inputs[0]).texels();
        self.device_profile.transfer_us = (best - known).max(0.0) / (texels as f64 / 1e3);
        Ok(())
    }

    /// Builds a graph that repeats `link`, each applied to the result of the previous one.
    fn chain(
        &self,
        dims: &[usize; 4],
        links: usize,
        mut link: impl FnMut(&mut GraphBuilder, TensorId, usize) -> Result<TensorId, BuildError>,
    ) -> Result<Graph, GpuError> {
        let mut build = || {
            let mut builder = GraphBuilder::new("device_profile");
            let mut last = builder.input("x", dims)?;
            for _ in 0..links {
                last = link(&mut builder, last, dims[1])?;
            }
            // The work of the links depends on the blocks.
            Ok(Graph { blocks: self.blocks, ..builder.finish(&[last])? })
        };
        build().map_err(|e: BuildError| GpuError::Refused { doing: "a chain to measure".into(), reason: e.to_string() })
    }

    fn session(&self, graph: &Graph) -> Result<Executor, GpuError> {
        self.session_of(graph, WeightStorage::Resident)
    }

    fn session_of(&self, graph: &Graph, weights: WeightStorage) -> Result<Executor, GpuError> {
        // Rewrite rules are off, so that they neither shorten a chain nor fuse its links.
        let blocks = BlockChoice::Fixed(self.blocks);
        let compile =
            CompileOptions { rules: Rules::none(), format: self.format, weights, blocks, ..CompileOptions::default() };
        Executor::new(self.gpu, graph, &ExecutorOptions { compile, ..ExecutorOptions::default() })
    }

    fn since(&self, begun: Duration) -> f64 {
        (self.stopwatch.read)().saturating_sub(begun).as_secs_f64()
    }

    /// Returns the microseconds of the fastest run of a chain. Its work is always the same, and other load can only
    /// add time.
    fn time(&self, graph: &Graph) -> Result<f64, GpuError> {
        Ok(self.runs(graph, RUNS)?[0])
    }

    /// Returns the microseconds of `runs` runs, the fastest first.
    fn runs(&self, graph: &Graph, runs: usize) -> Result<Vec<f64>, GpuError> {
        let mut session = self.session(graph)?;
        let mut times = Vec::with_capacity(runs);
        for _ in 0..runs {
            let begun = (self.stopwatch.read)();
            // Excludes transfers, which are measured separately.
            let submission = self.gpu.scoped("measuring", || {
                let mut encoder = self.gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
                session.encode(&mut encoder)?;
                Ok::<_, GpuError>(self.gpu.submit([encoder.finish()]))
            })??;
            now(self.gpu.done(Wait::Block, &submission, "a measurement"))?;
            times.push(self.since(begun) * 1e6);
        }
        times.sort_by(f64::total_cmp);
        Ok(times)
    }
}

/// Fits a rate to the samples. With two samples, solves for both components unless one would be negative. Otherwise
/// attributes all time to arithmetic, or to texels if there is hardly any arithmetic.
fn fit(samples: &[Sample]) -> Rate {
    if let [a, b] = samples {
        let determinant = a.mflop * b.ktexels - b.mflop * a.ktexels;
        let mflop_us = (a.us * b.ktexels - b.us * a.ktexels) / determinant;
        let ktexel_us = (a.mflop * b.us - b.mflop * a.us) / determinant;
        // If the determinant is zero, a component is negative, infinite or NaN, and the check fails.
        if mflop_us >= 0.0 && ktexel_us >= 0.0 {
            return Rate { mflop_us, ktexel_us };
        }
    }
    let sum = |part: fn(&Sample) -> f64| samples.iter().map(part).sum::<f64>();
    let (us, mflop, ktexels) = (sum(|s| s.us), sum(|s| s.mflop), sum(|s| s.ktexels));
    // More than two operations per lane of a texel: attributed to arithmetic.
    if mflop > 8.0 * ktexels / 1e3 {
        Rate { mflop_us: us / mflop, ktexel_us: 0.0 }
    } else {
        Rate { mflop_us: 0.0, ktexel_us: us / ktexels.max(1e-9) }
    }
}
