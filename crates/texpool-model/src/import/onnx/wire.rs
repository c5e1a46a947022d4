//! Parses the protobuf wire format field by field, and checks each against the bytes available. Independent of any
//! message type.
//!
//! Only parses the fields that callers request, and copies nothing. Nesting and stated lengths in a file therefore
//! cost neither stack nor memory. (`rten-onnx` 0.27 recurses as deep as a file says.)

use std::{cell::RefCell, ops::Range};

use crate::import::meter::{Excess, Meter};

/// A message: a range of the file's bytes.
#[derive(Clone, Debug)]
pub(super) struct Message<'a> {
    file: &'a [u8],
    range: Range<usize>,
    /// Charged for everything parsed from messages, because an empty message of two bytes becomes hundreds.
    meter: &'a RefCell<Meter>,
}

/// A field's value.
#[derive(Clone, Debug)]
pub(super) enum FieldValue {
    /// A varint.
    Varint(u64),
    /// Four bytes.
    Four([u8; 4]),
    /// Eight bytes. No supported field has this type.
    Eight,
    /// Byte range of a length-delimited value: bytes, a text, a message or packed numbers.
    Bytes(Range<usize>),
}

/// An error in a message, and its position in the file.
#[derive(Clone, Debug)]
pub(super) struct Broken {
    pub(super) what: &'static str,
    pub(super) at: usize,
    /// The excess, if parsing exceeded the allowance for a file of this size.
    pub(super) excess: Option<Excess>,
}

impl Broken {
    const fn new(what: &'static str, at: usize) -> Self {
        Self { what, at, excess: None }
    }
}

pub(super) type Read<T> = Result<T, Broken>;

impl<'a> Message<'a> {
    /// The whole file as a message.
    pub(super) fn of(file: &'a [u8], meter: &'a RefCell<Meter>) -> Self {
        Self { file, range: 0..file.len(), meter }
    }

    /// The message at a range of the file.
    pub(super) fn at(&self, range: Range<usize>) -> Self {
        Self { range, ..self.clone() }
    }

    /// Charges memory that is about to be allocated for this message.
    pub(super) fn makes(&self, bytes: usize) -> Read<()> {
        let charge = self.meter.borrow_mut().memory(bytes);
        charge.map_err(|excess| Broken {
            excess: Some(excess),
            ..Broken::new("too much is made of it", self.range.start)
        })
    }

    /// Returns the next field's number and value, or `None` at the end.
    pub(super) fn next(&mut self) -> Read<Option<(u64, FieldValue)>> {
        if self.range.is_empty() {
            return Ok(None);
        }
        let at = self.range.start;
        let key = self.varint()?;
        let value = match key & 7 {
            0 => FieldValue::Varint(self.varint()?),
            1 => {
                self.fixed::<8>()?;
                FieldValue::Eight
            }
            2 => {
                let length = usize::try_from(self.varint()?).ok();
                let start = self.range.start;
                let end = length.and_then(|length| start.checked_add(length)).filter(|&end| end <= self.range.end);
                let end = end.ok_or(Broken::new("a field is longer than what holds it", at))?;
                self.range.start = end;
                FieldValue::Bytes(start..end)
            }
            5 => FieldValue::Four(self.fixed()?),
            // This includes groups (3 and 4), which ONNX does not use and which can be nested.
            _ => return Err(Broken::new("a field has an unknown wire type", at)),
        };
        match key >> 3 {
            0 => Err(Broken::new("a field has the number 0", at)),
            number => Ok(Some((number, value))),
        }
    }

