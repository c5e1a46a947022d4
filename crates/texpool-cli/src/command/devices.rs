//! `texpool devices`: lists the adapters, or those of a name, or measures one.

use super::{
    args::{AdapterArgs, PrecisionArgs},
    error::CliError,
    lines, option_names, out, setup_model,
};
use serde::Serialize;
use texpool_compile::{BlockChoice, DeviceProfile};
use texpool_gpu as gpu;

#[derive(Serialize)]
struct List<'a> {
    devices: &'a [Device],
}

#[derive(Serialize)]
struct Device {
    name: String,
    backend: String,
    kind: String,
    driver: String,
    pci_bus_id: String,
    max_texture_extent: u32,
    timestamps: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Measure the device and store the results. They decide between tiled plans.
    #[arg(long, help_heading = "Device")]
    measure: bool,
    #[command(flatten)]
    precision: PrecisionArgs,
    #[command(flatten)]
    adapter: AdapterArgs,
}

pub(super) fn run(args: &Args, json: bool) -> Result<(), CliError> {
    if args.measure {
        let (gpu, format) = (args.adapter.open(false)?, args.precision.format());
        let blocks = setup_model::blocks_on(&gpu, format, BlockChoice::Auto);
        let device_profile = setup_model::device_profile(&gpu, format, blocks, true)?;
        return if json { out::json(&device_profile) } else { out::text(&text(&device_profile)) };
    }
    let all = gpu::adapters();
    let there_are_some = !all.is_empty();
    let adapter_name = args.adapter.name();
    let devices: Vec<Device> = all
        .into_iter()
        .filter(|adapter| adapter_name.is_none_or(|name| adapter.is_called(name)))
        .map(|a| Device {
            name: a.name,
            backend: a.backend,
            kind: a.kind,
            driver: a.driver,
            pci_bus_id: a.pci_bus_id,
            max_texture_extent: a.max_texture_extent,
            timestamps: a.timestamps,
        })
        .collect();
    if let Some(name) = adapter_name.filter(|_| devices.is_empty() && there_are_some) {
        return Err(option_names::no_such_adapter(name));
    }
    if json {
        out::json(&List { devices: &devices })?;
    }
    if devices.is_empty() {
        return Err(CliError::NoAdapter);
    }
    if json {
        return Ok(());
    }
    let line = |d: &Device| {
        let timestamps = if d.timestamps { "timestamps" } else { "no timestamps" };
        let Device { name, backend, kind, driver, pci_bus_id, max_texture_extent: most, .. } = d;
        let at = if pci_bus_id.is_empty() { String::new() } else { format!(", at {pci_bus_id}") };
        format!("{name}\n  {backend}, {kind}, {driver}{at}; textures up to {most}x{most}; {timestamps}\n")
    };
    out::text(&lines::fitted(&devices.iter().map(line).collect::<String>()))
}

fn text(device_profile: &DeviceProfile) -> String {
    let DeviceProfile {
        clock,
        dispatch_us,
        run_us,
        transfer_us,
        upload_us,
        copy_us,
        submission_us,
        concurrent_workgroups,
        rates,
    } = device_profile;
    let mut text = format!("{clock:?} time\n\n  {dispatch_us:10.2} us  a dispatch\n  {run_us:10.2} us  a run\n");
    text += &format!("  {transfer_us:10.2} us  a thousand texels in or out\n");
    text += &format!("  {upload_us:10.2} us  a thousand texels of weights that are uploaded in a run\n");
    text += &format!("  {copy_us:10.2} us  an upload or download in a run\n");
    text += &format!("  {submission_us:10.2} us  another submission of a run\n");
    text += &format!("  {concurrent_workgroups:10.2}     workgroups side by side\n\n");
    text += "  us a million operations, us a thousand texels\n";
    for (class, rate) in rates {
        text += &format!("  {:10.2} {:10.2}  {class:?}\n", rate.mflop_us, rate.ktexel_us);
    }
    text
}
