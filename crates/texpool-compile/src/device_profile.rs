//! Timing figures of a device, from which the time of a plan is predicted. They are measured elsewhere.

use std::collections::BTreeMap;

use texpool_ops::ops::{CostClass, Work};

/// Speed of a class of kernels.
///
/// ```
/// use texpool_compile::{DeviceProfile, Rate};
/// use texpool_ops::ops::CostClass;
///
/// let mut profile = DeviceProfile::default();
/// let window = profile.rates[&CostClass::Window];
/// // Twice as fast.
/// let twice = Rate { mflop_us: window.mflop_us / 2.0, ktexel_us: window.ktexel_us / 2.0 };
/// profile.rates.insert(CostClass::Window, twice);
/// assert_eq!(profile.rates[&CostClass::Window], Rate { mflop_us: 6.5, ktexel_us: 1.5 });
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Rate {
    /// Microseconds per million floating point operations.
    pub mflop_us: f64,
    /// Microseconds per thousand texels of the result.
    pub ktexel_us: f64,
}

impl Rate {
    /// Returns the rounded speed of lavapipe on two cores, which stands in for a class that was not measured.
    const fn assumed(class: CostClass) -> Self {
        let (mflop_us, ktexel_us) = match class {
            CostClass::Pointwise | CostClass::PointwiseDeep => (11.0, 2.0),
            CostClass::Window | CostClass::WindowDeep | CostClass::Transposed => (13.0, 3.0),
            CostClass::Narrow => (20.0, 3.0),
            CostClass::Dense => (40.0, 3.0),
            CostClass::Rows => (30.0, 3.0),
            CostClass::Depthwise => (25.0, 5.0),
            CostClass::Pool | CostClass::Reduce => (40.0, 5.0),
            CostClass::Elementwise => (0.0, 4.0),
            CostClass::Softmax => (0.0, 20.0),
            CostClass::Resize => (0.0, 15.0),
            CostClass::Move | CostClass::Concat => (0.0, 8.0),
        };
        Self { mflop_us, ktexel_us }
    }
}

/// Clock that the times of a profile refer to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Clock {
    /// Wall-clock time.
    #[default]
    Wall,
    /// Processor time of the process, summed over all cores. A software device shares the processors with all other
    /// programs; this time does not depend on what else is running.
    Processor,
}

/// Timing figures of a device for dispatches and arithmetic, from which the time of a plan is predicted.
///
/// ```
/// use texpool_compile::{Clock, DeviceProfile};
///
/// // Rounded figures of a software device, on every machine the same.
/// let profile = DeviceProfile::default();
/// assert_eq!((profile.clock, profile.dispatch_us, profile.concurrent_workgroups), (Clock::Wall, 17.0, 2.0));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct DeviceProfile {
    /// Clock that all times of this profile refer to.
    pub clock: Clock,
    /// Microseconds per dispatch with almost no work.
    pub dispatch_us: f64,
    /// Microseconds per run with no work: submitting and waiting.
    pub run_us: f64,
    /// Microseconds per thousand texels of inputs and outputs, for conversion from or to values and transfer to or
    /// from the device.
    pub transfer_us: f64,
    /// Microseconds per thousand texels of weights that are uploaded during a run.
    pub upload_us: f64,
    /// Microseconds per upload or download of almost no data in the middle of a run.
    pub copy_us: f64,
    /// Microseconds per submission of a run after the first.
    pub submission_us: f64,
    /// Number of workgroups that run concurrently.
    pub concurrent_workgroups: f64,
    /// Speed of each class of kernels. A class that is missing counts as fast as in the default profile.
    pub rates: BTreeMap<CostClass, Rate>,
}

/// Invocations per workgroup.
const WORKGROUP_SIZE: f64 = 64.0;
/// Smallest fraction of a workgroup that the model distinguishes: 8 lanes, the number that lavapipe computes in one
/// AVX register.
const MIN_WORKGROUPS: f64 = 8.0 / WORKGROUP_SIZE;

impl Default for DeviceProfile {
    /// Returns rounded figures of lavapipe on two cores with 32-bit texels. A fixed profile gives the same plans on
    /// every machine. For plans that are fast on a specific device, use a profile of that device.
    fn default() -> Self {
        let rates = CostClass::ALL.map(|class| (class, Rate::assumed(class)));
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
    /// Returns the microseconds of the whole operator without its dispatch, on a device that it fills.
    ///
    /// ```
    /// use texpool_compile::DeviceProfile;
    /// use texpool_ops::ops::{CostClass, Work};
    ///
    /// let work = Work { class: CostClass::Dense, flops: 2e6, texels: 1000.0, block: 1.0 };
    /// // 40 us for a million operations and 3 us for a thousand texels.
    /// assert_eq!(DeviceProfile::default().work_us(&work), 83.0);
    /// ```
    pub fn work_us(&self, work: &Work) -> f64 {
        let rate = self.rates.get(&work.class).copied().unwrap_or(Rate::assumed(work.class));
        rate.mflop_us * work.flops / 1e6 + rate.ktexel_us * work.texels / 1e3
    }

    /// Returns the microseconds of a stripe that is `share` of the operator, including its dispatch. Workgroups run in
    /// waves of [`concurrent_workgroups`](Self::concurrent_workgroups), and a stripe with fewer workgroups leaves the
    /// device partly idle.
    ///
    /// ```
    /// use texpool_compile::DeviceProfile;
    /// use texpool_ops::ops::{CostClass, Work};
    ///
    /// let profile = DeviceProfile::default();
    /// let work = Work { class: CostClass::Dense, flops: 2e6, texels: 6400.0, block: 1.0 };
    /// let (whole, quarter) = (profile.stripe_us(&work, 1.0), profile.stripe_us(&work, 0.25));
    /// // Each takes a dispatch of 17 us, and the last of its waves fills one of two workgroups.
    /// assert!(4.0 * quarter > whole + 3.0 * 17.0);
    /// ```
    pub fn stripe_us(&self, work: &Work, share: f64) -> f64 {
        let groups = (work.texels / work.block / WORKGROUP_SIZE).max(MIN_WORKGROUPS);
        let stripe_groups = (groups * share).max(MIN_WORKGROUPS);
        let concurrent_workgroups = self.concurrent_workgroups.max(1.0);
        // A partial workgroup takes time in proportion to its lanes; otherwise workgroups run in whole waves.
        let waves = if stripe_groups <= 1.0 { stripe_groups } else { (stripe_groups / concurrent_workgroups).ceil() };
        // Every wave takes as long as a full wave of `concurrent_workgroups`, even if it is only partly filled.
        self.dispatch_us + self.work_us(work) * (waves * concurrent_workgroups / groups).max(share)
    }
}
