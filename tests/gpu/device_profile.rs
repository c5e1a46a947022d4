//! The device's profile: measured once, stored completely, and measured again if the stored one is damaged.

use std::{fs, ops::ControlFlow};

use texpool_cli::setup::{self, SetupError};
use texpool_compile::DeviceProfile;
use texpool_gpu::GpuError;
use texpool_ops::ops::{CostClass, Work};
use texpool_plan::TexelFormat;

use crate::support::open;

/// The cache of device profiles: hit, miss, damage and another driver.
#[test]
fn figures_are_kept_and_damaged_ones_measured_again() {
    let gpu = open();
    let folder = tempfile::tempdir().unwrap();
    let device_profile = |again, callback: &mut dyn FnMut(usize, usize) -> ControlFlow<()>| {
        setup::device_profile(&gpu, TexelFormat::Rgba32Float, gpu.blocks(), folder.path(), again, callback)
    };
    let whole = || {
        let mut parts = 0;
        let mut count = |_, _| {
            parts += 1;
            ControlFlow::Continue(())
        };
        (device_profile(false, &mut count).unwrap(), parts)
    };
    // A measurement takes seconds, so the test only detects that one begins, and cancels it.
    let measures = |again| {
        let outcome = device_profile(again, &mut |_, _| ControlFlow::Break(()));
        matches!(outcome, Err(SetupError::Gpu(GpuError::Cancelled { .. })))
    };
    let (first, parts) = whole();
    assert!(parts > 10, "it is told how far it is");
    sound(&first);
    assert_eq!(whole(), (first.clone(), 0), "what is kept is not what was measured");
    assert!(measures(true), "it was not measured again");
    let files: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    let [file] = &files[..] else { panic!("{files:?}") };
    let text = fs::read_to_string(file).unwrap();
    let another_time = first.dispatch_us + 1.0;
    let figure = |us: f64| format!("\"dispatch_us\": {us:?}");
    assert!(text.contains(&figure(first.dispatch_us)), "{text}");
    let altered = text.replace(&figure(first.dispatch_us), &figure(another_time));
    for damaged in ["", &text[..text.len() / 2], &text.replace("texpool", "other"), &altered] {
        fs::write(file, damaged).unwrap();
        assert!(measures(false), "{damaged:?} was taken for a profile");
    }
    assert!(whole().1 > 0 && !measures(false), "it was not kept");
}

/// A cancelled measurement stores nothing.
#[test]
fn a_measurement_that_is_broken_off_keeps_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut stop = |done, _| if done == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
    let gpu = open();
    let outcome = setup::device_profile(&gpu, TexelFormat::Rgba32Float, gpu.blocks(), folder.path(), false, &mut stop);
    let cancelled = SetupError::Gpu(GpuError::Cancelled { doing: "measuring the device" }).to_string();
    assert_eq!(outcome.map_err(|error| error.to_string()), Err(cancelled));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// Everything has a cost, and more work costs more.
fn sound(device_profile: &DeviceProfile) {
    assert!(device_profile.dispatch_us > 0.0 && device_profile.concurrent_workgroups >= 1.0);
    // Every upload has a cost, although the bytes alone may not show beside the cost of a copy.
    let DeviceProfile { upload_us, copy_us, submission_us, .. } = *device_profile;
    assert!(copy_us + submission_us > 0.0 && upload_us >= 0.0, "{device_profile:?}");
    for class in
        [CostClass::Pointwise, CostClass::Window, CostClass::Depthwise, CostClass::Elementwise, CostClass::Concat]
    {
        let work = |n: f64| Work { class, flops: n * 64.0, texels: n, block: 8.0 };
        let (little, much) = (device_profile.work_us(&work(1e5)), device_profile.work_us(&work(1e6)));
        assert!(0.0 < little && little <= much && much.is_finite(), "{class:?}: {little} and {much}");
    }
}
