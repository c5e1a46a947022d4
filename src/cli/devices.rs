//! `texpool devices`: the adapters there are.

use super::{CliError, out};
use crate::gpu;
use serde::Serialize;

#[derive(Serialize)]
struct Device {
    name: String,
    backend: String,
    kind: String,
    driver: String,
    max_texture_extent: u32,
    timestamps: bool,
}

pub(super) fn run(json: bool) -> Result<(), CliError> {
    let devices: Vec<Device> = gpu::adapters()
        .into_iter()
        .map(|a| Device {
            name: a.name,
            backend: a.backend,
            kind: a.kind,
            driver: a.driver,
            max_texture_extent: a.max_texture_extent,
            timestamps: a.timestamps,
        })
        .collect();
    if json {
        return out::json(&devices);
    }
    if devices.is_empty() {
        let none = "no adapter; on Debian or Ubuntu: apt-get install mesa-vulkan-drivers libvulkan1\n";
        return out::text(none);
    }
    let line = |d: &Device| {
        let timestamps = if d.timestamps { "timestamps" } else { "no timestamps" };
        let Device { name, backend, kind, driver, max_texture_extent: most, .. } = d;
        format!("{name}\n  {backend}, {kind}, {driver}; textures up to {most}x{most}; {timestamps}\n")
    };
    out::text(&devices.iter().map(line).collect::<String>())
}
