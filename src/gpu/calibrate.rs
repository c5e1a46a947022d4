//! Measures the device's profile: chains of one operator are run and timed, class by class, and a long chain of
//! changing pipelines for the cost of a dispatch.
//!
//! A chain's time is that of its dispatches plus that of its work. What is known already is subtracted, so a chain may
//! hold operators of classes that were measured before it.
//!
//! The constants below are chosen; each says what it guards against.

mod probes;
mod uploads;

use std::{ops::ControlFlow, time::Duration};

use self::probes::{PROBES, Probe};
use super::{Executor, ExecutorOptions, Gpu, GpuError, Wait, wait::now};
use crate::{
    compile::{Clock, CompileOptions, DeviceProfile, Rate, WeightStorage},
    graph::{BuildError, Graph, GraphBuilder, NodeId, TensorId, Unary},
    ops::{CostClass, Work, work},
    plan::TexelFormat,
    rewrite::Rules,
};

/// Operators of a chain: more than one, so that submission and waiting weigh little.
const CHAIN_LENGTH: usize = 6;
/// Runs of a chain, of which the fastest counts: everything else on the machine only adds to it.
const RUNS: usize = 12;
/// Dispatches of the chain that measures a dispatch. It is long because lavapipe's threads sleep between dispatches,
/// and waking them is most of the cost: the fastest run of a short chain, in which none slept, said 15 us where a
/// network paid 35.
const DISPATCH_CHAIN_LENGTH: usize = 768;
/// Runs of that chain, of which the median counts, for the same reason.
const DISPATCH_CHAIN_RUNS: usize = 33;
/// A chain's height and width are doubled until its work takes this many times what its dispatches take: less would
/// drown in their variance.
const MIN_SIGNAL: f64 = 3.0;
/// Largest factor of height and width, so that a fast device does not make the chain grow without end.
const MAX_EDGE_FACTOR: usize = 16;

/// A clock, and how it is read.
pub struct Stopwatch<'a> {
    /// Which.
    pub clock: Clock,
    /// Reads it.
    pub read: &'a dyn Fn() -> Duration,
}

/// Measures what the device takes for texels of `format`, by that clock; `progress` is told how many of how many parts
/// are done, and answers whether to go on.
///
/// # Errors
/// What the device says; [`GpuError::Cancelled`] where `progress` breaks off: half of a profile is none.
pub fn calibrate(
    gpu: &Gpu,
    format: TexelFormat,
    stopwatch: &Stopwatch<'_>,
    progress: &mut dyn FnMut(usize, usize) -> ControlFlow<()>,
) -> Result<DeviceProfile, GpuError> {
    // By processor time an idle core costs nothing, so a band of few workgroups costs no more than its share.
    let device_profile = DeviceProfile {
        clock: stopwatch.clock,
        concurrent_workgroups: 1.0,
        rates: [].into(),
        ..DeviceProfile::default()
    };
    let mut calibrator = Calibrator { gpu, format, stopwatch, device_profile };
    let parts = PROBES.len() + 1;
    let mut at = |done: usize| match progress(done, parts) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(GpuError::Cancelled { doing: "measuring the device" }),
    };
    at(0)?;
    // First, since what dispatches take is taken off every chain that follows.
    calibrator.dispatches()?;
    for (done, (class, probes)) in (1..).zip(PROBES) {
        at(done)?;
        calibrator.class(*class, probes)?;
        // It is told from pointwise convolutions, whose rates must be known.
        if *class == CostClass::Pointwise && stopwatch.clock == Clock::Wall {
            calibrator.concurrent_workgroups()?;
        }
    }
    calibrator.transfers()?;
    calibrator.uploads()?;
    at(parts)?;
    Ok(rounded(calibrator.device_profile))
}

/// To thousandths: what is finer is chance, and text holds it as it is.
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
    stopwatch: &'a Stopwatch<'a>,
    device_profile: DeviceProfile,
}

/// A measured probe: what its class had to do, and the microseconds it took.
struct Sample {
    mflop: f64,
    ktexels: f64,
    us: f64,
}

