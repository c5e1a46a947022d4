//! Caches plans that take long to find. Plans do not depend on the driver, so the child processes of the witnesses
//! run the plans found by the process that started them.

use std::{
    fs,
    path::PathBuf,
    process,
    sync::LazyLock,
    time::{SystemTime, UNIX_EPOCH},
};

use texpool_compile::{CompiledModel, load};
use texpool_ops::graph::Graph;
use texpool_plan::TextureLimits;

/// Environment variable that tells a child which process has started it.
pub(crate) const STARTED_BY: &str = "TEXPOOL_TESTS_STARTED_BY";

/// Name of this process, different from every other process now or earlier.
pub(crate) static PROCESS: LazyLock<String> = LazyLock::new(|| {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos();
    format!("{:>10} {now:>20}", process::id())
});

/// Returns the plans that `search` finds; a child gets those that its parent has found under this name.
pub(crate) fn planned(
    name: &str,
    graph: &Graph,
    limits: TextureLimits,
    search: impl FnOnce() -> Vec<CompiledModel>,
) -> Vec<CompiledModel> {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("planned").join(name.replace(['/', ' '], "_"));
    let Ok(parent) = std::env::var(STARTED_BY) else {
        let models = search();
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let saved = models.iter().map(CompiledModel::save).flat_map(|plan| [plan.len().to_le_bytes().to_vec(), plan]);
        fs::write(&path, [PROCESS.as_bytes().to_vec()].into_iter().chain(saved).collect::<Vec<_>>().concat()).unwrap();
        return models;
    };
    // Searches again if the parent has no plan, or if its textures are too large for this driver.
    let saved = fs::read(&path).ok().filter(|bytes| bytes.starts_with(parent.as_bytes()));
    let loaded = saved.and_then(|bytes| {
        let mut rest = &bytes[parent.len()..];
        let mut models = Vec::new();
        while let Some((length, plan)) = rest.split_first_chunk() {
            let (plan, behind) = plan.split_at_checked(usize::from_le_bytes(*length))?;
            models.push(load(graph, plan, limits).ok()?);
            rest = behind;
        }
        Some(models)
    });
    loaded.unwrap_or_else(search)
}
