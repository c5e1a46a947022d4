//! Memory usage of a session, and the layout of its pool.

use pyo3::{IntoPyObjectExt, prelude::*, types::PyDict};
use texpool::{
    CompiledModel, Memory, MemoryParts,
    plan::{LiveRange, PlanError, row_live_ranges},
};
use texpool_compile::schedule::StorageKind;

/// Tensor name, texture, offset, size in bytes, first and last step of a block in the pool.
pub(crate) type Block = (String, usize, u64, u64, usize, usize);

/// Converts the memory usage into the dictionary that `python/texpool/_memory.py` expects.
pub(crate) fn account(py: Python<'_>, memory: Memory) -> PyResult<Bound<'_, PyDict>> {
    let parts = |parts: MemoryParts| {
        let MemoryParts { pool, weights, io, tables, transfer, other, .. } = parts;
        let entries = [
            ("pool", pool),
            ("weights", weights),
            ("io", io),
            ("tables", tables),
            ("transfer", transfer),
            ("other", other),
            ("total", parts.sum()),
        ];
        dict(py, entries)
    };
    let peak = memory.peak.map(|peak| dict(py, [("allocated", peak.allocated), ("reserved", peak.reserved)]));
    let entries = [
        ("planned", parts(memory.planned)?.into_bound_py_any(py)?),
        ("allocated", memory.allocated.map(parts).transpose()?.into_bound_py_any(py)?),
        ("shared", memory.shared.into_bound_py_any(py)?),
        ("reserved", memory.reserved.into_bound_py_any(py)?),
        ("peak", peak.transpose()?.into_bound_py_any(py)?),
    ];
    dict(py, entries)
}

fn dict<'py, T: IntoPyObject<'py>, const N: usize>(
    py: Python<'py>,
    entries: [(&str, T); N],
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, value) in entries {
        dict.set_item(name, value)?;
    }
    Ok(dict)
}

/// Returns the blocks in the pool. Each is a run of contiguous rows with the same live range.
pub(crate) fn blocks(model: &CompiledModel) -> Result<Vec<Block>, PlanError> {
    let (plan, texel) = (model.plan(), model.texels().texel_bytes());
    let (graph, schedule) = (model.compiled().graph(), model.compiled().schedule());
    let pooled = |kind: &StorageKind| matches!(kind, StorageKind::Intermediate(_));
    let storages = schedule.storages.iter().enumerate().filter(|(_, storage)| pooled(&storage.kind));
    let names: Vec<String> = storages.map(|(id, _)| schedule.name_of(graph, id)).collect();
    let lives = row_live_ranges(&schedule.tensors(), &schedule.row_steps())?;
    let mut blocks: Vec<Block> = Vec::new();
    for ((placement, name), lives) in plan.placements.iter().zip(names).zip(lives) {
        let bytes = u64::from(placement.rows.row_texels()) * texel;
        let begun = blocks.len();
        for (start, life) in placement.rows.starts().zip(lives) {
            let Some(LiveRange { first, last }) = life else { continue };
            let offset = u64::from(start) * texel;
            match blocks[begun..].last_mut() {
                Some((_, _, at, length, f, l)) if (*f, *l) == (first, last) && *at + *length == offset => {
                    *length += bytes;
                }
                _ => blocks.push((name.clone(), placement.texture, offset, bytes, first, last)),
            }
        }
    }
    Ok(blocks)
}