    fn varint(&mut self) -> Read<u64> {
        let at = self.range.start;
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let [byte] = self.fixed()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Broken::new("a number has more than ten bytes", at))
    }

    fn fixed<const N: usize>(&mut self) -> Read<[u8; N]> {
        let at = self.range.start;
        let bytes = self.file.get(self.range.clone()).and_then(|rest| rest.first_chunk::<N>());
        let bytes = *bytes.ok_or(Broken::new("it ends inside a field", at))?;
        self.range.start += N;
        Ok(bytes)
    }

    /// Returns a value as a message.
    pub(super) fn message(&self, value: &FieldValue) -> Read<Self> {
        Ok(self.at(self.bytes(value)?))
    }

    /// Returns the byte range of a value.
    pub(super) fn bytes(&self, value: &FieldValue) -> Read<Range<usize>> {
        match value {
            FieldValue::Bytes(range) => Ok(range.clone()),
            _ => Err(self.unexpected()),
        }
    }

    /// Returns a value as a text, for names that identify tensors. Fails if it is not UTF-8, because replacing
    /// invalid bytes could make two names equal.
    pub(super) fn text(&self, value: &FieldValue) -> Read<String> {
        let range = self.bytes(value)?;
        self.makes(range.len())?;
        let text = self.file.get(range.clone()).and_then(|bytes| std::str::from_utf8(bytes).ok());
        text.map(str::to_owned).ok_or(Broken::new("a text is not UTF-8", range.start))
    }

    /// Returns a value as a text that identifies nothing. Replaces invalid UTF-8.
    pub(super) fn loose_text(&self, value: &FieldValue) -> Read<String> {
        let range = self.bytes(value)?;
        self.makes(range.len())?;
        Ok(String::from_utf8_lossy(self.file.get(range).unwrap_or_default()).into_owned())
    }

    /// Returns a value as an integer.
    pub(super) fn int(&self, value: &FieldValue) -> Read<i64> {
        match value {
            FieldValue::Varint(v) => Ok(*v as i64),
            _ => Err(self.unexpected()),
        }
    }

    /// Returns a value as a float.
    pub(super) fn float(&self, value: &FieldValue) -> Read<f32> {
        match value {
            FieldValue::Four(bytes) => Ok(f32::from_le_bytes(*bytes)),
            _ => Err(self.unexpected()),
        }
    }

    /// Appends the integers of a repeated field. The value is a single integer or a packed list.
    pub(super) fn ints(&self, value: &FieldValue, to: &mut Vec<i64>) -> Read<()> {
        let FieldValue::Bytes(range) = value else {
            // Not charged: a single number takes at least two bytes of the file, which the allowance covers.
            to.push(self.int(value)?);
            return Ok(());
        };
        // A packed number takes at least one byte, so the number of bytes is an upper limit.
        self.makes(range.len().saturating_mul(size_of::<i64>()))?;
        let mut packed = self.at(range.clone());
        while !packed.range.is_empty() {
            to.push(packed.varint()? as i64);
        }
        Ok(())
    }

    /// Appends the floats of a repeated field. The value is a single float or a packed list.
    pub(super) fn floats(&self, value: &FieldValue, to: &mut Vec<f32>) -> Read<()> {
        let FieldValue::Bytes(range) = value else {
            to.push(self.float(value)?);
            return Ok(());
        };
        let (floats, rest) = self.file.get(range.clone()).unwrap_or_default().as_chunks::<4>();
        if !rest.is_empty() {
            return Err(Broken::new("packed floats end inside a float", range.start));
        }
        self.makes(range.len())?;
        to.extend(floats.iter().map(|&bytes| f32::from_le_bytes(bytes)));
        Ok(())
    }

    /// Appends the 64-bit floats of a packed field.
    pub(super) fn doubles(&self, value: &FieldValue, to: &mut Vec<f64>) -> Read<()> {
        let FieldValue::Bytes(range) = value else { return Err(self.unexpected()) };
        let (doubles, rest) = self.file.get(range.clone()).unwrap_or_default().as_chunks::<8>();
        if !rest.is_empty() {
            return Err(Broken::new("packed doubles end inside a double", range.start));
        }
        self.makes(range.len())?;
        to.extend(doubles.iter().map(|&bytes| f64::from_le_bytes(bytes)));
        Ok(())
    }

    fn unexpected(&self) -> Broken {
        Broken::new("a field has another type than the format gives it", self.range.start)
    }
}
