//! All holds on a second driver too: SwiftShader, which shares no code with Mesa.

use std::path::Path;

use super::Child;
use crate::support::ADAPTER;

/// Where Debian's package puts the driver's manifest.
const MANIFEST: &str = "/usr/lib/chromium/vk_swiftshader_icd.json";

#[test]
fn everything_holds_on_swiftshader() {
    assert!(Path::new(MANIFEST).exists(), "{MANIFEST} is missing; `apt-get install chromium-common` installs it");
    let outcome = Child::new()
        // Which pipelines there are does not depend on the driver.
        .skip("portability::")
        // It takes a second for an image: it runs the small network under every strategy, models under the best.
        .skip("invariance::every_strategy::")
        // Times, which are another driver's business.
        .skip("figures::")
        // Minutes an answer, some of them.
        .skip("zoo::onnx")
        .skip("zoo_plans::")
        .skip("zoo_phases::")
        .env("VK_DRIVER_FILES", MANIFEST)
        .run()
        .must_pass();
    let adapters = outcome.values(ADAPTER);
    assert!(!adapters.is_empty());
    assert!(adapters.iter().all(|name| name.contains("SwiftShader")), "{adapters:?}");
}
