//! Splits a run into submissions, each of which transfers as much as its buffers hold.

use std::ops::Range;

use super::{
    copy::Copy,
    sources::{Bytes, Source},
    texel_transfer::{TexelTransfer, TransferOf},
};
use crate::packed_weights::PackedWeights;
use texpool_plan::TexelFormat;

/// Commands and transfers of one submission.
#[derive(Debug, Default)]
pub(super) struct Submission {
    /// In execution order.
    pub(super) commands: Vec<Command>,
    /// Uploaded bytes, with their offsets in the buffer.
    pub(super) fills: Vec<(Bytes, usize)>,
    /// Downloaded bytes.
    pub(super) takes: Vec<OutputRange>,
}

/// One command to encode.
#[derive(Debug)]
pub(super) enum Command {
    Dispatches(Range<usize>),
    Upload(Copy),
    Download(Copy),
}

/// A byte range of an output, with its offset in the buffer.
#[derive(Clone, Debug)]
pub(super) struct OutputRange {
    pub(super) output: usize,
    pub(super) range: Range<usize>,
    pub(super) offset: usize,
}

/// Sizes of the buffers in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    pub(super) upload: u64,
    pub(super) download: u64,
}

#[cfg(not(target_arch = "wasm32"))]
impl Submission {
    /// Returns the bytes that one of its copies uploads.
    pub(super) fn uploaded(&self, copy: &Copy, run: &super::sources::Run<'_>, format: TexelFormat) -> Vec<u8> {
        let mut made = vec![0; copy.texels as usize * format.texel_bytes() as usize];
        let (begin, end) = (copy.offset as usize, copy.offset as usize + made.len());
        for (source, offset) in &self.fills {
            let (from, to) = ((*offset).max(begin), (offset + source.range.len()).min(end));
            if from < to {
                let first = source.range.start + from - offset;
                let part = Bytes { from: source.from, range: first..first + to - from };
                let made = &mut made[from - begin..to - begin];
                run.read(&part, &mut |at, bytes| made[at..at + bytes.len()].copy_from_slice(bytes));
            }
        }
        made
    }
}

/// Splits a run into submissions, and computes the required buffer sizes, at most `slot` bytes each. Returns no
/// submissions if nothing is transferred.
pub(super) fn submissions(
    packed: &PackedWeights,
    transfers: &[TexelTransfer],
    format: TexelFormat,
    slot: u64,
    dispatches: usize,
) -> (Room, Vec<Submission>) {
    let texel = format.texel_bytes() as usize;
    let in_bytes = |texels: &Range<usize>| texels.start * texel..texels.end * texel;
    let pieces = |transfer: &TexelTransfer| -> Vec<Piece> {
        match &transfer.of {
            TransferOf::Weights { node, slices } => {
                let ranges = packed.ranges(*node, slices).into_iter();
                ranges.map(|range| Piece::Upload(Bytes { from: Source::Weights, range })).collect()
            }
            TransferOf::Input { input, texels } => {
                vec![Piece::Upload(Bytes { from: Source::Input(*input), range: in_bytes(texels) })]
            }
            TransferOf::Output { output, texels } => {
                vec![Piece::Download { output: *output, range: in_bytes(texels) }]
            }
        }
    };
    let (mut uploaded, mut downloaded) = (0, 0);
    for piece in transfers.iter().flat_map(pieces) {
        match piece {
            Piece::Upload(bytes) => uploaded += bytes.range.len() as u64,
            Piece::Download { range, .. } => downloaded += range.len() as u64,
        }
    }
    let room = Room { upload: uploaded.min(slot), download: downloaded.min(slot) };
    if uploaded + downloaded == 0 {
        return (room, Vec::new());
    }
    let mut divided = Divided { room, texel, uploaded: 0, downloaded: 0, dispatched: 0, made: Vec::new() };
    divided.begin();
    for transfer in transfers {
        divided.dispatch(transfer.before);
        let mut first = transfer.first;
        for piece in pieces(transfer) {
            first = divided.add(transfer, piece, first);
        }
    }
    divided.dispatch(dispatches);
    (room, divided.made)
}

/// A part of a transfer whose bytes are contiguous.
enum Piece {
    Upload(Bytes),
    Download { output: usize, range: Range<usize> },
}

struct Divided {
    room: Room,
    texel: usize,
    /// Used bytes of the last submission's buffers.
    uploaded: usize,
    downloaded: usize,
    /// Number of dispatches that are already part of a submission.
    dispatched: usize,
    made: Vec<Submission>,
}

impl Divided {
    fn begin(&mut self) {
        (self.uploaded, self.downloaded) = (0, 0);
        self.made.push(Submission::default());
    }

    /// Adds all remaining dispatches before `before`.
    fn dispatch(&mut self, before: usize) {
        if let (Some(last), true) = (self.made.last_mut(), before > self.dispatched) {
            last.commands.push(Command::Dispatches(self.dispatched..before));
            self.dispatched = before;
        }
    }

    /// Adds a piece, split into several submissions if it does not fit into the buffer. Returns the texel after it.
    fn add(&mut self, transfer: &TexelTransfer, mut piece: Piece, mut first: u32) -> u32 {
        loop {
            let (left, used, room) = match &piece {
                Piece::Upload(bytes) => (&bytes.range, self.uploaded, self.room.upload as usize),
                Piece::Download { range, .. } => (range, self.downloaded, self.room.download as usize),
            };
            if left.is_empty() {
                return first;
            }
            let length = left.len().min((room - used) / self.texel * self.texel);
            if length == 0 {
                self.begin();
                continue;
            }
            let texels = (length / self.texel) as u32;
            let copy = Copy { offset: used as u64, texture: transfer.texture, first, texels, before: transfer.before };
            first += texels;
            let Some(last) = self.made.last_mut() else { return first };
            match &mut piece {
                Piece::Upload(bytes) => {
                    let range = bytes.range.start..bytes.range.start + length;
                    bytes.range.start = range.end;
                    last.upload(Bytes { from: bytes.from, range }, copy);
                    self.uploaded += length;
                }
                Piece::Download { output, range } => {
                    let taken = range.start..range.start + length;
                    range.start = taken.end;
                    last.download(OutputRange { output: *output, range: taken, offset: used }, copy);
                    self.downloaded += length;
                }
            }
        }
    }
}

impl Submission {
    /// Adds an upload. Bytes that are contiguous in source and texture are also contiguous in the buffer, so adjacent
    /// uploads are merged.
    fn upload(&mut self, bytes: Bytes, copy: Copy) {
        match self.fills.last_mut() {
            Some((last, _)) if last.from == bytes.from && last.range.end == bytes.range.start => {
                last.range.end = bytes.range.end;
            }
            _ => self.fills.push((bytes, copy.offset as usize)),
        }
        match self.commands.last_mut() {
            Some(Command::Upload(last)) if last.is_followed_by(&copy) => last.texels += copy.texels,
            _ => self.commands.push(Command::Upload(copy)),
        }
    }

    /// Adds a download, merged in the same way.
    fn download(&mut self, take: OutputRange, copy: Copy) {
        match self.takes.last_mut() {
            Some(last) if last.output == take.output && last.range.end == take.range.start => {
                last.range.end = take.range.end;
            }
            _ => self.takes.push(take),
        }
        match self.commands.last_mut() {
            Some(Command::Download(last)) if last.is_followed_by(&copy) => last.texels += copy.texels,
            _ => self.commands.push(Command::Download(copy)),
        }
    }
}
