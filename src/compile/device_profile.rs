//! What a device takes for what it does: the figures that a plan's time is predicted from. They are measured
//! elsewhere.

use std::collections::BTreeMap;

use crate::ops::{CostClass, Work};

/// What a class of kernels takes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Rate {
    /// Microseconds of a million floating point operations.
    pub mflop_us: f64,
    /// Microseconds of a thousand texels of the result.
    pub ktexel_us: f64,
}

/// Which time a profile is in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Clock {
    /// The time that passes.
    #[default]
    Wall,
    /// The time that processors spend on the process, all cores together. A software device computes on processors that
    /// it shares with everything else; this time is what it needs of them, whoever else runs.
    Processor,
}

/// What a device takes for a dispatch and for arithmetic: the figures that a plan's time is predicted from.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct DeviceProfile {
    /// Which time it is in.
    pub clock: Clock,
    /// Microseconds of a dispatch that computes next to nothing.
    pub dispatch_us: f64,
    /// Microseconds of a run that computes nothing: submitting and waiting.
    pub run_us: f64,
    /// Microseconds that a thousand texels of inputs and outputs take to and from the device, made from values and into them.
    pub transfer_us: f64,
    /// Microseconds that a thousand texels of weights take that are uploaded in a run.
    pub upload_us: f64,
    /// Microseconds of an upload or download of next to nothing in the middle of a run.
    pub copy_us: f64,
    /// Microseconds of each submission of a run but the first.
    pub submission_us: f64,
    /// Workgroups that run side by side.
    pub concurrent_workgroups: f64,
    /// What each class takes.
    pub rates: BTreeMap<CostClass, Rate>,
}

/// Invocations of a workgroup.
const WORKGROUP_SIZE: f64 = 64.0;
/// The least part of a workgroup that takes a time of its own: 8 lanes, as many as lavapipe computes in one AVX
/// register.
const MIN_WORKGROUPS: f64 = 8.0 / WORKGROUP_SIZE;

impl Default for DeviceProfile {
    /// Rounded figures of lavapipe on two cores with 32-bit texels: the same plans on every machine. Those that are
    /// fast on a device come from its own figures.
    fn default() -> Self {
        let rates = [
            (CostClass::Pointwise, 11.0, 2.0),
            (CostClass::PointwiseDeep, 11.0, 2.0),
            (CostClass::Window, 13.0, 3.0),
            (CostClass::WindowDeep, 13.0, 3.0),
            (CostClass::Narrow, 20.0, 3.0),
            (CostClass::Dense, 40.0, 3.0),
            (CostClass::Rows, 30.0, 3.0),
            (CostClass::Depthwise, 25.0, 5.0),
            (CostClass::Transposed, 30.0, 5.0),
            (CostClass::Pool, 40.0, 5.0),
            (CostClass::Reduce, 40.0, 5.0),
            (CostClass::Elementwise, 0.0, 4.0),
            (CostClass::Softmax, 0.0, 20.0),
            (CostClass::Resize, 0.0, 15.0),
            (CostClass::Move, 0.0, 8.0),
            (CostClass::Concat, 0.0, 8.0),
        ];
        let rates = rates.map(|(class, mflop_us, ktexel_us)| (class, Rate { mflop_us, ktexel_us }));
        Self {
            clock: Clock::Wall,
            dispatch_us: 17.0,
            run_us: 60.0,
            transfer_us: 5.0,
            upload_us: 1.0,
            copy_us: 10.0,
            submission_us: 60.0,
            concurrent_workgroups: 2.0,
            rates: rates.into(),
        }
    }
}

impl DeviceProfile {
    /// Microseconds of the whole operator, its dispatch not counted, on a device that it fills.
    #[doc(hidden)]
    pub fn work_us(&self, work: &Work) -> f64 {
        let rate = self.rates.get(&work.class).copied().unwrap_or_default();
        rate.mflop_us * work.flops / 1e6 + rate.ktexel_us * work.texels / 1e3
    }

    /// Microseconds of a band that is `share` of the operator, its dispatch included. Workgroups run in waves of
    /// [`concurrent_workgroups`](Self::concurrent_workgroups), and a band of fewer leaves the device partly idle.
    #[doc(hidden)]
    pub fn band_us(&self, work: &Work, share: f64) -> f64 {
        let groups = (work.texels / work.block / WORKGROUP_SIZE).max(MIN_WORKGROUPS);
        let band_groups = (groups * share).max(MIN_WORKGROUPS);
        let concurrent_workgroups = self.concurrent_workgroups.max(1.0);
        // Less than a workgroup takes the time of its lanes; from one on, workgroups run in whole waves.
        let waves = if band_groups <= 1.0 { band_groups } else { (band_groups / concurrent_workgroups).ceil() };
        // A wave takes as long as a full device takes for `concurrent_workgroups` of them, however few places are
        // taken.
        self.dispatch_us + self.work_us(work) * (waves * concurrent_workgroups / groups).max(share)
    }
}
