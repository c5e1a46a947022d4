//! Adapters, and the devices that sessions share.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use texpool::{AdapterSummary, Context};
use texpool_gpu::PerProcess;

use crate::{failure::Failure, options::Options};

/// An adapter, as it is offered to the runtime.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Adapter {
    pub(crate) name: String,
    pub(crate) driver: String,
    /// PCI bus address; empty if it has none.
    pub(crate) address: String,
    pub(crate) software: bool,
}

impl Adapter {
    /// Returns the value of the option `adapter` that opens this adapter.
    pub(crate) fn option(&self) -> &str {
        if self.address.is_empty() { &self.name } else { &self.address }
    }
}

impl From<AdapterSummary> for Adapter {
    fn from(summary: AdapterSummary) -> Self {
        let AdapterSummary { name, driver, pci_bus_id: address, ref kind, .. } = summary;
        let software = kind == "Cpu";
        Self { name, driver, address, software }
    }
}

/// Returns the adapters to offer: all hardware adapters, or one software adapter if no hardware is available.
pub(crate) fn adapters() -> Vec<Adapter> {
    let mut adapters: Vec<Adapter> = Context::adapters().into_iter().map(Adapter::from).collect();
    match adapters.iter().any(|adapter| !adapter.software) {
        true => adapters.retain(|adapter| !adapter.software),
        false => adapters.truncate(1),
    }
    adapters
}

/// Pairs adapters with the runtime's hardware devices. Adapters with a matching PCI address are paired first, then
/// the remaining ones in order. Adapters for which the runtime knows no GPU are paired with `cpu`, a device that
/// every system has.
pub(crate) fn paired<D: Copy>(adapters: Vec<Adapter>, gpus: &[(String, D)], cpu: Option<D>) -> Vec<(Adapter, D)> {
    let mut free: Vec<&(String, D)> = gpus.iter().collect();
    let mut matches = Vec::new();
    for adapter in &adapters {
        let same = |(address, _): &&(String, D)| !address.is_empty() && address.eq_ignore_ascii_case(&adapter.address);
        let at = if adapter.software { None } else { free.iter().position(same) };
        matches.push(at.map(|at| free.remove(at).1));
    }
    let mut pairs = Vec::new();
    for (adapter, device) in adapters.into_iter().zip(matches) {
        let next = || if adapter.software || free.is_empty() { cpu } else { Some(free.remove(0).1) };
        if let Some(device) = device.or_else(next) {
            pairs.push((adapter, device));
        }
    }
    pairs
}

/// Settings that determine which device is opened, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Key {
    adapter: Option<String>,
    timeout: Duration,
}

/// Open devices. They stay open until the provider is released, because opening a device and creating its pipelines
/// takes longer than anything else in a small session. A forked child opens new devices, since those of its parent do
/// not work there.
#[derive(Debug, Default)]
pub(crate) struct Devices {
    open: Arc<Open>,
}

type Open = PerProcess<Mutex<Vec<(Key, Context)>>>;

impl Devices {
    /// Returns the device that the options select. A lost device is replaced by a new one.
    pub(crate) fn context(&self, options: &Options) -> Result<Context, Failure> {
        let gpu = options.named.gpu();
        let key = Key { adapter: gpu.adapter.clone(), timeout: gpu.timeout };
        let mut open = self.open.get().lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|(_, context)| context.check().is_ok());
        let context = match open.iter().find(|(other, _)| *other == key) {
            Some((_, context)) => context.clone(),
            None => {
                let context = Context::open(gpu)?;
                #[cfg(feature = "lose-devices")]
                OPENED.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(&self.open));
                open.push((key, context.clone()));
                context
            }
        };
        Ok(options.named.with_folder(context))
    }
}

/// The devices of all providers.
#[cfg(feature = "lose-devices")]
static OPENED: Mutex<Vec<std::sync::Weak<Open>>> = Mutex::new(Vec::new());

/// Loses all open devices, as a driver would. For tests only.
#[cfg(feature = "lose-devices")]
#[unsafe(no_mangle)]
pub(crate) extern "C" fn texpool_onnxruntime_lose_devices() {
    let opened = std::mem::take(&mut *OPENED.lock().unwrap_or_else(PoisonError::into_inner));
    for open in opened.iter().filter_map(std::sync::Weak::upgrade) {
        let open = open.get().lock().unwrap_or_else(PoisonError::into_inner);
        open.iter().for_each(|(_, context)| context.device().destroy());
    }
}

#[cfg(test)]
mod tests {
    use super::{Adapter, Devices, paired};
    use crate::options::Options;

    fn adapter(name: &str, address: &str, software: bool) -> Adapter {
        Adapter { name: name.into(), driver: String::new(), address: address.into(), software }
    }

    fn names(adapters: Vec<Adapter>, gpus: &[(&str, u8)], cpu: Option<u8>) -> Vec<(String, u8)> {
        let gpus: Vec<(String, u8)> = gpus.iter().map(|&(address, id)| (address.into(), id)).collect();
        paired(adapters, &gpus, cpu).into_iter().map(|(adapter, id)| (adapter.name, id)).collect()
    }

    #[test]
    fn a_software_adapter_goes_with_the_processor() {
        let software = || vec![adapter("llvmpipe", "", true)];
        assert_eq!(names(software(), &[("", 1)], Some(0)), [("llvmpipe".to_owned(), 0)]);
        assert!(names(software(), &[("", 1)], None).is_empty());
        assert!(names(vec![], &[("", 1)], Some(0)).is_empty());
    }

    #[test]
    fn adapters_of_hardware_go_with_the_device_of_their_address() {
        let two = || vec![adapter("first", "0000:01:00.0", false), adapter("second", "0000:02:00.0", false)];
        let gpus = [("0000:02:00.0", 2), ("0000:01:00.0", 1)];
        assert_eq!(names(two(), &gpus, Some(0)), [("first".to_owned(), 1), ("second".to_owned(), 2)]);
        assert_eq!(names(two(), &[("", 7)], Some(0)), [("first".to_owned(), 7), ("second".to_owned(), 0)]);
    }

    /// Works on any machine, because no adapter has this name.
    #[test]
    fn an_adapter_that_is_not_there_is_an_error() {
        let options = Options::parse([("adapter", "no adapter has this name")]).unwrap();
        let failure = Devices::default().context(&options).unwrap_err();
        assert!(failure.message.contains("no adapter has this name"), "{}", failure.message);
    }
}
