//! Saves a compiled model's plan as bytes.

use super::{
    bytes::Writer,
    decisions::{Decisions, Division},
    fingerprint::fingerprint,
    frame, placements,
};
use crate::model::{CompiledModel, Lowering, RowTiling};

impl CompiledModel {
    /// Returns the plan as bytes for [`load`](super::load). They take only some kilobytes, because they contain
    /// neither steps nor weights. They stay valid until a version of this library rewrites or schedules the model
    /// differently, which loading detects.
    pub fn save(&self) -> Vec<u8> {
        let Lowering { rules, row_means, in_place, weights, weight_format, stream_io, order, patches } = &self.lowering;
        let division = |tiled: &RowTiling| Division {
            cascades: tiled.cascades.clone(),
            predicted_us: tiled.predicted_us,
            baseline_us: tiled.baseline_us,
            baseline_bytes: tiled.baseline_bytes,
        };
        let decisions = Decisions {
            fingerprint: fingerprint(&self.graph),
            model: self.graph.name.clone(),
            rules: *rules,
            row_means: *row_means,
            format: self.format,
            objective: self.objective,
            stopped: self.stopped,
            in_place: in_place.clone(),
            weights: *weights,
            weight_format: *weight_format,
            stream_io: *stream_io,
            order: order.clone(),
            patches: *patches,
            strategy: self.plan.strategy.clone(),
            kind: self.plan.problem,
            blocks: self.graph.blocks,
            division: self.tiled.as_ref().map(division),
        };
        let mut writer = Writer::default();
        decisions.write(&mut writer);
        placements::write(&mut writer, &self.plan);
        frame::sealed(&writer.bytes)
    }
}
