//! The saved decisions about a model, except for the placement of its tensors.

use super::{
    bytes::{Reader, Writer},
    error::SavedPlanError,
};
use crate::{
    options::{Objective, StreamedIo, WeightFormat, WeightStorage},
    order::{MemoryOrder, OrderMemory},
    schedule::tiling::Cascade,
};
use texpool_model::rewrite::{Patches, Rules};
use texpool_ops::graph::{BlockSize, Blocks, DeviceClass, LayerKind, NodeId, NodeSet, TensorId};
use texpool_plan::{LayoutKind, StopReason, TexelFormat};

/// The inputs and the results of planning.
pub(super) struct Decisions {
    /// Fingerprint of the rewritten graph.
    pub(super) fingerprint: u64,
    /// Name of the model, for messages.
    pub(super) model: String,
    pub(super) rules: Rules,
    pub(super) row_means: bool,
    pub(super) format: TexelFormat,
    pub(super) objective: Objective,
    pub(super) stopped: Option<StopReason>,
    /// The concatenations and pads whose parts are written in place.
    pub(super) in_place: NodeSet,
    /// Location of the weights while the model runs.
    pub(super) weights: WeightStorage,
    /// Storage format of the weights on the device.
    pub(super) weight_format: WeightFormat,
    /// Inputs and outputs that go through the pool.
    pub(super) stream_io: StreamedIo,
    /// The order of the operators, if it was searched.
    pub(super) order: Option<MemoryOrder>,
    /// The patches into which the first layers are divided.
    pub(super) patches: Option<Patches>,
    /// Name of the strategy that found the plan.
    pub(super) strategy: String,
    /// Kind of layout: shared objects or banks with whole tensors, rows with stripes.
    pub(super) kind: LayoutKind,
    /// Blocks that kernels compute. The division of weights into tiles depends on them.
    pub(super) blocks: Blocks,
    /// `None` for a plan of whole tensors.
    pub(super) division: Option<Division>,
}

/// The cascades, with the figures that cannot be recomputed, because neither the device profile nor the plan of whole
/// tensors is saved.
pub(super) struct Division {
    pub(super) cascades: Vec<Cascade>,
    pub(super) predicted_us: f64,
    pub(super) baseline_us: f64,
    pub(super) baseline_bytes: u64,
}

