//! Cache of plans that are expensive to find: one file per model and set of options.
//!
//! Results of stopped searches are stored too, with the time spent. Such a plan is used immediately if it is within the
//! budget and the next search would have no more time. Otherwise the next search starts from it.
//!
//! A search that does not meet its budget stores the smallest plan that it found. The next search of the same budget is
//! then refused in the same words, unless it would have more time. Such a refusal depends on the model's values, too,
//! because equal weights share their memory, so it holds only for a model with the same values. It proves nothing: it
//! says how far a search came.

use std::{
    env,
    fmt::{self, Write as _},
    fs,
    hash::{DefaultHasher, Hasher as _},
    io::Read as _,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use crate::{
    kept_file::{open_kept, read_kept},
    part_file::PartFile,
};
use texpool_compile::{CompileError, CompileOptions, CompiledModel, Objective, Unmet, WeightStorage, load};
use texpool_ops::graph::Graph;
use texpool_plan::StopReason;

/// Version of the header in front of a plan.
const VERSION: u32 = 3;

/// Upper limit on the bytes read from a file: 64 MiB, while plans of the largest networks take a few hundred kilobytes.
const MAX_BYTES: u64 = 64 << 20;

/// Time of a search that no deadline limited.
const UNLIMITED: Duration = Duration::from_nanos(u64::MAX);

/// Upper limit on the number of plans of other requests that are loaded in order to start from one. Loading one takes
/// milliseconds, and only a damaged file or a changed model makes a second one necessary.
const MOST_OTHERS: usize = 3;

/// The file that stores the plan of a model for one set of options.
#[derive(Debug)]
pub struct CachedPlan {
    folder: PathBuf,
    /// Beginning of the file name, shared by all plans of the model that differ only in objective, tiling, budgets,
    /// streamed weights and the device's speed.
    family: String,
    path: PathBuf,
    /// Hash of the program that found the plan, because another build may find a different one.
    searched_by: u64,
}

/// Facts in front of a plan. In the file a checksum follows them.
#[derive(Clone, Copy)]
struct Header {
    searched_by: u64,
    /// Time that the search spent or was allowed.
    searched: Duration,
    /// Device memory of the plan.
    device_bytes: u64,
    /// Hash of the model's values if the plan exceeds the requested budget, else 0.
    refused_values: u64,
}

impl Header {
    const BYTES: usize = 5 * size_of::<u64>();

    fn to_bytes(self) -> [u8; Self::BYTES] {
        let nanos = u64::try_from(self.searched.as_nanos()).unwrap_or(u64::MAX);
        let numbers = [self.searched_by, nanos, self.device_bytes, self.refused_values];
        let mut bytes = [0; Self::BYTES];
        let written = numbers.into_iter().chain([sum(&numbers)]).flat_map(u64::to_le_bytes);
        bytes.iter_mut().zip(written).for_each(|(to, from)| *to = from);
        bytes
    }

    /// Returns the facts in the bytes, or `None` if they are damaged.
    fn from_bytes(bytes: &[u8; Self::BYTES]) -> Option<Self> {
        let numbers: Vec<u64> = bytes.as_chunks().0.iter().map(|&number| u64::from_le_bytes(number)).collect();
        let (&checksum, numbers) = numbers.split_last()?;
        let &[searched_by, nanos, device_bytes, refused_values] = numbers else { return None };
        let header = Self { searched_by, searched: Duration::from_nanos(nanos), device_bytes, refused_values };
        (checksum == sum(numbers)).then_some(header)
    }
}

/// Returns a checksum of the numbers of a header.
fn sum(numbers: &[u64]) -> u64 {
    let mut hash = DefaultHasher::new();
    numbers.iter().for_each(|&number| hash.write_u64(number));
    hash.finish()
}

/// A plan loaded from the cache.
struct KeptPlan {
    compiled: CompiledModel,
    header: Header,
}

impl KeptPlan {
    /// Returns the answer that a new search could not improve: the plan if it is within the budget, else the refusal.
    /// `None` if a new search would have more time, or if the refusal is another model's.
    fn answer(&self, graph: &Graph, deadline: Option<Duration>) -> Option<Result<CompiledModel, CompileError>> {
        let is_over = deadline.unwrap_or(UNLIMITED).min(UNLIMITED) <= self.header.searched;
        match self.compiled.refusal() {
            None if is_over || self.compiled.stopped().is_none() => Some(Ok(self.compiled.clone())),
            Some(refusal) if is_over && self.is_refused_for(graph) => Some(Err(refusal)),
            _ => None,
        }
    }

    /// Returns the time that the search for this model spent.
    fn searched(&self, graph: &Graph) -> Duration {
        let counts = self.compiled.refusal().is_none() || self.is_refused_for(graph);
        if counts { self.header.searched } else { Duration::ZERO }
    }

    fn is_refused_for(&self, graph: &Graph) -> bool {
        self.header.refused_values == hash_of_values(graph)
    }
}

impl CachedPlan {
    /// Returns the path in `folder` for the plan of `graph` with `options`, if such plans take long to find: those
    /// with row tiling or streamed weights. The name contains the model's name and two hashes of its operators and
    /// shapes and of options: one with whole tensors, budget, streamed weights and the figures of the device profile,
    /// and one of everything. Models that differ only in the values of their weights share a plan.
    pub fn new(folder: &Path, graph: &Graph, options: &CompileOptions) -> Option<Self> {
        // The name does not include limits on the search itself.
        if options.objective == Objective::Fastest && options.weights == WeightStorage::Resident {
            return None;
        }
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
        // File names are limited to 255 bytes.
        let name: String = graph.name.chars().map(plain).take(100).collect();
        let (objective, weights, device_profile) = Default::default();
        let shared = CompileOptions { objective, weights, device_profile, ..options.clone() };
        let family = format!("{name}-{:016x}-", hash(format_args!("{graph:?} {shared:?}")));
        let asked = hash(format_args!("{graph:?} {options:?}"));
        // A rebuilt version may search differently. Its executable differs in size or time of modification.
        let program = env::current_exe().and_then(fs::metadata).map(|found| (found.len(), found.modified().ok()));
        let searched_by = hash(format_args!("{VERSION} {} {:?}", env!("CARGO_PKG_VERSION"), program.ok()));
        Some(Self {
            path: folder.join(format!("{family}{asked:016x}.plan")),
            folder: folder.to_owned(),
            family,
            searched_by,
        })
    }

    /// Returns the stored plan if it is within the budget, however long it was searched for. Searches for none.
    pub fn find(&self, graph: &Graph, options: &CompileOptions) -> Option<CompiledModel> {
        let kept = self.load(graph, options)?;
        kept.compiled.refusal().is_none().then_some(kept.compiled)
    }

    /// Returns the stored plan and `true` if it needs no further search. Otherwise returns and stores the result of
    /// `search`, which starts from the stored plan, or for a budget of device memory from another plan of the model
    /// that keeps within it. If the search is stopped or finds nothing within the budget, its best plan is stored as
    /// the start of the next search.
    ///
    /// # Errors
    /// Errors of the search. If an earlier search has not met the budget and this one would have no more time, its
    /// error is returned without a search.
    pub fn get_or_search(
        &self,
        graph: &Graph,
        options: &CompileOptions,
        deadline: Option<Duration>,
        search: impl FnOnce(Option<&CompiledModel>) -> Result<CompiledModel, Unmet>,
    ) -> Result<(CompiledModel, bool), CompileError> {
        let kept = self.load(graph, options);
        let other = match &kept {
            Some(kept) if kept.compiled.refusal().is_none() => None,
            _ => self.other_within(graph, options),
        };
        // A refusal is out of date once another search has found a plan that fits.
        let answer = kept.as_ref().filter(|_| other.is_none()).and_then(|kept| kept.answer(graph, deadline));
        if let Some(answer) = answer {
            return answer.map(|compiled| (compiled, true));
        }
        let begun = Instant::now();
        let found = search(other.as_ref().or(kept.as_ref().map(|kept| &kept.compiled)));
        let stopped = match &found {
            Ok(compiled) => compiled.stopped(),
            Err(unmet) => unmet.smallest.as_ref().and_then(|smallest| smallest.stopped()),
        };
        let spent = match stopped {
            Some(StopReason::Cancelled) => begun.elapsed(),
            // The search did not need the rest of its time.
            _ => deadline.unwrap_or(UNLIMITED).max(begun.elapsed()),
        };
        let searched = spent.max(kept.map_or(Duration::ZERO, |kept| kept.searched(graph)));
        match found {
            Ok(compiled) => {
                self.store(&compiled, searched, 0);
                Ok((compiled, false))
            }
            Err(Unmet { error, smallest }) => {
                if let Some(smallest) = smallest {
                    self.store(&smallest, searched, hash_of_values(graph));
                }
                Err(error)
            }
        }
    }

    /// Returns the stored plan, checked like a new one; `None` if it does not exist, is damaged or comes
    /// from another version.
    fn load(&self, graph: &Graph, options: &CompileOptions) -> Option<KeptPlan> {
        let kept = self.load_file(&self.path, graph, options)?;
        // A valid plan may still be of another request, if somebody copied the file to this name.
        Some(kept).filter(|kept| kept.compiled.objective() == options.objective)
    }

    /// Returns a plan of another request for this model that keeps within the requested budget of device memory, the
    /// largest of them.
    fn other_within(&self, graph: &Graph, options: &CompileOptions) -> Option<CompiledModel> {
        let Objective::Device(bytes) = options.objective else { return None };
        let mut others: Vec<(u64, PathBuf)> = fs::read_dir(&self.folder)
            .into_iter()
            .flatten()
            .flatten()
            .filter(|entry| entry.file_name().to_str().is_some_and(|name| name.starts_with(&self.family)))
            .map(|entry| entry.path())
            .filter(|path| *path != self.path)
            .filter_map(|path| Some((self.header_of(&path)?.device_bytes, path)))
            .filter(|&(device_bytes, _)| device_bytes <= bytes)
            .collect();
        others.sort_by(|a, b| b.cmp(a));
        let loaded = others.iter().take(MOST_OTHERS).filter_map(|(_, path)| self.load_file(path, graph, options));
        loaded.map(|kept| kept.compiled).find(|compiled| compiled.device_bytes() <= bytes)
    }

    /// Reads only the header of a plan of this version.
    fn header_of(&self, path: &Path) -> Option<Header> {
        let (mut file, _) = open_kept(path).ok()??;
        let mut bytes = [0; Header::BYTES];
        file.read_exact(&mut bytes).ok()?;
        Header::from_bytes(&bytes).filter(|header| header.searched_by == self.searched_by)
    }

    /// Returns the plan in a file, checked like a new one, if its numbers are stored as requested.
    fn load_file(&self, path: &Path, graph: &Graph, options: &CompileOptions) -> Option<KeptPlan> {
        let bytes = read_kept(path, MAX_BYTES).unwrap_or_else(|error| {
            tracing::warn!(path = %path.display(), %error, "the plan that is kept cannot be read");
            None
        })?;
        let (header, plan) = bytes.split_first_chunk()?;
        let Some(header) = Header::from_bytes(header) else {
            tracing::warn!(path = %path.display(), "the header of the plan that is kept is damaged");
            return None;
        };
        if header.searched_by != self.searched_by {
            tracing::debug!(path = %path.display(), "the plan that is kept is another version's");
            return None;
        }
        let loaded = load(graph, plan, options.limits);
        let loaded = loaded.inspect_err(|error| {
            tracing::warn!(path = %path.display(), %error, "the plan that is kept does not hold");
        });
        // The texel formats may differ, because the budget determines whether the pool uses words; only the float width
        // counts.
        let asked = |plan: &CompiledModel| {
            (plan.format().float_bits(), plan.weight_format()) == (options.format.float_bits(), options.weight_format)
        };
        loaded.ok().filter(asked).map(|compiled| KeptPlan { compiled, header })
    }

    /// Stores a plan and the time spent on it. A folder that cannot be written is not an error.
    fn store(&self, compiled: &CompiledModel, searched: Duration, refused_values: u64) {
        let device_bytes = compiled.device_bytes();
        let header = Header { searched_by: self.searched_by, searched, device_bytes, refused_values };
        let written = PartFile::create(&self.path).and_then(|part| {
            part.write(|out| {
                out.write_all(&header.to_bytes())?;
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

/// Hashes the values of all constants. Never 0.
fn hash_of_values(graph: &Graph) -> u64 {
    let mut hash = DefaultHasher::new();
    for constant in graph.tensors.iter().filter_map(|tensor| tensor.constant.as_ref()) {
        // A constant that repeats one value is hashed by that value, without expanding it.
        let bytes = constant.bytes.element().unwrap_or_else(|| constant.bytes.as_slice());
        hash.write_usize(constant.bytes.len());
        hash.write(bytes);
    }
    hash.finish().max(1)
}
