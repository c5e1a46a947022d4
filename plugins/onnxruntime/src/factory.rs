//! The factory by which the runtime lists devices and creates providers for sessions.

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

/// Creates providers. The runtime calls it through its table, so that must be the first member. Each provider keeps
/// the factory alive, because sessions may outlive the registration of the library, and release their providers
/// through the same table.
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

    /// Returns the pointer for the runtime, which passes it to `release` later.
    pub(crate) fn into_raw(self: Arc<Self>) -> *mut OrtEpFactory {
        Arc::into_raw(self).cast_mut().cast()
    }

    /// # Safety
    /// The pointer is NULL, or it comes from `into_raw`, and its holder does not use it afterwards.
    pub(crate) unsafe fn release(factory: *mut OrtEpFactory) {
        if !factory.is_null() {
            // SAFETY: as the caller promises.
            quiet((), || drop(unsafe { Arc::from_raw(factory.cast::<Self>()) }));
        }
    }

    /// Returns the devices on which models can run. Empty without an adapter.
    ///
    /// # Safety
    /// The hardware devices exist.
    unsafe fn offered(&self, devices: &[*const OrtHardwareDevice]) -> Vec<(Adapter, *const OrtHardwareDevice)> {
        let Host { api, .. } = self.host;
        // SAFETY: as the caller promises; the table has this member.
        let kind = |device: &*const OrtHardwareDevice| unsafe { (api.hardware_device_type)(*device) };
        let of_type = |number: i32| devices.iter().copied().filter(move |device| kind(device) == number);
        let address = |device| {
            // SAFETY: as above; the metadata exist as long as the device.
            unsafe { string((api.get_key_value)((api.hardware_device_metadata)(device), c"pci_bus_id".as_ptr())) }
        };
        let gpus: Vec<_> = of_type(hardware::GPU).map(|device| (address(device), device)).collect();
        paired(adapters(), &gpus, of_type(hardware::CPU).next())
    }

    /// # Safety
    /// The hardware device exists.
    unsafe fn device(&self, adapter: &Adapter, device: *const OrtHardwareDevice) -> Result<*mut OrtEpDevice, Failure> {
        let metadata = Pairs::new(self.host);
        metadata.add("adapter", &adapter.name);
        metadata.add("driver", &adapter.driver);
        metadata.add("pci_bus_id", &adapter.address);
        metadata.add("software", if adapter.software { "1" } else { "0" });
        let options = Pairs::new(self.host);
        options.add(ADAPTER, adapter.option());
        let mut ep_device = ptr::null_mut();
        let factory = ptr::from_ref(self).cast_mut().cast();
        // SAFETY: as the caller promises; the runtime copies both lists.
        unsafe {
            let create = self.host.ep.create_ep_device;
            self.host.check(create(factory, device, metadata.0, options.0, &mut ep_device))?;
        }
        Ok(ep_device)
    }

    /// Returns the configuration entries of a session.
    ///
    /// # Safety
    /// The options exist.
    unsafe fn entries(&self, options: *const OrtSessionOptions) -> Result<BTreeMap<String, String>, Failure> {
        let Host { api, .. } = self.host;
        let (mut keys, mut values, mut count) = (ptr::null(), ptr::null(), 0);
        // SAFETY: as the caller promises; the strings exist as long as the list.
        unsafe {
            let mut pairs = ptr::null_mut();
            self.host.check((api.get_session_options_config_entries)(options, &mut pairs))?;
            let list = Pairs(pairs, self.host);
            (api.get_key_value_pairs)(list.0, &mut keys, &mut values, &mut count);
            Ok((0..count).map(|index| (string(*keys.add(index)), string(*values.add(index)))).collect())
        }
    }
}

/// A list of keys and values of the runtime.
struct Pairs(*mut OrtKeyValuePairs, Host);

impl Pairs {
    fn new(host: Host) -> Self {
        let mut pairs = ptr::null_mut();
        // SAFETY: `pairs` is memory for a pointer.
        unsafe { (host.api.create_key_value_pairs)(&mut pairs) };
        Self(pairs, host)
    }

    fn add(&self, key: &str, value: &str) {
        let (key, value) = (text(key), text(value));
        // SAFETY: the list exists, and the strings are copied.
        unsafe { (self.1.api.add_key_value_pair)(self.0, key.as_ptr(), value.as_ptr()) };
    }
}

impl Drop for Pairs {
    fn drop(&mut self) {
        // SAFETY: this object owns the list, and does not use it afterwards.
        unsafe { (self.1.api.release_key_value_pairs)(self.0) };
    }
}

unsafe extern "system" fn get_name(_factory: *const OrtEpFactory) -> *const c_char {
    NAME.as_ptr()
}

unsafe extern "system" fn get_vendor(_factory: *const OrtEpFactory) -> *const c_char {
    c"texpool".as_ptr()
}

/// texpool has no number, because it is not a member of the PCI-SIG.
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
    // SAFETY: the runtime passes a pointer from `into_raw`, before it calls `release`.
    let factory = unsafe { &*factory.cast::<Factory>() };
    factory.host.answer(|| {
        // SAFETY: the array has `device_count` entries, and there is room for `room` results.
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
        // SAFETY: the runtime passes memory for a pointer.
        unsafe { ep.write(ptr::null_mut()) };
        if count != 1 {
            let message = format!("a session runs on one device; {count} were given: pass one of them");
            return Err(Failure::new(ErrorCode::InvalidArgument, message));
        }
        // SAFETY: the options exist during the call.
        let entries = unsafe { factory.entries(options)? };
        let options = Options::of_session(&entries, &NAME.to_string_lossy())?;
        let context = factory.devices.context(&options)?;
        // SAFETY: as above; the logger exists as long as the session, which is longer than the provider. The factory
        // comes from `into_raw`, and `release_ep` drops the reference that is added here.
        unsafe {
            ep.write(Provider::new(factory.host, logger, context, options).into_raw());
            Arc::increment_strong_count(raw);
        }
        Ok(())
    })
}

unsafe extern "system" fn release_ep(factory: *mut OrtEpFactory, ep: *mut OrtEp) {
    // SAFETY: the runtime passes each result of `create_ep` once.
    unsafe {
        Provider::release(ep);
        Factory::release(factory);
    }
}

/// Values are in host memory, for which the runtime has an allocator, so none is provided.
unsafe extern "system" fn create_allocator(
    _factory: *mut OrtEpFactory,
    _memory: *const OrtMemoryInfo,
    _options: *const OrtKeyValuePairs,
    allocator: *mut *mut OrtAllocator,
) -> *mut OrtStatus {
    // SAFETY: the runtime passes memory for a pointer.
    unsafe { allocator.write(ptr::null_mut()) };
    ptr::null_mut()
}

unsafe extern "system" fn release_allocator(_factory: *mut OrtEpFactory, _allocator: *mut OrtAllocator) {}

unsafe extern "system" fn create_data_transfer(
    _factory: *mut OrtEpFactory,
    transfer: *mut *mut OrtDataTransferImpl,
) -> *mut OrtStatus {
    // SAFETY: the runtime passes memory for a pointer.
    unsafe { transfer.write(ptr::null_mut()) };
    ptr::null_mut()
}

unsafe extern "system" fn is_stream_aware(_factory: *const OrtEpFactory) -> bool {
    false
}
