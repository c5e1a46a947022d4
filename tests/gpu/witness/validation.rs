//! The Khronos validation layer, with synchronization validation, reports nothing about any run of any model.

use std::fs;

use super::{Child, NETWORK};
use crate::support::ADAPTER;

/// Settings of the layer. It prints them as an information message, once for each instance.
const SETTINGS: &str = "\
khronos_validation.debug_action = VK_DBG_LAYER_ACTION_LOG_MSG
khronos_validation.log_filename = stdout
khronos_validation.report_flags = error,warn,perf,info
khronos_validation.enable_message_limit = false
khronos_validation.enables = VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT
";
const STATUS: &str = "Khronos Validation Layer Active";
/// Text contained in every message of the layer.
const MESSAGE: &str = "): msgNum: ";

/// Modules of `kernels` that run kernels in many shapes.
const SHAPES: [&str; 10] = [
    "conv",
    "elementwise",
    "functions",
    "grid_sample",
    "lines",
    "moves",
    "no_number",
    "recurrent",
    "windows",
    "winograd",
];

/// Khronos' validation layer finds no misuse of Vulkan.
#[test]
fn the_validation_layer_is_silent() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("vk_layer_settings.txt"), SETTINGS).unwrap();
    let child = Child::new()
        // The layer looks devices up in a map without a lock (KhronosGroup/Vulkan-ValidationLayers#4391): while one
        // thread destroys a device, another thread's is sometimes reported as unknown.
        .one_at_a_time()
        // Creates sessions, but never runs them.
        .skip("portability::")
        // Models run by their naïve and their smallest plans in `tiling::`, the small network under every strategy.
        .skip("invariance::")
        // `kernels::all` runs every kernel here. More shapes of a kernel use Vulkan in the same way.
        .skip("onnx_nodes::");
    let child = SHAPES.into_iter().fold(child, |child, module| child.skip(&format!("kernels::{module}::")));
    let outcome = child
        // A budget chooses among plans, and `tiling::` and `streamed_io::` run all kinds of those.
        .skip("budget::")
        // Measures with the kernels of `kernels::all`, twice; another test here breaks a measurement off.
        .skip("device_profile::figures_are_kept")
        // Counts of the driver, in sessions like those of other tests.
        .skip("account::")
        .skip("memory::the_driver_allocates")
        .skip("stream::nothing_is_left_of_many_sessions")
        // Long reductions, and the steps and weights of large networks, only add shapes, and so do other networks.
        .skip("loops::")
        .skip("compare::")
        .skip("weight_formats::large_networks")
        // The other tests of weight formats run all of them, and `tiling::` all kinds of plans.
        .skip("weight_formats::plans_agree")
        .skip_networks_but(NETWORK)
        .env("VK_INSTANCE_LAYERS", "VK_LAYER_KHRONOS_validation")
        .env("VK_LAYER_SETTINGS_PATH", folder.path())
        // wgpu would configure the layer differently.
        .env("WGPU_VALIDATION", "0")
        // In debug builds wgpu has naga name WGSL as the source language (`OpSource`, enumerant 10). Layers older than
        // that enumerant, Debian 12's among them, refuse the module and then check nothing in it.
        .env("WGPU_DEBUG", "0")
        .run();
    let lines: Vec<&str> = outcome.output.lines().collect();
    let active = lines.iter().filter(|line| line.contains(STATUS)).count();
    assert!(
        active > 0,
        "the layer did not load; `apt-get install vulkan-validationlayers` installs it: {}",
        outcome.output
    );
    let synchronized = lines.iter().filter(|line| line.contains("ENABLE_SYNCHRONIZATION_VALIDATION")).count();
    assert_eq!(synchronized, active, "synchronization validation is not on everywhere");
    let messages: Vec<_> = lines.iter().filter(|line| line.contains(MESSAGE) && !line.contains(STATUS)).collect();
    assert!(messages.is_empty(), "{} messages: {messages:#?}", messages.len());
    let opened = outcome.must_pass().values(ADAPTER).len();
    assert!(active >= opened, "{opened} devices were opened, but {active} had the layer");
}
