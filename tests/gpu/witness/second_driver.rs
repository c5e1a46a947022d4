//! Everything also works on a second driver: SwiftShader, which shares no code with Mesa.

use std::path::Path;

use super::Child;
use crate::{support::ADAPTER, tiling::networks};

/// Manifest of the driver as installed by Debian's package.
const MANIFEST: &str = "/usr/lib/chromium/vk_swiftshader_icd.json";
/// Set to run every network here too, however long that takes.
const EVERY_NETWORK: &str = "TEXPOOL_EVERY_NETWORK";
/// Size, in millions of multiply-adds, of the largest network whose tiled plans are run here by default: the driver
/// does 300 to 500 of them a second, and a network runs eight to ten times.
const MOST: f64 = 60.0;

/// A second driver, with another compiler: what holds on lavapipe by chance fails here.
#[test]
fn everything_holds_on_swiftshader() {
    assert!(Path::new(MANIFEST).exists(), "{MANIFEST} is missing; `apt-get install chromium-common` installs it");
    let child = Child::new()
        // The set of pipelines does not depend on the driver.
        .skip("portability::")
        // ONNX's small cases of every operator, which the kernels' own tests run here in all their forms.
        .skip("onnx_nodes::")
        // An image takes a second: the small network runs under every strategy, and the models run as in `tiling::`.
        .skip("invariance::every_strategy::")
        // The state of a session after an error and the waking of tasks depend on wgpu and this library, not on the
        // driver.
        .skip("recovery::")
        .skip("tasks::")
        // Limits requested from a device, all of which this driver has; the models run below.
        .skip("core_only::")
        // A budget chooses among plans, and `tiling::` and `streamed_io::` run all kinds of those.
        .skip("budget::")
        // Effects of rounding on answers, and estimates made without a device. The tests of the values that kernels
        // read still run.
        .skip("weight_formats::rounded")
        .skip("weight_formats::the_bytes_are_reckoned")
        // Times differ between drivers.
        .skip("device_profile::");
    let child = if std::env::var_os(EVERY_NETWORK).is_some() {
        child
    } else {
        let large = networks().map(|network| (network, network.multiply_adds())).filter(|(_, work)| *work > MOST);
        // Some of them take minutes for an answer.
        large.fold(child.skip("weight_formats::large_networks"), |child, (network, work)| {
            println!("{} is left out: {work:.0} million multiply-adds; {EVERY_NETWORK}=1 runs it", network.test);
            child.skip(network.test)
        })
    };
    let outcome = child.env("VK_DRIVER_FILES", MANIFEST).run().must_pass();
    let adapters = outcome.values(ADAPTER);
    assert!(!adapters.is_empty());
    assert!(adapters.iter().all(|name| name.contains("SwiftShader")), "{adapters:?}");
}
