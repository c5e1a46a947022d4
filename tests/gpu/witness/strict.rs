//! wgpu's strict mode: nothing but what the WebGPU specification has.

use super::Child;

/// No native feature of wgpu is needed.
#[test]
fn sessions_run_where_only_webgpu_is_allowed() {
    Child::new().only("session::").only("goldens::").env("WGPU_STRICT_WEBGPU_COMPLIANCE", "1").run().must_pass();
}
