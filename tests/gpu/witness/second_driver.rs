//! Everything also works on a second driver: SwiftShader, which shares no code with Mesa.

use std::path::Path;

use super::{Child, NETWORK};
use crate::support::{ADAPTER, EVERY_TEST};

/// Manifest of the driver as installed by Debian's package.
const MANIFEST: &str = "/usr/lib/chromium/vk_swiftshader_icd.json";
/// Tests of code above the driver, which is the same on all of them: sessions, accounts of memory, heaps, budgets,
/// plans, profiles. This driver takes five to twenty times as long for them as lavapipe.
const ABOVE_THE_DRIVER: [&str; 24] = [
    "account::",
    "allocations::",
    "budget::",
    // Plans and streams of 8-bit tensors and their largest network, whose kernels and smaller networks run here.
    "bytes::every_plan",
    "bytes::inception",
    "bytes::streamed_weights",
    "compare::",
    "core_only::",
    "device_profile::",
    // The kernels of blocks, of Winograd's algorithm and of joined convolutions also have tests of their own.
    "invariance::",
    "long::",
    "loops::",
    "memory::",
    // Small cases of every operator, which the kernels' own tests run here in all their forms.
    "onnx_nodes::",
    "recovery::",
    "runtime::",
    "scarce::",
    "shared_weights::",
    "stream::",
    "tasks::",
    "tuned_blocks::",
    "weight_formats::plans_agree",
    "weight_formats::rounded",
    "weight_formats::the_bytes_are_reckoned",
];

/// A second driver, with another compiler: kernels that work on lavapipe by chance fail here.
#[test]
fn everything_holds_on_swiftshader() {
    assert!(Path::new(MANIFEST).exists(), "{MANIFEST} is missing; `apt-get install chromium-common` installs it");
    // The set of pipelines does not depend on the driver.
    let child = Child::new().skip("portability::");
    let child = if std::env::var_os(EVERY_TEST).is_some() {
        child
    } else {
        println!("in stripes only {NETWORK} runs, and no {ABOVE_THE_DRIVER:?}; {EVERY_TEST}=1 runs everything");
        let child = ABOVE_THE_DRIVER.into_iter().fold(child, Child::skip);
        child.skip("weight_formats::large_networks").skip_networks_but(NETWORK)
    };
    let outcome = child.env("VK_DRIVER_FILES", MANIFEST).run().must_pass();
    let adapters = outcome.values(ADAPTER);
    assert!(!adapters.is_empty());
    assert!(adapters.iter().all(|name| name.contains("SwiftShader")), "{adapters:?}");
}
