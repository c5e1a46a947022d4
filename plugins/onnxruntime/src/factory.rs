//! What the runtime makes providers with: which devices there are, and one for a session.

use std::{collections::BTreeMap, ffi::c_char, ptr, slice, sync::Arc};

use crate::{
    api::{
        provider::{OrtEp, OrtEpFactory},
        types::{
            ErrorCode, ORT_API_VERSION, OrtAllocator, OrtDataTransferImpl, OrtEpDevice, OrtHardwareDevice,
            OrtKeyValuePairs, OrtLogger, OrtMemoryInfo, OrtSessionOptions, OrtStatus, hardware,
        },
    },
    devices::{Adapter, Devices, adapters, paired},
    failure::Failure,
    host::{Host, quiet, string, text},
    options::{ADAPTER, Options},
    provider::{NAME, Provider},
};

/// Makes providers. The runtime calls it by its table, which is its first member. Each provider holds it: sessions that
/// outlive the library's registration give their providers back by the same table.
#[repr(C)]
pub(crate) struct Factory {
    table: OrtEpFactory,
    host: Host,
    devices: Devices,
}

impl Factory {
    #[expect(
        clippy::arc_with_non_send_sync,
        reason = "its pointers are tables of functions, and the devices have a lock"
    )]
    pub(crate) fn new(host: Host) -> Arc<Self> {
        let absent = ptr::null();
        let table = OrtEpFactory {
            ort_version_supported: ORT_API_VERSION,
            get_name,
            get_vendor,
            get_supported_devices,
            create_ep,
            release_ep,
            get_vendor_id,
            get_version,
            validate_compiled_model_compatibility_info: absent,
            create_allocator,
            release_allocator,
            create_data_transfer,
            is_stream_aware,
            create_sync_stream_for_device: absent,
            get_hardware_device_incompatibility_details: absent,
            create_external_resource_importer_for_device: absent,
            get_num_custom_op_domains: absent,
            get_custom_op_domains: absent,
        };
        Arc::new(Self { table, host, devices: Devices::default() })
    }

    /// For the runtime, which gives it back for `release`.
    pub(crate) fn into_raw(self: Arc<Self>) -> *mut OrtEpFactory {
        Arc::into_raw(self).cast_mut().cast()
    }

    /// # Safety
    /// The pointer is NULL, or one of `into_raw`, and whoever had it uses it no longer.
    pub(crate) unsafe fn release(factory: *mut OrtEpFactory) {
        if !factory.is_null() {
            // SAFETY: as the caller promises.
            quiet((), || drop(unsafe { Arc::from_raw(factory.cast::<Self>()) }));
        }
    }

    /// The devices on which models can be run: none where there is no adapter.
    ///
    /// # Safety
    /// The hardware devices are there.
    unsafe fn offered(&self, devices: &[*const OrtHardwareDevice]) -> Vec<(Adapter, *const OrtHardwareDevice)> {
        let Host { api, .. } = self.host;
        // SAFETY: as the caller promises; the table has this member.
        let kind = |device: &*const OrtHardwareDevice| unsafe { (api.hardware_device_type)(*device) };
        let of_type = |wanted: i32| devices.iter().copied().filter(move |device| kind(device) == wanted);
        let address = |device| {
            // SAFETY: as above; what is known of a device is there as long as it is.
            unsafe { string((api.get_key_value)((api.hardware_device_metadata)(device), c"pci_bus_id".as_ptr())) }
        };
        let gpus: Vec<_> = of_type(hardware::GPU).map(|device| (address(device), device)).collect();
        paired(adapters(), &gpus, of_type(hardware::CPU).next())
    }

    /// # Safety
    /// The hardware device is there.
    unsafe fn device(&self, adapter: &Adapter, device: *const OrtHardwareDevice) -> Result<*mut OrtEpDevice, Failure> {
        let metadata = Pairs::new(self.host);
        metadata.add("adapter", &adapter.name);
        metadata.add("driver", &adapter.driver);
        metadata.add("pci_bus_id", &adapter.address);
        metadata.add("software", if adapter.software { "1" } else { "0" });
        let options = Pairs::new(self.host);
        options.add(ADAPTER, adapter.option());
        let mut made = ptr::null_mut();
        let factory = ptr::from_ref(self).cast_mut().cast();
        // SAFETY: as the caller promises; the runtime copies both lists.
        unsafe {
            let create = self.host.ep.create_ep_device;
            self.host.check(create(factory, device, metadata.0, options.0, &mut made))?;
        }
        Ok(made)
    }

    /// The entries of a session.
    ///
    /// # Safety
    /// The options are there.
    unsafe fn entries(&self, options: *const OrtSessionOptions) -> Result<BTreeMap<String, String>, Failure> {
        let Host { api, .. } = self.host;
        let (mut keys, mut values, mut count) = (ptr::null(), ptr::null(), 0);
        // SAFETY: as the caller promises; texts are there as long as the list.
        unsafe {
            let mut pairs = ptr::null_mut();
            self.host.check((api.get_session_options_config_entries)(options, &mut pairs))?;
            let found = Pairs(pairs, self.host);
            (api.get_key_value_pairs)(found.0, &mut keys, &mut values, &mut count);
            Ok((0..count).map(|index| (string(*keys.add(index)), string(*values.add(index)))).collect())
        }
    }
}

