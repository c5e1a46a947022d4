//! Reads tensors of the runtime in place.

use std::{ptr, slice};

use crate::{api::types::OrtValue, failure::Failure, graph::element_type, host::Host};

/// Returns the type, extents and bytes of a tensor.
///
/// # Safety
/// The value exists during `'g`, and nobody changes it.
pub(crate) unsafe fn tensor<'g>(host: Host, value: *const OrtValue) -> Result<(i32, Vec<usize>, &'g [u8]), Failure> {
    let (mut kind, mut dims, mut rank, mut data, mut length) = (0, ptr::null(), 0, ptr::null(), 0);
    // SAFETY: as the caller promises; the runtime returns the addresses of extents and elements.
    unsafe {
        host.check((host.api.get_tensor_element_type_and_shape_data_reference)(
            value, &mut kind, &mut dims, &mut rank,
        ))?;
        let dims = if rank == 0 { &[] } else { slice::from_raw_parts(dims, rank) };
        let extents = dims.iter().map(|&extent| usize::try_from(extent).ok()).collect::<Option<Vec<_>>>();
        let extents = extents.ok_or_else(|| Failure::interface(format!("a tensor has the extents {dims:?}")))?;
        // String tensors are not stored as plain bytes.
        if element_type(kind).is_none() {
            return Ok((kind, extents, &[]));
        }
        host.check((host.api.get_tensor_size_in_bytes)(value, &mut length))?;
        if length == 0 {
            return Ok((kind, extents, &[]));
        }
        host.check((host.api.get_tensor_data)(value, &mut data))?;
        Ok((kind, extents, slice::from_raw_parts(data.cast(), length)))
    }
}
