//! Text form of the memory report, as a table.

use super::{MemoryReport, PeakReport, RowForm, grouped, open_extents, residency::Residency};
use std::fmt;
use texpool_plan::printable;

impl fmt::Display for MemoryReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{}: {} steps, {} tensors in the pool",
            printable(&self.model),
            self.steps,
            self.plan.placements.len()
        )?;
        f.write_str(&open_extents(&self.open_extents))?;
        writeln!(f)?;
        writeln!(f, "  {:<46} {:>14} {:>9} {:>9}", "strategy", "bytes", "objects", "of naive")?;
        if self.bounds.is_none() {
            writeln!(f, "  the plan was loaded: no strategy was tried")?;
        }
        for s in &self.strategies {
            let mark = if s.name == self.plan.strategy { '*' } else { ' ' };
            let share = self.share(s.bytes);
            writeln!(f, "{mark} {:<46} {:>14} {:>9} {share:>9}", s.name, grouped(s.bytes), s.objects)?;
        }
        // A plan with row tiling comes from none of the strategies above, and a loaded plan has no list of
        // strategies.
        if self.tiling.is_some() || self.bounds.is_none() {
            let (bytes, textures) = (self.plan.bytes, self.plan.textures.len());
            let share = self.share(bytes);
            writeln!(f, "* {:<46} {:>14} {textures:>9} {share:>9}", self.plan.strategy, grouped(bytes))?;
        }
        let bounds = self.bounds.iter().flat_map(|bounds| {
            [
                ("lower bound of shared objects", bounds.shared_objects),
                ("lower bound of any plan of whole tensors", bounds.offsets),
            ]
        });
        for (name, bytes) in bounds {
            writeln!(f, "  {name:<46} {:>14} {:>9} {:>9}", grouped(bytes), "", self.share(bytes))?;
        }
        writeln!(f)?;
        let line = |f: &mut fmt::Formatter<'_>, what: &str, bytes: u64, note: &str| {
            // Trimmed, because without a note the line would end in spaces.
            writeln!(f, "{}", format!("  {what:<46} {:>14} {note}", grouped(bytes)).trim_end())
        };
        line(f, "naive: every tensor in a texture of its own", self.naive_bytes, "")?;
        let textures = self.plan.textures.len();
        line(f, "pool as planned", self.plan.bytes, &format!("in {textures} textures, {}", self.plan.strategy))?;
        if let Some(reason) = self.stopped {
            writeln!(f, "    search stopped: {reason}; a smaller pool may exist")?;
        }
        if let Some(why) = &self.tiling_why {
            writeln!(f, "    row tiling: {why}")?;
        }
        if let Some(patches) = &self.patches {
            writeln!(f, "    {patches}")?;
        }
        if let Some(tiling) = &self.tiling {
            let (cascades, dispatches) = (tiling.cascades.len(), tiling.dispatches);
            let note = format!("about {:.1} ms; here about {:.1} ms", tiling.baseline_ms, tiling.predicted_ms);
            line(f, "pool of whole tensors", tiling.baseline_bytes, &note)?;
            let forms = [(RowForm::Scattered, "scattered"), (RowForm::Ring, "in rings"), (RowForm::Whole, "whole")];
            let count = |form| self.plan.placements.iter().filter(|placement| placement.form == form).count();
            let forms: Vec<String> = forms.iter().map(|&(form, name)| format!("{} {name}", count(form))).collect();
            writeln!(f, "    rows of tensors: {}", forms.join(", "))?;
            let note = format!("{cascades} cascades, {dispatches} dispatches");
            line(f, "rows alive at the peak", tiling.live_bytes, &note)?;
            writeln!(f, "    which is {}", tiling.peak)?;
        }
        if let Some(order) = self.order {
            order.fmt(f)?;
        }
        if let Some(alone) = self.intermediates_alone {
            let [naive, bound] = [alone.naive_bytes, alone.lower_bound_bytes].map(grouped);
            let note = format!("naive {naive}, lower bound of shared objects {bound}");
            line(f, "intermediate tensors alone, as in the papers", alone.pool_bytes, &note)?;
        }
        writeln!(f)?;
        match &self.device_memory {
            Some(memory) => {
                memory.fmt(f)?;
                if let Some(bytes) = self.device_bytes {
                    line(f, "with alignment, counted before the run", bytes, "what a budget is compared with")?;
                }
            }
            None => {
                writeln!(f, "  {:<46} {:>14}", "bytes of device memory", "planned")?;
                line(f, "pool", self.plan.bytes, "")?;
                let format = self.weight_format.as_deref().filter(|&format| format != "f32").unwrap_or_default();
                line(f, "weights", self.weight_bytes, format)?;
                line(f, "inputs and outputs beside the pool", self.io_bytes, "")?;
                let sum = self.plan.bytes.saturating_add(self.weight_bytes).saturating_add(self.io_bytes);
                line(f, "together", sum, "")?;
                if let Some(bytes) = self.device_bytes {
                    line(f, "with tables, transfer buffers and wgpu's own", bytes, "what a budget is compared with")?;
                }
            }
        }
        if let Some(blocks) = &self.blocks {
            writeln!(f, "\n  {:<46} {blocks:>14}", "kernels compute the blocks of")?;
        }
        writeln!(f)?;
        for (i, t) in self.plan.textures.iter().enumerate() {
            let format = format!("{:?}", t.format).to_lowercase();
            writeln!(f, "  t{i:<3} {:>6} x {:<6} {format} {:>14} bytes", t.width, t.height, grouped(t.bytes))?;
        }
        writeln!(f)?;
        Residency(self).fmt(f)
    }
}

impl MemoryReport {
    fn share(&self, bytes: u64) -> String {
        match self.naive_bytes {
            // A model may have only inputs and outputs, which are outside the pool.
            0 => "-".into(),
            naive => format!("{:.1} %", 100.0 * bytes as f64 / naive as f64),
        }
    }
}

impl fmt::Display for PeakReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "step {} ({}, {})", self.step, self.operator, printable(&self.tensor))?;
        self.cascade.map_or(Ok(()), |cascade| write!(f, " of cascade {cascade}"))
    }
}
