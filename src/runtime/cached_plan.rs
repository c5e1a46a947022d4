//! Plans that were searched for, kept from run to run: a file for each model and what is asked of its plan.

use std::{
    env,
    fmt::{self, Write as _},
    fs,
    hash::{DefaultHasher, Hasher as _},
    path::{Path, PathBuf},
};

use crate::{
    compile::{CompileOptions, CompiledModel, Phases, WeightStorage, load},
    gpu::PartFile,
    graph::Graph,
};

/// Bytes of the key in front of the plan.
const KEY_BYTES: usize = 8;

/// The file in which a model's plan is kept, for one kind of plan.
#[derive(Debug)]
pub(crate) struct CachedPlan {
    path: PathBuf,
    /// What searched for the plan: another version may find another one.
    searched_by: u64,
}

impl CachedPlan {
    /// Where the plan of `graph` for `options` is kept in `folder`, if it takes long to find, as plans in phases and those
    /// with streamed weights do: a file by the model's name
    /// and a hash of its operators and shapes, and of all the options, the figures of the device's profile among them.
    /// Models that differ in the values of their weights alone have the same plan.
    pub(crate) fn new(folder: &Path, graph: &Graph, options: &CompileOptions) -> Option<Self> {
        // The others are told with all that was tried, which is not kept.
        if options.phases == Phases::Off && options.weights == WeightStorage::Resident {
            return None;
        }
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
        // Names of files may have no more than 255 bytes.
        let name: String = graph.name.chars().map(plain).take(100).collect();
        let asked = hash(format_args!("{graph:?} {options:?}"));
        // A version that is built again may search otherwise, and has another program.
        let program = env::current_exe().and_then(fs::metadata).map(|found| (found.len(), found.modified().ok()));
        let searched_by = hash(format_args!("{} {:?}", env!("CARGO_PKG_VERSION"), program.ok()));
        Some(Self { path: folder.join(format!("{name}-{asked:016x}.plan")), searched_by })
    }

    /// The plan, checked as a new one is; `None` where there is none, or one that is damaged or was found by another
    /// version.
    pub(crate) fn load(&self, graph: &Graph, options: &CompileOptions) -> Option<CompiledModel> {
        let bytes = fs::read(&self.path).ok()?;
        let (key, plan) = bytes.split_first_chunk::<KEY_BYTES>()?;
        if u64::from_le_bytes(*key) != self.searched_by {
            tracing::debug!(path = %self.path.display(), "the plan that is kept is another version's");
            return None;
        }
        let loaded = load(graph, plan, options.limits);
        let loaded = loaded.inspect_err(|error| {
            tracing::debug!(path = %self.path.display(), %error, "the plan that is kept does not hold");
        });
        // A plan is also one of the model that somebody put there and that was searched for with other options.
        let asked = |plan: &CompiledModel| {
            // A budget decides whether the pool is one of words.
            (plan.requested(), plan.format().float_bits(), plan.weight_format())
                == (options.phases, options.format.float_bits(), options.weight_format)
        };
        loaded.ok().filter(asked)
    }

    /// Keeps a plan whose search was done; of one that was stopped the rest is yet to be searched. A folder that cannot
    /// be written to is no error.
    pub(crate) fn store(&self, compiled: &CompiledModel) {
        if compiled.stopped().is_some() {
            return;
        }
        let contents = [self.searched_by.to_le_bytes().to_vec(), compiled.save()];
        let written = PartFile::create(&self.path).and_then(|part| {
            part.write(contents.into_iter())?;
            part.rename()
        });
        if let Err(error) = written {
            tracing::debug!(path = %self.path.display(), %error, "the plan is not kept");
        }
    }
}

/// The hash of what would be written. Other versions of Rust may hash otherwise, which costs a search.
fn hash(text: fmt::Arguments<'_>) -> u64 {
    struct Hash(DefaultHasher);
    impl fmt::Write for Hash {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0.write(text.as_bytes());
            Ok(())
        }
    }
    let mut hash = Hash(DefaultHasher::new());
    // A hash takes whatever is written to it.
    let _ = hash.write_fmt(text);
    hash.0.finish()
}