/// Keys and values of the runtime's.
struct Pairs(*mut OrtKeyValuePairs, Host);

impl Pairs {
    fn new(host: Host) -> Self {
        let mut pairs = ptr::null_mut();
        // SAFETY: there is room for a pointer.
        unsafe { (host.api.create_key_value_pairs)(&mut pairs) };
        Self(pairs, host)
    }

    fn add(&self, key: &str, value: &str) {
        let (key, value) = (text(key), text(value));
        // SAFETY: the list is there, and the texts are copied.
        unsafe { (self.1.api.add_key_value_pair)(self.0, key.as_ptr(), value.as_ptr()) };
    }
}

impl Drop for Pairs {
    fn drop(&mut self) {
        // SAFETY: the list is this one's, and is not used any longer.
        unsafe { (self.1.api.release_key_value_pairs)(self.0) };
    }
}

unsafe extern "system" fn get_name(_factory: *const OrtEpFactory) -> *const c_char {
    NAME.as_ptr()
}

unsafe extern "system" fn get_vendor(_factory: *const OrtEpFactory) -> *const c_char {
    c"texpool".as_ptr()
}

/// There is no number for who is no member of the PCI-SIG.
unsafe extern "system" fn get_vendor_id(_factory: *const OrtEpFactory) -> u32 {
    0
}

unsafe extern "system" fn get_version(_factory: *const OrtEpFactory) -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

unsafe extern "system" fn get_supported_devices(
    factory: *mut OrtEpFactory,
    devices: *const *const OrtHardwareDevice,
    device_count: usize,
    ep_devices: *mut *mut OrtEpDevice,
    room: usize,
    ep_device_count: *mut usize,
) -> *mut OrtStatus {
    // SAFETY: the runtime calls this for what `into_raw` gave it and `release` was not called for.
    let factory = unsafe { &*factory.cast::<Factory>() };
    factory.host.answer(|| {
        // SAFETY: the runtime has as many devices, and room for as many answers.
        unsafe {
            ep_device_count.write(0);
            let devices = if device_count == 0 { &[] } else { slice::from_raw_parts(devices, device_count) };
            for (index, (adapter, device)) in factory.offered(devices).into_iter().take(room).enumerate() {
                ep_devices.add(index).write(factory.device(&adapter, device)?);
                ep_device_count.write(index + 1);
            }
        }
        Ok(())
    })
}

unsafe extern "system" fn create_ep(
    factory: *mut OrtEpFactory,
    _devices: *const *const OrtHardwareDevice,
    _metadata: *const *const OrtKeyValuePairs,
    count: usize,
    options: *const OrtSessionOptions,
    logger: *const OrtLogger,
    ep: *mut *mut OrtEp,
) -> *mut OrtStatus {
    let raw = factory.cast::<Factory>();
    // SAFETY: as for `get_supported_devices`.
    let factory = unsafe { &*raw };
    factory.host.answer(|| {
        // SAFETY: the runtime has room for a pointer there.
        unsafe { ep.write(ptr::null_mut()) };
        if count != 1 {
            let message = format!("a session runs on one device; {count} were given: pass one of them");
            return Err(Failure::new(ErrorCode::InvalidArgument, message));
        }
        // SAFETY: the options are there for as long as the call.
        let entries = unsafe { factory.entries(options)? };
        let options = Options::of_session(&entries, &NAME.to_string_lossy())?;
        let context = factory.devices.context(&options)?;
        // SAFETY: as above; the logger is there for as long as the session, which is longer than the provider. The factory
        // is one of `into_raw`, and `release_ep` takes this use of it back.
        unsafe {
            ep.write(Provider::new(factory.host, logger, context, options).into_raw());
            Arc::increment_strong_count(raw);
        }
        Ok(())
    })
}

unsafe extern "system" fn release_ep(factory: *mut OrtEpFactory, ep: *mut OrtEp) {
    // SAFETY: the runtime gives back what `create_ep` made, once.
    unsafe {
        Provider::release(ep);
        Factory::release(factory);
    }
}

/// Values lie in the processor's memory, for which the runtime has an allocator.
unsafe extern "system" fn create_allocator(
    _factory: *mut OrtEpFactory,
    _memory: *const OrtMemoryInfo,
    _options: *const OrtKeyValuePairs,
    allocator: *mut *mut OrtAllocator,
) -> *mut OrtStatus {
    // SAFETY: the runtime has room for a pointer there.
    unsafe { allocator.write(ptr::null_mut()) };
    ptr::null_mut()
}

unsafe extern "system" fn release_allocator(_factory: *mut OrtEpFactory, _allocator: *mut OrtAllocator) {}

unsafe extern "system" fn create_data_transfer(
    _factory: *mut OrtEpFactory,
    transfer: *mut *mut OrtDataTransferImpl,
) -> *mut OrtStatus {
    // SAFETY: the runtime has room for a pointer there.
    unsafe { transfer.write(ptr::null_mut()) };
    ptr::null_mut()
}

unsafe extern "system" fn is_stream_aware(_factory: *const OrtEpFactory) -> bool {
    false
}