impl Decisions {
    pub(super) fn write(&self, writer: &mut Writer) {
        writer.fixed(self.fingerprint.to_le_bytes());
        writer.text(&self.model);
        // Rules are saved by name. So a rule added by a later version is off, and a rule that was removed is
        // detected.
        let rules: Vec<&str> = Rules::names().filter(|name| self.rules.is_on(name)).collect();
        writer.count(rules.len());
        rules.into_iter().for_each(|name| writer.text(name));
        writer.flag(self.row_means);
        writer.number(match self.format {
            TexelFormat::Rgba32Float => 0,
            TexelFormat::Rgba16Float => 1,
            TexelFormat::Rgba32Uint => 2,
            TexelFormat::Rgba8Uint => 3,
        });
        match self.objective {
            Objective::Fastest => writer.number(0),
            Objective::Balanced => writer.number(1),
            Objective::Smallest => writer.number(2),
            Objective::Pool(bytes) => {
                writer.number(3);
                writer.number(bytes);
            }
            Objective::Device(bytes) => {
                writer.number(4);
                writer.number(bytes);
            }
        }
        let stopped = StopReason::ALL.iter().position(|reason| Some(*reason) == self.stopped);
        writer.count(stopped.map_or(0, |index| index + 1));
        writer.count(self.in_place.len());
        // Each node is saved as the distance from the previous one.
        let mut next = 0;
        for node in self.in_place.iter().map(NodeId::index) {
            writer.count(node - next);
            next = node + 1;
        }
        match self.weights {
            WeightStorage::Resident => writer.number(0),
            WeightStorage::Streamed { resident_below, tile_bytes } => {
                writer.number(1);
                writer.number(resident_below);
                writer.number(tile_bytes);
            }
        }
        writer.number(match self.weight_format {
            WeightFormat::F32 => 0,
            WeightFormat::F16 => 1,
            WeightFormat::File => 2,
            WeightFormat::Int8 => 3,
        });
        writer.flag(self.stream_io.inputs);
        writer.flag(self.stream_io.outputs);
        writer.flag(self.order.is_some());
        if let Some(order) = &self.order {
            order.write(writer);
        }
        // A division has two parts at least, so zero stands for none.
        writer.count(self.patches.map_or(0, |patches| patches.parts));
        if let Some(patches) = self.patches {
            writer.count(patches.end.index());
        }
        writer.text(&self.strategy);
        writer.number(match self.kind {
            LayoutKind::SharedObjects => 0,
            LayoutKind::Offsets => 1,
            LayoutKind::Banks => 2,
            LayoutKind::Rows => 3,
        });
        write_blocks(self.blocks, writer);
        if let Some(division) = &self.division {
            division.write(writer);
        }
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, SavedPlanError> {
        let fingerprint = u64::from_le_bytes(reader.fixed("the fingerprint is cut off")?);
        let model = reader.text()?.to_owned();
        let rules = (0..reader.count()?).map(|_| reader.text()).collect::<Result<Vec<_>, _>>()?;
        let rules = Rules::only(&rules)?;
        let row_means = reader.flag()?;
        let format = match reader.number()? {
            0 => TexelFormat::Rgba32Float,
            1 => TexelFormat::Rgba16Float,
            2 => TexelFormat::Rgba32Uint,
            3 => TexelFormat::Rgba8Uint,
            _ => return Err(reader.damaged("there is no such texel format")),
        };
        let objective = match reader.number()? {
            0 => Objective::Fastest,
            1 => Objective::Balanced,
            2 => Objective::Smallest,
            3 => Objective::Pool(reader.number()?),
            4 => Objective::Device(reader.number()?),
            _ => return Err(reader.damaged("there is no such objective")),
        };
        let stopped = match reader.number()? {
            0 => None,
            number => match StopReason::ALL.get((number - 1) as usize) {
                Some(reason) => Some(*reason),
                None => return Err(reader.damaged("no search is stopped for that")),
            },
        };
        let in_place = nodes(reader)?;
        let weights = match reader.number()? {
            0 => WeightStorage::Resident,
            1 => WeightStorage::Streamed { resident_below: reader.number()?, tile_bytes: reader.number()? },
            _ => return Err(reader.damaged("weights are nowhere of the kind")),
        };
        let weight_format = match reader.number()? {
            0 => WeightFormat::F32,
            1 => WeightFormat::F16,
            2 => WeightFormat::File,
            3 => WeightFormat::Int8,
            _ => return Err(reader.damaged("weights are stored in no such way")),
        };
        let stream_io = StreamedIo { inputs: reader.flag()?, outputs: reader.flag()? };
        let order = if reader.flag()? { Some(MemoryOrder::read(reader)?) } else { None };
        let patches = match reader.at_most(u32::MAX as usize, "no tensor has so many columns")? {
            0 => None,
            parts => {
                let end = reader.at_most(u32::MAX as usize, "no graph has so many tensors")?;
                Some(Patches { end: TensorId::new(end), parts })
            }
        };
        let strategy = reader.text()?.to_owned();
        let kind = match reader.number()? {
            0 => LayoutKind::SharedObjects,
            2 => LayoutKind::Banks,
            3 => LayoutKind::Rows,
            // No step may read and write the same texture, so a single arena is invalid too.
            _ => return Err(reader.damaged("textures have no plan of that kind")),
        };
        let blocks = read_blocks(reader)?;
        let division = match kind {
            LayoutKind::Rows => Some(Division::read(reader)?),
            LayoutKind::SharedObjects | LayoutKind::Offsets | LayoutKind::Banks => None,
        };
        Ok(Self {
            fingerprint,
            model,
            rules,
            row_means,
            format,
            objective,
            stopped,
            in_place,
            weights,
            weight_format,
            stream_io,
            order,
            patches,
            strategy,
            kind,
            blocks,
            division,
        })
    }
}

/// Writes the class by its place in the list of all, and each measured block by its place plus one.
fn write_blocks(blocks: Blocks, writer: &mut Writer) {
    let class = DeviceClass::ALL.iter().position(|class| *class == blocks.class());
    writer.count(class.unwrap_or_default());
    for kind in LayerKind::ALL {
        let place = BlockSize::ALL.iter().position(|size| Some(*size) == blocks.tuned(kind));
        writer.count(place.map_or(0, |place| place + 1));
    }
}

fn read_blocks(reader: &mut Reader<'_>) -> Result<Blocks, SavedPlanError> {
    let class = DeviceClass::ALL.get(reader.number()? as usize);
    let mut blocks = Blocks::of(*class.ok_or_else(|| reader.damaged("there is no such class of devices"))?);
    for kind in LayerKind::ALL {
        let size = match reader.number()? {
            0 => None,
            number => match BlockSize::ALL.get((number - 1) as usize) {
                Some(size) => Some(*size),
                None => return Err(reader.damaged("no shader computes such a block")),
            },
        };
        blocks.tune(kind, size);
    }
    Ok(blocks)
}

/// Reads nodes in increasing order, without duplicates.
fn nodes(reader: &mut Reader<'_>) -> Result<NodeSet, SavedPlanError> {
    let mut next = 0;
    let count = reader.count()?;
    let node = |_| {
        let most = (u32::MAX as usize).saturating_sub(next);
        let node = next + reader.at_most(most, "no graph has so many nodes")?;
        next = node + 1;
        Ok(NodeId::new(node))
    };
    (0..count).map(node).collect()
}

impl MemoryOrder {
    fn write(&self, writer: &mut Writer) {
        writer.count(self.nodes.len());
        self.nodes.iter().for_each(|node| writer.count(node.index()));
        for OrderMemory { peak_bytes, pool_bytes } in [self.file, self.chosen] {
            writer.number(peak_bytes);
            writer.number(pool_bytes);
        }
        writer.number(self.bound_bytes);
        writer.flag(self.is_proven);
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, SavedPlanError> {
        let count = reader.count()?;
        let node = |_| reader.at_most(u32::MAX as usize, "no graph has so many nodes").map(NodeId::new);
        let nodes = (0..count).map(node).collect::<Result<_, _>>()?;
        let mut memory = || -> Result<_, SavedPlanError> {
            Ok(OrderMemory { peak_bytes: reader.number()?, pool_bytes: reader.number()? })
        };
        let (file, chosen) = (memory()?, memory()?);
        Ok(Self { nodes, file, chosen, bound_bytes: reader.number()?, is_proven: reader.flag()? })
    }
}

impl Division {
    fn write(&self, writer: &mut Writer) {
        writer.count(self.cascades.len());
        for Cascade { operators, stripes, tile_scale, even } in &self.cascades {
            writer.count(operators.len());
            // One phase per row is the largest number and frequent, so it wraps around to zero, which takes a single
            // byte.
            writer.number(u64::from(stripes.wrapping_add(1)));
            writer.number(u64::from(*tile_scale));
            writer.flag(*even);
        }
        writer.fixed(self.predicted_us.to_le_bytes());
        writer.fixed(self.baseline_us.to_le_bytes());
        writer.number(self.baseline_bytes);
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, SavedPlanError> {
        let mut cascades = Vec::new();
        let mut begin = 0usize;
        for _ in 0..reader.count()? {
            let length = reader.at_most(usize::MAX, "there cannot be so many operators")?;
            let end = begin.checked_add(length).filter(|&end| end > begin);
            let end = end.ok_or_else(|| reader.damaged("a cascade has no operators, or too many"))?;
            // Zero stripes cannot occur, so zero stands for the largest number.
            let stripes = reader.word()?.wrapping_sub(1);
            if stripes == 0 {
                return Err(reader.damaged("a cascade has no stripes"));
            }
            let tile_scale = reader.word()?;
            if tile_scale == 0 {
                return Err(reader.damaged("a cascade has tiles of no size"));
            }
            cascades.push(Cascade { operators: begin..end, stripes, tile_scale, even: reader.flag()? });
            begin = end;
        }
        Ok(Self {
            cascades,
            predicted_us: reader.time()?,
            baseline_us: reader.time()?,
            baseline_bytes: reader.number()?,
        })
    }
}
