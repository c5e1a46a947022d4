//! All holds on a second driver too: SwiftShader, which shares no code with Mesa.

use std::path::Path;

use super::Child;
use crate::{phases::networks, support::ADAPTER};

/// Where Debian's package puts the driver's manifest.
const MANIFEST: &str = "/usr/lib/chromium/vk_swiftshader_icd.json";
/// Set, it has every network answer here too, however long that takes.
const EVERY_NETWORK: &str = "TEXPOOL_EVERY_NETWORK";
/// Millions of multiply-adds of the largest network whose phases are run here without being asked for: the driver does
/// 300 to 500 of them a second, and a network answers eight times or ten.
const MOST: f64 = 60.0;

/// A second driver, with another compiler: what holds on lavapipe by chance fails here.
#[test]
fn everything_holds_on_swiftshader() {
    assert!(Path::new(MANIFEST).exists(), "{MANIFEST} is missing; `apt-get install chromium-common` installs it");
    let child = Child::new()
        // Which pipelines there are does not depend on the driver.
        .skip("portability::")
        // ONNX's small cases of every operator, which the kernels' own tests run here in all their forms.
        .skip("onnx_nodes::")
        // It takes a second for an image: the small network runs under every strategy, models as in `phases::`.
        .skip("invariance::every_strategy::")
        // What becomes of a session after an error, and who wakes a task, is wgpu's business and this library's, not the
        // driver's.
        .skip("recovery::")
        .skip("tasks::")
        // Limits that a device is asked for, which this one has, too: the models run below.
        .skip("core_only::")
        // A budget chooses among plans, all kinds of which `phases::` and `streamed_io::` run.
        .skip("budget::")
        // What rounding does to answers, and what is reckoned without a device: which values kernels read stays in.
        .skip("weight_formats::rounded")
        .skip("weight_formats::the_bytes_are_reckoned")
        // Times, which are another driver's business.
        .skip("device_profile::");
    let child = if std::env::var_os(EVERY_NETWORK).is_some() {
        child
    } else {
        let large = networks().map(|network| (network, network.multiply_adds())).filter(|(_, work)| *work > MOST);
        // Minutes an answer, some of them.
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
