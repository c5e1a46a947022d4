//! The protobuf wire format: fields one after another, each checked against the bytes there are. Knows no message.
//!
//! Nothing is copied and nothing is entered that is not asked for, so that a file's nesting and stated lengths cost
//! neither stack nor memory; `rten-onnx` 0.27 recurses as deep as a file says.

use std::{cell::RefCell, ops::Range};

use crate::import::meter::{Excess, Meter};

/// A message's bytes: a range of the file.
#[derive(Clone, Debug)]
pub(super) struct Message<'a> {
    file: &'a [u8],
    range: Range<usize>,
    /// What is made of messages counts here: an empty message of two bytes becomes hundreds.
    meter: &'a RefCell<Meter>,
}

/// A field's value.
#[derive(Clone, Debug)]
pub(super) enum FieldValue {
    /// A number of variable length.
    Varint(u64),
    /// Four bytes.
    Four([u8; 4]),
    /// Eight bytes, which nothing that is read has.
    Eight,
    /// Bytes, a text, a message or packed numbers: where they lie in the file.
    Bytes(Range<usize>),
}

/// What is wrong with a message, and where in the file.
#[derive(Clone, Debug)]
pub(super) struct Broken {
    pub(super) what: &'static str,
    pub(super) at: usize,
    /// What was asked for, if it is more than may be made of a file of this size.
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

    /// The message that lies there in the file.
    pub(super) fn at(&self, range: Range<usize>) -> Self {
        Self { range, ..self.clone() }
    }

    /// Counts bytes that are about to be made of this message.
    pub(super) fn makes(&self, bytes: usize) -> Read<()> {
        let taken = self.meter.borrow_mut().memory(bytes);
        taken.map_err(|excess| Broken {
            excess: Some(excess),
            ..Broken::new("too much is made of it", self.range.start)
        })
    }

    /// The next field's number and value; `None` at the end.
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
            // Groups (3 and 4) among them: ONNX has none, and they nest.
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

    /// The message that a value is.
    pub(super) fn message(&self, value: &FieldValue) -> Read<Self> {
        Ok(self.at(self.bytes(value)?))
    }

    /// Where the bytes that a value is lie in the file.
    pub(super) fn bytes(&self, value: &FieldValue) -> Read<Range<usize>> {
        match value {
            FieldValue::Bytes(range) => Ok(range.clone()),
            _ => Err(self.unexpected()),
        }
    }

    /// The text that a value is, whole: names tell tensors apart. One that is not UTF-8 is refused, because what is put in
    /// the place of its bytes could make two names one.
    pub(super) fn text(&self, value: &FieldValue) -> Read<String> {
        let range = self.bytes(value)?;
        self.makes(range.len())?;
        let text = self.file.get(range.clone()).and_then(|bytes| std::str::from_utf8(bytes).ok());
        text.map(str::to_owned).ok_or(Broken::new("a text is not UTF-8", range.start))
    }

    /// The text that a value is, for what tells nothing apart: what is not UTF-8 is replaced.
    pub(super) fn loose_text(&self, value: &FieldValue) -> Read<String> {
        let range = self.bytes(value)?;
        self.makes(range.len())?;
        Ok(String::from_utf8_lossy(self.file.get(range).unwrap_or_default()).into_owned())
    }

    /// The integer that a value is.
    pub(super) fn int(&self, value: &FieldValue) -> Read<i64> {
        match value {
            FieldValue::Varint(v) => Ok(*v as i64),
            _ => Err(self.unexpected()),
        }
    }

    /// The float that a value is.
    pub(super) fn float(&self, value: &FieldValue) -> Read<f32> {
        match value {
            FieldValue::Four(bytes) => Ok(f32::from_le_bytes(*bytes)),
            _ => Err(self.unexpected()),
        }
    }

    /// Adds the integers of a repeated field, of which this is one or a packed run.
    pub(super) fn ints(&self, value: &FieldValue, to: &mut Vec<i64>) -> Read<()> {
        let FieldValue::Bytes(range) = value else {
            // Not counted: by itself a number takes two bytes of the file or more, which allow for it.
            to.push(self.int(value)?);
            return Ok(());
        };
        // A packed number takes a byte or more, so there are no more than bytes.
        self.makes(range.len().saturating_mul(size_of::<i64>()))?;
        let mut packed = self.at(range.clone());
        while !packed.range.is_empty() {
            to.push(packed.varint()? as i64);
        }
        Ok(())
    }

    /// Adds the floats of a repeated field, of which this is one or a packed run.
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

    fn unexpected(&self) -> Broken {
        Broken::new("a field has another type than the format gives it", self.range.start)
    }
}
