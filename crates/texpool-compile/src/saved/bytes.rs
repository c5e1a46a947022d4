//! Writes numbers and strings as bytes, and reads them from untrusted bytes. Counts are limited by the number of
//! remaining bytes.

use super::error::SavedPlanError;

/// Writes bytes sequentially.
#[derive(Default)]
pub(super) struct Writer {
    pub(super) bytes: Vec<u8>,
}

impl Writer {
    /// Writes a number in LEB128: seven bits per byte, least significant first, with the top bit set on all bytes but
    /// the last.
    pub(super) fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }

    /// Writes a signed number in zigzag encoding (0, -1, 1, -2 and so on become 0, 1, 2, 3), so that small numbers of
    /// either sign take few bytes.
    pub(super) fn signed(&mut self, number: i64) {
        self.number(((number << 1) ^ (number >> 63)) as u64);
    }

    pub(super) fn count(&mut self, count: usize) {
        self.number(count as u64);
    }

    pub(super) fn flag(&mut self, flag: bool) {
        self.number(u64::from(flag));
    }

    pub(super) fn fixed<const N: usize>(&mut self, bytes: [u8; N]) {
        self.bytes.extend(bytes);
    }

    pub(super) fn text(&mut self, text: &str) {
        self.count(text.len());
        self.bytes.extend(text.as_bytes());
    }
}

/// Reads bytes sequentially.
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// Creates a reader that starts at byte `at`.
    pub(super) const fn new(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at }
    }

    /// Returns an error for the value that was read last.
    pub(super) fn damaged(&self, why: &'static str) -> SavedPlanError {
        SavedPlanError::Damaged { at: self.at.saturating_sub(1), why }
    }

    fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    fn take(&mut self, count: usize, why: &'static str) -> Result<&'a [u8], SavedPlanError> {
        let bytes = self.rest().get(..count).ok_or(SavedPlanError::Damaged { at: self.at, why })?;
        self.at += count;
        Ok(bytes)
    }

    /// Reads `N` bytes.
    pub(super) fn fixed<const N: usize>(&mut self, why: &'static str) -> Result<[u8; N], SavedPlanError> {
        let mut fixed = [0; N];
        fixed.copy_from_slice(self.take(N, why)?);
        Ok(fixed)
    }

    /// Reads a number; accepts only the encoding that [`Writer`] produces.
    pub(super) fn number(&mut self) -> Result<u64, SavedPlanError> {
        let mut number = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let [byte] = self.fixed("a number is cut off")?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                break;
            }
            number |= bits << shift;
            if byte < 0x80 {
                let short = byte > 0 || shift == 0;
                return if short { Ok(number) } else { Err(self.damaged("a number has more bytes than it needs")) };
            }
        }
        Err(self.damaged("a number has more than 64 bits"))
    }

    /// Reads a signed number.
    pub(super) fn signed(&mut self) -> Result<i64, SavedPlanError> {
        let number = self.number()?;
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    /// Reads a number of at most `most`.
    pub(super) fn at_most(&mut self, most: usize, why: &'static str) -> Result<usize, SavedPlanError> {
        let number = usize::try_from(self.number()?).ok().filter(|&number| number <= most);
        number.ok_or_else(|| self.damaged(why))
    }

    /// Reads a 32-bit number.
    pub(super) fn word(&mut self) -> Result<u32, SavedPlanError> {
        u32::try_from(self.number()?).map_err(|_| self.damaged("a number has more than 32 bits"))
    }

    /// Reads the number of following items, each of which takes at least one byte.
    pub(super) fn count(&mut self) -> Result<usize, SavedPlanError> {
        let count = self.at_most(usize::MAX, "there cannot be so many")?;
        if count > self.rest().len() {
            return Err(self.damaged("more things should follow than bytes do"));
        }
        Ok(count)
    }

    pub(super) fn flag(&mut self) -> Result<bool, SavedPlanError> {
        Ok(self.at_most(1, "it is neither yes nor no")? == 1)
    }

    /// Reads a time: a finite number that is not negative.
    pub(super) fn time(&mut self) -> Result<f64, SavedPlanError> {
        let time = f64::from_bits(u64::from_le_bytes(self.fixed("a time is cut off")?));
        if time.is_finite() && time >= 0.0 { Ok(time) } else { Err(self.damaged("it is no time")) }
    }

    pub(super) fn text(&mut self) -> Result<&'a str, SavedPlanError> {
        let length = self.count()?;
        let text = std::str::from_utf8(self.take(length, "a text is cut off")?);
        text.map_err(|_| self.damaged("a text is not in UTF-8"))
    }

    /// Verifies that no bytes are left.
    pub(super) fn end(&self) -> Result<(), SavedPlanError> {
        match self.rest() {
            [] => Ok(()),
            _ => Err(SavedPlanError::Damaged { at: self.at, why: "the plan ends before the bytes do" }),
        }
    }
}
