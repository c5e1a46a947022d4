//! Recomputes the two published tables (Pisarchyk and Lee 2020, Tables 1 and 2) cell by cell.
//!
//! The records come from public files and layer lists of the six networks. `MB` in the tables means 2^20 bytes.

use std::fmt::Write;

use super::{
    bounds::bounds, error::PlanError, io::from_csv, layout::LayoutKind, record::UsageRecord, strategy::Strategy,
};

/// One cell: the published figure, the computed one, and how they compare.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Cell {
    /// Table 1 is Shared Objects, Table 2 is Offset Calculation.
    pub table: LayoutKind,
    /// Row of the table.
    pub row: &'static str,
    /// Column of the table.
    pub network: &'static str,
    /// The published figure, in thousandths of a MiB.
    pub published: u64,
    /// Bytes computed for the strategy according to its text.
    pub bytes: u64,
    /// Result of the comparison.
    pub verdict: Verdict,
}

/// Result of comparing a cell with the published one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "snake_case"))]
pub enum Verdict {
    /// Matches to the last digit.
    Exact,
    /// Matches to the last digit with this reading of the strategy.
    ExactWith(&'static str),
    /// Not reached: the closest figure of all readings, in bytes, and the reason.
    Off {
        /// The closest figure, in bytes.
        nearest: u64,
        /// The reason why the figure cannot be reached.
        why: &'static str,
    },
}

/// Name, records, and the reason why its figures may be out of reach.
type Network = (&'static str, &'static str, Option<&'static str>);

const NETWORKS: [Network; 6] = [
    ("MobileNet v1", include_str!("mobilenet_v1.csv"), None),
    ("MobileNet v2", include_str!("mobilenet_v2.csv"), None),
    ("DeepLab v3", include_str!("deeplab_v3.csv"), None),
    ("Inception v3", include_str!("inception_v3.csv"), Some("another graph: its naive total is 1.4 % larger here")),
    ("PoseNet", include_str!("posenet.csv"), None),
    ("BlazeFace", include_str!("blazeface.csv"), Some("an unpublished variant: the public file is larger by far")),
];

/// Method that computes a row.
enum Source {
    /// All readings of a strategy. The strategy itself follows the text, and those whose names extend its name are
    /// variants.
    Strategy(Strategy),
    Bound,
    Naive,
}

/// Table, row, method, and one figure per network in thousandths of a MiB.
type Row = (LayoutKind, &'static str, Source, [u64; 6]);

const ROWS: [Row; 13] = {
    use LayoutKind::{Offsets, SharedObjects};
    use Source::{Bound, Naive, Strategy as By};
    [
        (SharedObjects, "Greedy by Size", By(Strategy::GreedyBySize), [4594, 7178, 6437, 10337, 6347, 592]),
        (
            SharedObjects,
            "Greedy by Size Improved",
            By(Strategy::GreedyBySizeImproved),
            [4594, 6891, 6437, 10337, 6347, 518],
        ),
        (SharedObjects, "Greedy by Breadth", By(Strategy::GreedyByBreadth), [6125, 6699, 6437, 10676, 8390, 675]),
        (SharedObjects, "Greedy (Lee et al.)", By(Strategy::GreedyInOrder), [4594, 8039, 7168, 12703, 6347, 587]),
        (SharedObjects, "Min-cost Flow (Lee et al.)", By(Strategy::MinCostFlow), [5359, 7513, 8364, 10624, 7359, 582]),
        (SharedObjects, "Lower Bound", Bound, [4594, 6604, 6105, 8955, 6347, 518]),
        (SharedObjects, "Naive", Naive, [19248, 26313, 48642, 54010, 28556, 2698]),
        (Offsets, "Greedy by Size", By(Strategy::OffsetsGreedyBySize), [4594, 5742, 4653, 7914, 6271, 492]),
        (Offsets, "Greedy by Breadth", By(Strategy::OffsetsGreedyByBreadth), [4594, 5742, 4653, 7914, 7359, 656]),
        (Offsets, "Greedy (Lee et al.)", By(Strategy::OffsetsGreedyInOrder), [6125, 6508, 4985, 10624, 8362, 492]),
        (Offsets, "Strip Packing Bestfit", By(Strategy::OffsetsStripPacking), [4594, 6029, 4321, 7914, 6271, 533]),
        (Offsets, "Lower Bound", Bound, [4594, 5742, 4320, 7914, 6271, 492]),
        (Offsets, "Naive", Naive, [19248, 26313, 48642, 54010, 28556, 2698]),
    ]
};

/// Converts bytes to thousandths of a MiB, rounded to the nearest.
fn thousandths(bytes: u64) -> u64 {
    (bytes * 1000 + (1 << 19)) >> 20
}

/// Returns every cell of both tables, row by row.
///
/// ```
/// use texpool_plan::published::{Cell, Verdict, tables};
///
/// let cells: Vec<Cell> = tables()?;
/// let exact = cells.iter().filter(|cell| matches!(cell.verdict, Verdict::Exact | Verdict::ExactWith(_))).count();
/// println!("{exact} of {} figures are as published", cells.len());
/// # Ok::<(), texpool_plan::PlanError>(())
/// ```
///
/// # Errors
/// The errors of planning the records that come with the library; none occurs.
pub fn tables() -> Result<Vec<Cell>, PlanError> {
    let networks = NETWORKS
        .iter()
        .map(|&(name, text, why)| Ok((name, from_csv(text)?.records, why)))
        .collect::<Result<Vec<_>, PlanError>>()?;
    let mut cells = Vec::with_capacity(ROWS.len() * networks.len());
    for (table, row, source, figures) in &ROWS {
        for ((network, records, why), &published) in networks.iter().zip(figures) {
            let readings = readings(source, *table, records)?;
            let bytes = readings.first().map_or(0, |reading| reading.1);
            let hit = readings.iter().find(|reading| thousandths(reading.1) == published);
            let verdict = match hit {
                Some(&(_, exact_bytes)) if exact_bytes == bytes => Verdict::Exact,
                Some(&(name, _)) => Verdict::ExactWith(name),
                None => {
                    let distance = |bytes: u64| thousandths(bytes).abs_diff(published);
                    let nearest = readings.iter().map(|r| r.1).min_by_key(|&b| distance(b)).unwrap_or(bytes);
                    let ties = match source {
                        Source::Strategy(Strategy::MinCostFlow) => "several matchings of least cost exist",
                        _ => "no reading tried comes closer",
                    };
                    Verdict::Off { nearest, why: why.unwrap_or(ties) }
                }
            };
            cells.push(Cell { table: *table, row, network, published, bytes, verdict });
        }
    }
    Ok(cells)
}

/// Returns the names and bytes of all readings of a row, with that of the text first.
fn readings(
    source: &Source,
    table: LayoutKind,
    records: &[UsageRecord],
) -> Result<Vec<(&'static str, u64)>, PlanError> {
    let b = bounds(records)?;
    match source {
        Source::Naive => Ok(vec![("naive", b.naive)]),
        Source::Bound if table == LayoutKind::Offsets => Ok(vec![("bound", b.offsets)]),
        Source::Bound => Ok(vec![("bound", b.shared_objects)]),
        Source::Strategy(text) => {
            let is_reading = |s: &&Strategy| {
                s.name().strip_prefix(text.name()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            let readings = Strategy::ALL.iter().filter(is_reading);
            readings.map(|s| Ok((s.name(), s.place(records)?.total()))).collect()
        }
    }
}

/// Returns both tables as text: for each cell the published figure, the computed one, and the verdict.
///
/// ```
/// let text = texpool_plan::published::tables_text()?;
/// assert!(text.starts_with("Table 1: shared_objects, MiB"));
/// # Ok::<(), texpool_plan::PlanError>(())
/// ```
///
/// # Errors
/// The errors of [`tables`].
pub fn tables_text() -> Result<String, PlanError> {
    let mib = |thousandths: u64| format!("{}.{:03}", thousandths / 1000, thousandths % 1000);
    let mut text = String::new();
    let mut heading = None;
    for cell in tables()? {
        if heading != Some((cell.table, cell.row)) {
            if heading.is_none_or(|h| h.0 != cell.table) {
                let number = if cell.table == LayoutKind::SharedObjects { 1 } else { 2 };
                let _ = writeln!(text, "Table {number}: {}, MiB\n", cell.table.name());
            }
            heading = Some((cell.table, cell.row));
            let _ = writeln!(text, "{}", cell.row);
        }
        let verdict = match &cell.verdict {
            Verdict::Exact => "exact".to_owned(),
            Verdict::ExactWith(name) => format!("exact with variant {name}"),
            Verdict::Off { nearest, why } => format!("nearest {}: {why}", mib(thousandths(*nearest))),
        };
        let (published, here) = (mib(cell.published), mib(thousandths(cell.bytes)));
        let _ = writeln!(text, "  {:<14} published {published:>7}  here {here:>7}  {verdict}", cell.network);
    }
    Ok(text)
}