impl Calibrator<'_> {
    /// What a dispatch and what a run take: chains of the smallest operators, a short one and a long one. Neighbours
    /// are of different kinds, as in a network in phases, so each changes the pipeline.
    fn dispatches(&mut self) -> Result<(), GpuError> {
        let small = |links: usize| {
            let kinds = [Unary::Abs, Unary::Relu, Unary::Neg, Unary::Square];
            let mut next = kinds.into_iter().cycle();
            chain(&[1, 1, 1, 4], links, |b, x, _| b.unary("y", next.next().unwrap_or(Unary::Abs), x))
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
            let graph = chain(&[1, edge, edge, probe.channels], CHAIN_LENGTH, probe.link)?;
            let works: Vec<Work> = graph.nodes.iter().map(|node| work(&graph, node)).collect();
            // A concatenation of two parts is two dispatches.
            let dispatches = works.len() + works.iter().filter(|w| w.class == CostClass::Concat).count();
            let overhead = dispatches as f64 * self.device_profile.dispatch_us;
            let total = self.time(&graph)? - self.device_profile.run_us;
            // Chains of one pixel stay so: with more pixels a dense layer would be of another class.
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

    /// How many workgroups run side by side: a workgroup alone takes that many times its share of many.
    fn concurrent_workgroups(&mut self) -> Result<(), GpuError> {
        // One workgroup of blocks of eight pixels by two slices: 64 pixels of 64 channels, then half the lanes idle.
        let one = chain(&[1, 8, 8, 64], CHAIN_LENGTH, |b, x, _| probes::conv(b, x, [64, 64], 1))?;
        let work = work(&one, &one.nodes[NodeId::new(0)]);
        let groups = (work.texels / work.block / 64.0).max(1.0);
        let alone =
            (self.time(&one)? - self.device_profile.run_us) / CHAIN_LENGTH as f64 - self.device_profile.dispatch_us;
        let share = self.device_profile.work_us(&work) / groups;
        self.device_profile.concurrent_workgroups = if share > 0.0 { (alone / share).max(1.0) } else { 1.0 };
        Ok(())
    }

    /// What inputs and outputs take to the device and back.
    fn transfers(&mut self) -> Result<(), GpuError> {
        let dims = [1, 224, 224, 3];
        let graph = chain(&dims, 1, |b, x, _| b.unary("y", Unary::Abs, x))?;
        let mut session = self.session(&graph)?;
        let values = vec![0.0; dims.iter().product()];
        let mut outputs = session.run(&[&values])?;
        let mut best = f64::INFINITY;
        for _ in 0..RUNS {
            let begun = (self.stopwatch.read)();
            session.run_into(&[&values], &mut outputs)?;
            best = best.min(self.since(begun) * 1e6);
        }
        let known =
            self.device_profile.run_us + self.device_profile.band_us(&work(&graph, &graph.nodes[NodeId::new(0)]), 1.0);
        let texels = 2 * graph.shape(graph.inputs[0]).texels();
        self.device_profile.transfer_us = (best - known).max(0.0) / (texels as f64 / 1e3);
        Ok(())
    }

    fn session(&self, graph: &Graph) -> Result<Executor, GpuError> {
        self.session_of(graph, WeightStorage::Resident)
    }

    fn session_of(&self, graph: &Graph, weights: WeightStorage) -> Result<Executor, GpuError> {
        // No rule is to shorten a chain, or to fuse its links.
        let compile =
            CompileOptions { rules: Rules::none(), format: self.format, weights, ..CompileOptions::default() };
        Executor::new(self.gpu, graph, &ExecutorOptions { compile, ..ExecutorOptions::default() })
    }

    fn since(&self, begun: Duration) -> f64 {
        (self.stopwatch.read)().saturating_sub(begun).as_secs_f64()
    }

    /// Microseconds of the fastest run of a chain: its work does not change, and all else only adds to it.
    fn time(&self, graph: &Graph) -> Result<f64, GpuError> {
        Ok(self.runs(graph, RUNS)?[0])
    }

    /// Microseconds of so many runs, the fastest first.
    fn runs(&self, graph: &Graph, runs: usize) -> Result<Vec<f64>, GpuError> {
        let mut session = self.session(graph)?;
        let mut times = Vec::with_capacity(runs);
        for _ in 0..runs {
            let begun = (self.stopwatch.read)();
            // Without transfers, which have a figure of their own.
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

/// A graph in which `link` is repeated, each on the result of the one before.
fn chain(
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
        builder.finish(&[last])
    };
    build().map_err(|e| GpuError::Refused { doing: "a chain to measure".into(), reason: e.to_string() })
}

/// The rate that explains the samples: two are solved for both parts, unless one part would be negative; then
/// arithmetic alone, or texels where there is none, has to.
fn fit(samples: &[Sample]) -> Rate {
    if let [a, b] = samples {
        let determinant = a.mflop * b.ktexels - b.mflop * a.ktexels;
        let mflop_us = (a.us * b.ktexels - b.us * a.ktexels) / determinant;
        let ktexel_us = (a.mflop * b.us - b.mflop * a.us) / determinant;
        // A determinant of zero makes one part negative or NaN, and neither passes.
        if mflop_us >= 0.0 && ktexel_us >= 0.0 {
            return Rate { mflop_us, ktexel_us };
        }
    }
    let sum = |part: fn(&Sample) -> f64| samples.iter().map(part).sum::<f64>();
    let (us, mflop, ktexels) = (sum(|s| s.us), sum(|s| s.mflop), sum(|s| s.ktexels));
    // More than two operations for each lane of a texel: arithmetic has to explain them.
    if mflop > 8.0 * ktexels / 1e3 {
        Rate { mflop_us: us / mflop, ktexel_us: 0.0 }
    } else {
        Rate { mflop_us: 0.0, ktexel_us: us / ktexels.max(1e-9) }
    }
}
