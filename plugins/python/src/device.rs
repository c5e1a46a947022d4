//! Devices, one per adapter and process. Sessions share a device and its pipelines; it is closed with the last of
//! them.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use pyo3::prelude::*;
use texpool::{Context, Error, GpuOptions};
use texpool_gpu::PerProcess;

use crate::interrupt::{detached, interrupt};

/// An open device.
#[derive(Debug)]
pub(crate) struct Device {
    pub(crate) context: Context,
    /// Name of the adapter, if one was requested.
    adapter: Option<String>,
}

/// All devices in use by sessions. A forked child opens new devices, since those of its parent do not work there.
static OPEN: PerProcess<Mutex<Vec<Weak<Device>>>> = PerProcess::new();

impl Device {
    /// Returns the device of the requested adapter, and opens it if necessary. A lost device is not reused, but
    /// existing sessions keep it.
    pub(crate) fn open(adapter: Option<String>) -> Result<Arc<Self>, Error> {
        // Hold the lock while opening, so that two threads do not open two devices.
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

/// Name, backend, kind, driver, PCI address and maximum texture extent of an adapter.
type Row = (String, String, String, String, String, u32);

/// Lists all adapters.
#[pyfunction]
pub(crate) fn list_adapters(py: Python<'_>) -> PyResult<Vec<Row>> {
    let adapters = detached(py, Context::adapters)?;
    let row = |a: texpool::AdapterSummary| (a.name, a.backend, a.kind, a.driver, a.pci_bus_id, a.max_texture_extent);
    Ok(adapters.into_iter().map(row).collect())
}
