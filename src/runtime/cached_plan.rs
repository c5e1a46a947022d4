//! Cache of plans that are expensive to find: one file per model and set of options.
//!
//! Results of stopped searches are stored too, with the time spent. Such a plan is used immediately if it is within the
//! budget and the next search would have no more time. Otherwise the next search starts from it.

use std::{
    env,
    fmt::{self, Write as _},
    fs,
    hash::{DefaultHasher, Hasher as _},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use crate::{
    compile::{CompileError, CompileOptions, CompiledModel, Phases, Unmet, WeightStorage, load},
    gpu::{PartFile, read_kept},
    graph::Graph,
};

/// Sizes in bytes of the header's fields before the plan: the key, then the milliseconds spent on the search.
const KEY_BYTES: usize = 8;
const TIME_BYTES: usize = 8;

/// Version of the header in front of a plan.
const VERSION: u32 = 2;

/// Upper limit on the bytes read from a file: 64 MiB, while plans of the largest networks take a few hundred kilobytes.
const MAX_BYTES: u64 = 64 << 20;

/// The file that stores the plan of a model for one set of options.
#[derive(Debug)]
pub struct CachedPlan {
    path: PathBuf,
    /// Hash of the program that found the plan, because another build may find a different one.
    searched_by: u64,
}

/// A plan loaded from the cache.
struct KeptPlan {
    compiled: CompiledModel,
    /// The time spent on the search.
    searched: Duration,
}

impl KeptPlan {
    /// Returns true if the plan needs no further search: it is within the budget, and either its search was completed
    /// or another search would have no more time.
    fn answers(&self, phases: Phases, deadline: Option<Duration>) -> bool {
        let within = match phases {
            Phases::Off | Phases::Auto | Phases::Min => true,
            Phases::Budget(bytes) => self.compiled.plan().bytes() <= bytes,
            Phases::DeviceBudget(bytes) => self.compiled.device_bytes() <= bytes,
        };
        within && (self.compiled.stopped().is_none() || deadline.is_some_and(|deadline| deadline <= self.searched))
    }
}

impl CachedPlan {
    /// Returns the path in `folder` for the plan of `graph` with `options`, if such plans take long to find: those
    /// with row tiling or streamed weights. The name contains the model's name and a hash of its operators and shapes
    /// and of all options, including the figures of the device profile. Models that differ only in the values of
    /// their weights share a plan.
    pub fn new(folder: &Path, graph: &Graph, options: &CompileOptions) -> Option<Self> {
        // The name does not include limits on the search itself.
        if options.phases == Phases::Off && options.weights == WeightStorage::Resident {
            return None;
        }
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
        // File names are limited to 255 bytes.
        let name: String = graph.name.chars().map(plain).take(100).collect();
        let asked = hash(format_args!("{graph:?} {options:?}"));
        // A rebuilt version may search differently. Its executable differs in size or time of modification.
        let program = env::current_exe().and_then(fs::metadata).map(|found| (found.len(), found.modified().ok()));
        let searched_by = hash(format_args!("{VERSION} {} {:?}", env!("CARGO_PKG_VERSION"), program.ok()));
        Some(Self { path: folder.join(format!("{name}-{asked:016x}.plan")), searched_by })
    }

    /// Returns the stored plan and `true` if it needs no further search. Otherwise returns and stores the result of
    /// `search`, which starts from the stored plan. If the search is stopped or finds nothing within the budget, its
    /// best plan is stored as the start of the next search.
    ///
    /// # Errors
    /// Errors of the search.
    pub fn get_or_search(
        &self,
        graph: &Graph,
        options: &CompileOptions,
        deadline: Option<Duration>,
        search: impl FnOnce(Option<&CompiledModel>) -> Result<CompiledModel, Unmet>,
    ) -> Result<(CompiledModel, bool), CompileError> {
        let kept = self.load(graph, options);
        if let Some(kept) = kept.as_ref().filter(|kept| kept.answers(options.phases, deadline)) {
            return Ok((kept.compiled.clone(), true));
        }
        let begun = Instant::now();
        let found = search(kept.as_ref().map(|kept| &kept.compiled));
        let searched = begun.elapsed().max(kept.map_or(Duration::ZERO, |kept| kept.searched));
        match found {
            Ok(compiled) => {
                self.store(&compiled, searched);
                Ok((compiled, false))
            }
            Err(Unmet { error, smallest }) => {
                if let Some(smallest) = smallest {
                    self.store(&smallest, searched);
                }
                Err(error)
            }
        }
    }

    /// Returns the stored plan, checked like a new one; `None` if it does not exist, is damaged or comes
    /// from another version.
    fn load(&self, graph: &Graph, options: &CompileOptions) -> Option<KeptPlan> {
        let bytes = read_kept(&self.path, MAX_BYTES).unwrap_or_else(|error| {
            tracing::warn!(path = %self.path.display(), %error, "the plan that is kept cannot be read");
            None
        })?;
        let (key, behind) = bytes.split_first_chunk::<KEY_BYTES>()?;
        if u64::from_le_bytes(*key) != self.searched_by {
            tracing::debug!(path = %self.path.display(), "the plan that is kept is another version's");
            return None;
        }
        let (millis, plan) = behind.split_first_chunk::<TIME_BYTES>()?;
        let searched = Duration::from_millis(u64::from_le_bytes(*millis));
        let loaded = load(graph, plan, options.limits);
        let loaded = loaded.inspect_err(|error| {
            tracing::warn!(path = %self.path.display(), %error, "the plan that is kept does not hold");
        });
        // A valid plan may still have other options, if somebody copied the file to this name.
        let asked = |plan: &CompiledModel| {
            // The texel formats may differ, because the budget determines whether the pool uses words; only the float
            // width counts.
            (plan.requested(), plan.format().float_bits(), plan.weight_format())
                == (options.phases, options.format.float_bits(), options.weight_format)
        };
        loaded.ok().filter(asked).map(|compiled| KeptPlan { compiled, searched })
    }

    /// Stores a plan and the time spent on it. A folder that cannot be written is not an error.
    fn store(&self, compiled: &CompiledModel, searched: Duration) {
        let millis = u64::try_from(searched.as_millis()).unwrap_or(u64::MAX);
        let written = PartFile::create(&self.path).and_then(|part| {
            part.write(|out| {
                out.write_all(&self.searched_by.to_le_bytes())?;
                out.write_all(&millis.to_le_bytes())?;
                out.write_all(&compiled.save())
            })?;
            part.rename()
        });
        if let Err(error) = written {
            tracing::debug!(path = %self.path.display(), %error, "the plan is not kept");
        }
    }
}

/// Hashes everything that is written to it. Other versions of Rust may hash differently, which costs a search.
fn hash(text: fmt::Arguments<'_>) -> u64 {
    struct Hash(DefaultHasher);
    impl fmt::Write for Hash {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0.write(text.as_bytes());
            Ok(())
        }
    }
    let mut hash = Hash(DefaultHasher::new());
    // Writing to a hasher cannot fail.
    let _ = hash.write_fmt(text);
    hash.0.finish()
}
