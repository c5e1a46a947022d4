//! Without an adapter every test fails, and each says which package to install.

use super::Child;

/// Tests of GPU modules that need no device.
const NEED_NONE: [&str; 10] = [
    "faults::the_words_of_a_driver_are_told",
    "kernels::elementwise::an_epilogue_of_a_function_that_it_does_not_know_is_refused",
    "kernels::elementwise::two_operands_and_an_added_tensor_are_refused",
    "kernels::misfits::graphs_that_are_not_whole_are_refused",
    "kernels::misfits::operands_that_are_not_the_nodes_are_refused",
    "runtime::carry::variables_that_do_not_fit_are_refused",
    "tiling::every_network_of_the_catalogue_is_tested",
    "tiling::no_test_is_skipped_by_the_name_of_another",
    "portability::dialect::",
    "split::others_stay_as_they_are",
];

/// Without a device, no test passes or skips itself.
#[test]
fn every_test_fails_and_names_the_package() {
    let folder = tempfile::tempdir().unwrap();
    let absent = folder.path().join("absent.json");
    let all = Child::new().env("VK_DRIVER_FILES", absent.to_str().unwrap());
    let outcome = NEED_NONE.into_iter().fold(all, Child::skip).run();
    let passed: Vec<&str> = outcome.output.lines().filter(|line| line.ends_with(" ... ok")).collect();
    assert!(passed.is_empty(), "these need no device and belong in NEED_NONE: {passed:#?}");
    assert_eq!((outcome.passed, outcome.ignored), (0, 0), "{}", outcome.output);
    let failures: Vec<&str> = outcome.output.split("\n---- ").skip(1).collect();
    assert_eq!(failures.len(), outcome.failed);
    let silent: Vec<_> = failures
        .iter()
        .filter(|failure| !failure.contains("apt-get install") || !failure.contains("mesa-vulkan-drivers"))
        .collect();
    assert!(silent.is_empty(), "these do not name the package: {silent:#?}");
}
