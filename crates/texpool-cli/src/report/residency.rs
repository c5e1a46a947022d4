//! Table of the tensor that each texture holds at each step.

use super::MemoryReport;
use std::fmt;

/// With more textures than this, each step's line lists only the textures that hold something.
const MAX_COLUMNS: usize = 20;

/// The residency table: one line per step and one column per texture. Each cell holds the numbers of the tensors that
/// are live there.
///
/// A tensor's number is printed next to its name on the line of the step that writes it; `>` marks it there.
pub(super) struct Residency<'a>(pub(super) &'a MemoryReport);

impl fmt::Display for Residency<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let report = self.0;
        writeln!(f, "residency: what each texture holds at each step ('>' is written there, '.' is empty)")?;
        let textures = report.plan.textures.len();
        // All cells are computed before the first is written, because the widest one determines the column width.
        let cells: Vec<Vec<String>> =
            (0..report.steps).map(|step| (0..textures).map(|t| self.cell(step, t)).collect()).collect();
        let wide = textures > MAX_COLUMNS;
        let width = cells.iter().flatten().map(String::len).max().unwrap_or(1).max(3);

        write!(f, "  step")?;
        if !wide {
            (0..textures).try_for_each(|t| write!(f, " {:>width$}", format!("t{t}")))?;
        }
        writeln!(f, "  operator")?;
        for (step, (cells, row)) in cells.iter().zip(&report.rows).enumerate() {
            write!(f, "  {step:>4}")?;
            for (t, cell) in cells.iter().enumerate() {
                match wide {
                    false => write!(f, " {cell:>width$}")?,
                    true if cell != "." => write!(f, " t{t}:{cell}")?,
                    true => {}
                }
            }
            writeln!(f, "  {} {}", row.operator, self.written(step, &row.writes))?;
        }
        Ok(())
    }
}

impl Residency<'_> {
    fn cell(&self, step: usize, texture: usize) -> String {
        let placements = self.0.plan.placements.iter().enumerate();
        let records: Vec<String> = placements
            .filter(|(_, p)| p.texture == texture && (p.first..=p.last).contains(&step))
            .map(|(i, p)| if p.first == step { format!(">{i}") } else { i.to_string() })
            .collect();
        if records.is_empty() { ".".into() } else { records.join(",") }
    }

    /// Returns the tensors born at a step with their numbers; a result outside the pool has only a name.
    fn written(&self, step: usize, name: &str) -> String {
        let born = self.0.plan.placements.iter().enumerate().filter(|(_, p)| p.first == step);
        let born: Vec<String> = born.map(|(i, p)| format!("-> {i} {}", p.tensor)).collect();
        if born.is_empty() { format!("-> {name}") } else { born.join(" ") }
    }
}
