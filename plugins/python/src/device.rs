//! Devices, one an adapter and process: sessions share pipelines there, and a device goes with the last of them.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use pyo3::prelude::*;
use texpool::{Context, Error, GpuOptions, gpu::PerProcess};

use crate::interrupt::{detached, interrupt};

/// An open device.
#[derive(Debug)]
pub(crate) struct Device {
    pub(crate) context: Context,
    /// What was asked for.
    adapter: Option<String>,
}

/// Those that sessions use. A forked child opens its own, since those of its parent do not work there.
static OPEN: PerProcess<Mutex<Vec<Weak<Device>>>> = PerProcess::new();

impl Device {
    /// The device of the adapter that is asked for, opened if need be. A lost one is left to the sessions that have it.
    pub(crate) fn open(adapter: Option<String>) -> Result<Arc<Self>, Error> {
        // Held until it is open, so that two threads open one.
        let mut open = OPEN.get().lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|device| device.strong_count() > 0);
        let same = |device: &Arc<Self>| device.adapter == adapter && device.context.check().is_ok();
        if let Some(device) = open.iter().filter_map(Weak::upgrade).find(same) {
            return Ok(device);
        }
        let options = GpuOptions { adapter: adapter.clone(), interrupt: Some(interrupt()), ..GpuOptions::default() };
        let context = Context::open(&options)?;
        let device = Arc::new(Self { context, adapter });
        open.push(Arc::downgrade(&device));
        Ok(device)
    }
}

/// Name, backend, kind, driver, PCI address and largest extent of a texture.
type Row = (String, String, String, String, String, u32);

/// Each adapter there is.
#[pyfunction]
pub(crate) fn list_adapters(py: Python<'_>) -> PyResult<Vec<Row>> {
    let adapters = detached(py, Context::adapters)?;
    let row = |a: texpool::AdapterSummary| (a.name, a.backend, a.kind, a.driver, a.pci_bus_id, a.max_texture_extent);
    Ok(adapters.into_iter().map(row).collect())
}
