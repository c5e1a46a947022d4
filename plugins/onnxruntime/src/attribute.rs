//! Converts attributes of the runtime's nodes into messages of an ONNX file.

use std::ptr;

use crate::{
    api::types::{OrtOpAttr, attribute},
    failure::Failure,
    host::Host,
    onnx::{Message, tensor_header},
    tensors::tensor,
};

/// Converts an attribute into an `AttributeProto`.
///
/// # Safety
/// The attribute exists.
pub(crate) unsafe fn attribute_message(host: Host, attribute: *const OrtOpAttr) -> Result<Vec<u8>, Failure> {
    let Host { api, .. } = host;
    // SAFETY: as the caller promises.
    let name = unsafe { host.text_of(api.op_attr_get_name, attribute)? };
    let mut kind = 0;
    // SAFETY: as above.
    unsafe { host.check((api.op_attr_get_type)(attribute, &mut kind)) }
        .map_err(|failure| failure.during(&format!("its attribute `{name}` cannot be read")))?;
    let mut message = Message::default();
    message.bytes(1, name.as_bytes());
    // SAFETY: as above, and each kind is read as its type.
    unsafe {
        match kind {
            attribute::INT => {
                contents::<i64>(host, attribute, kind)?.iter().for_each(|&int| message.number(3, int));
            }
            attribute::INTS => {
                contents::<i64>(host, attribute, kind)?.iter().for_each(|&int| message.number(8, int));
            }
            attribute::FLOAT => {
                contents::<f32>(host, attribute, kind)?.iter().for_each(|&float| message.float(2, float));
            }
            attribute::FLOATS => {
                contents::<f32>(host, attribute, kind)?.iter().for_each(|&float| message.float(7, float));
            }
            attribute::STRING => {
                let text = contents::<u8>(host, attribute, kind)?;
                message.bytes(4, text.strip_suffix(&[0]).unwrap_or(&text));
            }
            attribute::STRINGS => {
                let texts = contents::<u8>(host, attribute, kind)?;
                let texts = texts.strip_suffix(&[0]).unwrap_or(&texts);
                texts.split(|&byte| byte == 0).for_each(|text| message.bytes(9, text));
            }
            attribute::TENSOR => {
                let mut value = ptr::null_mut();
                host.check((api.op_attr_get_tensor_attribute_as_ort_value)(attribute, &mut value))?;
                let read = tensor(host, value).map(|(kind, dims, bytes)| {
                    let header = tensor_header("", kind, &dims, bytes.len());
                    message.bytes(5, &[&header, bytes].concat());
                });
                (api.release_value)(value);
                read?;
            }
            attribute::GRAPH => {
                return Err(Failure::interface("control flow is not supported; its body stays, too"));
            }
            other => {
                return Err(Failure::interface(format!("its attribute `{name}` is of kind {other}, which is none")));
            }
        }
    }
    message.number(20, onnx_kind(kind));
    Ok(message.0)
}

/// Returns the elements of an attribute.
///
/// # Safety
/// The attribute exists and has this kind, its elements are of type `T`, and all bit patterns are valid for `T`.
unsafe fn contents<T: Default + Clone>(host: Host, attribute: *const OrtOpAttr, kind: i32) -> Result<Vec<T>, Failure> {
    let mut bytes = 0;
    let read = host.api.read_op_attr;
    // SAFETY: as the caller promises. Without a buffer, the runtime returns the number of bytes, and also an error
    // unless that is 0.
    let measured = unsafe { host.check(read(attribute, kind, ptr::null_mut(), 0, &mut bytes)) };
    if bytes == 0 {
        return measured.map(|()| Vec::new());
    }
    let mut elements = vec![T::default(); bytes.div_ceil(size_of::<T>())];
    // SAFETY: as above, and the buffer has room for `bytes` bytes.
    unsafe { host.check(read(attribute, kind, elements.as_mut_ptr().cast(), bytes, &mut bytes))? };
    Ok(elements)
}

/// Returns ONNX's number for the kind (`AttributeProto.AttributeType`).
fn onnx_kind(kind: i32) -> i64 {
    match kind {
        attribute::FLOAT => 1,
        attribute::INT => 2,
        attribute::STRING => 3,
        attribute::TENSOR => 4,
        attribute::FLOATS => 6,
        attribute::INTS => 7,
        _ => 8,
    }
}
