//! Options given as names and texts, as in command lines, configuration files and other languages.

use std::{path::Path, time::Duration};

use super::option_table::{Effect, OPTIONS, OptionRow, Part, Settings};
#[cfg(not(target_arch = "wasm32"))]
use super::{Context, Error};
#[cfg(not(target_arch = "wasm32"))]
use texpool_cache::{WEIGHTS, make_cache_folder};
use texpool_compile::{CompileOptions, Objective};
use texpool_gpu::GpuOptions;
use texpool_model::import::ImportOptions;
use texpool_plan::{Planner, Strategy, printable};

/// Options for the device, the model file and the plan, given as names and texts. For programs that take options from a
/// file, a command line or another language. The names and texts are those of the command `texpool`.
///
#[doc = include_str!("OPTIONS.md")]
///
/// ```no_run
/// use texpool::{Context, Model, NamedOptions};
///
/// let options = NamedOptions::parse([("budget", "2MiB"), ("precision", "f16")])?;
/// let model = Model::open_with("mobilenet_v2.tflite", options.import())?;
/// let context = options.open()?;
/// let session = context.compile(&model).named_options(&options).build()?.session()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct NamedOptions {
    rows: Vec<&'static OptionRow>,
    settings: Settings,
}

/// An invalid option name or text.
///
/// ```
/// use texpool::{NamedOptions, OptionError};
///
/// let error = NamedOptions::parse([("speed", "high")]).unwrap_err();
/// assert!(error.to_string().starts_with("there is no option `speed`; there are: adapter, timeout, dim"));
/// let error = NamedOptions::parse([("precision", "f16"), ("precision", "f32")]).unwrap_err();
/// assert_eq!(error, OptionError::Twice { name: "precision" });
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OptionError {
    /// The option does not exist.
    #[error("there is no option `{}`; there are: {}", printable(name), all_names())]
    Unknown {
        /// The name that was given.
        name: String,
    },
    /// The text is not valid for the option.
    #[error("option `{name}`: {}", printable(why))]
    Value {
        /// The option.
        name: &'static str,
        /// The defect of the text, and the expected form.
        why: String,
    },
    /// The option is given twice.
    #[error("option `{name}` is given twice")]
    Twice {
        /// The option.
        name: &'static str,
    },
    /// The options exclude each other, because one determines the other.
    #[error("options `{name}` and `{other}` do not go together")]
    Conflict {
        /// The first option.
        name: &'static str,
        /// The second option.
        other: &'static str,
    },
}

const BUDGET: &str = "budget";

fn all_names() -> String {
    OPTIONS.iter().map(|option| option.name).collect::<Vec<_>>().join(", ")
}

/// Description of an option of [`NamedOptions`], for help texts and forms.
///
/// ```
/// // A table of the options for a help page.
/// let rows: Vec<String> =
///     texpool::NamedOptions::help().iter().map(|help| format!("{}: {}", help.name, help.purpose)).collect();
/// assert_eq!(rows[1], "timeout: Longest wait for the device.");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OptionHelp {
    /// The name.
    pub name: &'static str,
    /// The texts that the option takes, in Markdown.
    pub texts: String,
    /// The purpose, in Markdown.
    pub purpose: &'static str,
}

impl NamedOptions {
    /// Describes all options.
    ///
    /// ```
    /// let options = texpool::NamedOptions::help();
    /// let precision = options.iter().find(|option| option.name == "precision").unwrap();
    /// assert_eq!(precision.texts, "`f32`, `f16`, `u8`; default `f32`");
    /// ```
    pub fn help() -> Vec<OptionHelp> {
        let help = |&OptionRow { name, texts, purpose, .. }: &OptionRow| OptionHelp { name, texts: texts(), purpose };
        OPTIONS.iter().map(help).collect()
    }

    /// Takes options by name and text, in any order.
    ///
    /// ```
    /// use texpool::NamedOptions;
    ///
    /// let options = NamedOptions::parse([("budget", "2M")])?;
    /// assert_eq!(options.budget(), Some(2 << 20));
    /// # Ok::<(), texpool::OptionError>(())
    /// ```
    ///
    /// # Errors
    /// [`OptionError`].
    pub fn parse<'o>(options: impl IntoIterator<Item = (&'o str, &'o str)>) -> Result<Self, OptionError> {
        let Self { mut rows, mut settings } = Self::default();
        for (key, text) in options {
            let option = OPTIONS.iter().find(|option| option.name == key);
            let option = option.ok_or_else(|| OptionError::Unknown { name: key.to_owned() })?;
            let name = option.name;
            if !option.repeats && rows.iter().any(|other| other.name == name) {
                return Err(OptionError::Twice { name });
            }
            (option.set)(&mut settings, text).map_err(|why| OptionError::Value { name, why })?;
            rows.push(option);
        }
        let decided = rows.iter().find(|option| option.effect == Effect::ShapeByBudget);
        if let (true, Some(other)) = (rows.iter().any(|option| option.name == BUDGET), decided) {
            return Err(OptionError::Conflict { name: BUDGET, other: other.name });
        }
        settings.finish();
        Ok(Self { rows, settings })
    }

    fn first(&self, is: impl Fn(Part) -> bool) -> Option<&'static str> {
        self.rows.iter().find(|option| is(option.part)).map(|option| option.name)
    }

    /// Returns the first of the given options that concerns opening a device. Such options have no effect on a device
    /// that is already open.
    ///
    /// ```
    /// // For a device that is open already: options for opening one would have no effect.
    /// let options = texpool::NamedOptions::parse([("precision", "f16"), ("adapter", "nvidia")])?;
    /// assert_eq!((options.of_device(), options.of_plan()), (Some("adapter"), Some("precision")));
    /// assert_eq!(options.beyond_device(), Some("precision"));
    /// # Ok::<(), texpool::OptionError>(())
    /// ```
    pub fn of_device(&self) -> Option<&'static str> {
        self.first(|part| part == Part::Device)
    }

    /// Returns the first of the given options that does not concern opening a device.
    pub fn beyond_device(&self) -> Option<&'static str> {
        self.first(|part| part != Part::Device)
    }

    /// Returns the first of the given options that concerns planning. Such options have no effect on a loaded plan.
    pub fn of_plan(&self) -> Option<&'static str> {
        self.first(|part| part == Part::Plan)
    }

    /// Returns the options for opening a device.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let options = texpool::NamedOptions::parse([("timeout", "2.5"), ("dim", "batch=1")])?;
    /// assert_eq!((options.gpu().timeout, options.import().dims["batch"]), (Duration::from_millis(2500), 1));
    /// # Ok::<(), texpool::OptionError>(())
    /// ```
    pub const fn gpu(&self) -> &GpuOptions {
        &self.settings.gpu
    }

    /// Returns the options for reading a model.
    pub const fn import(&self) -> &ImportOptions {
        &self.settings.import
    }

    /// Returns the budget for all device memory of a session, if there is one.
    pub const fn budget(&self) -> Option<u64> {
        match self.settings.compile.objective {
            Objective::Device(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// Returns these options for a quick compilation that only shows whether a device can compute a model: without
    /// budget, stripes of rows, streams and stored files, and planned by a single strategy. Options that change results
    /// stay as they are.
    ///
    /// ```
    /// let options = texpool::NamedOptions::parse([("budget", "2MiB"), ("precision", "f16")])?;
    /// let trial = options.for_trial();
    /// assert_eq!((trial.budget(), trial.of_plan()), (None, Some("precision")));
    /// # Ok::<(), texpool::OptionError>(())
    /// ```
    pub fn for_trial(&self) -> Self {
        let CompileOptions { rules, format, weight_format, .. } = self.settings.compile;
        let planner = Planner::Strategy(Strategy::GreedyBySize);
        let compile = CompileOptions { rules, format, weight_format, planner, ..CompileOptions::default() };
        let rows = self.rows.iter().copied().filter(|option| option.effect == Effect::Outside).collect();
        let mut settings = self.settings.clone();
        (settings.compile, settings.cache_dir) = (compile, None);
        Self { rows, settings }
    }

    /// Returns the folder for files that make the next start faster, if there is one.
    ///
    /// ```
    /// use std::path::Path;
    /// use texpool::NamedOptions;
    ///
    /// let options = NamedOptions::parse([("cache_dir", "/var/cache/detector")])?;
    /// assert_eq!(options.cache_dir(), Some(Path::new("/var/cache/detector")));
    /// assert_eq!(NamedOptions::default().cache_dir(), None); // nothing is stored
    /// # Ok::<(), texpool::OptionError>(())
    /// ```
    pub fn cache_dir(&self) -> Option<&Path> {
        self.settings.cache_dir.as_deref()
    }

    /// Opens the device.
    ///
    /// # Errors
    /// As [`Context::open`].
    #[cfg(not(target_arch = "wasm32"))]
    pub fn open(&self) -> Result<Context, Error> {
        Ok(self.with_folder(Context::open(&self.settings.gpu)?))
    }

    /// Returns the same context, with packed weights stored as the options state.
    ///
    /// ```no_run
    /// # use texpool::wgpu::{Device, Queue};
    /// # fn example(device: Device, queue: Queue) -> Result<(), Box<dyn std::error::Error>> {
    /// // The device is the program's, the folder for weights is the user's.
    /// let options = texpool::NamedOptions::parse([("cache_dir", "/var/cache/detector"), ("stream", "weights")])?;
    /// let context = options.with_folder(texpool::Context::from_wgpu(device, queue)?);
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(not(target_arch = "wasm32"))]
    pub fn with_folder(&self, context: Context) -> Context {
        match self.made_cache_dir() {
            Some(folder) => context.with_weights_folder(folder.join(WEIGHTS)),
            None => context,
        }
    }

    /// Creates the folder for stored files and tags it as a cache. If it cannot be created, nothing is stored, which
    /// is not an error.
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) fn made_cache_dir(&self) -> Option<&Path> {
        let folder = self.cache_dir()?;
        if let Err(error) = make_cache_folder(folder, &|_, _| false) {
            tracing::debug!(path = %folder.display(), %error, "there is no cache folder");
        }
        Some(folder)
    }

    pub(super) const fn compile(&self) -> &CompileOptions {
        &self.settings.compile
    }

    pub(super) const fn deadline(&self) -> Option<Duration> {
        self.settings.deadline
    }
}

#[cfg(test)]
mod tests {
    use super::{NamedOptions, OPTIONS, OptionError, OptionHelp};
    use std::{path::Path, time::Duration};
    use texpool_compile::{
        BlockChoice, CompileOptions, Objective, OperatorOrder, StreamedIo, Tiling, WeightFormat, WeightStorage,
    };
    use texpool_model::{import::FakeQuant, rewrite::Rules};
    use texpool_ops::graph::DeviceClass;
    use texpool_plan::{Planner, Strategy, TexelFormat};

    fn parse(options: &[(&str, &str)]) -> Result<NamedOptions, OptionError> {
        NamedOptions::parse(options.iter().copied())
    }

    /// The page that documents the options for every language is the table.
    #[test]
    fn the_page_of_options_is_the_table() {
        let row = |option: OptionHelp| format!("| `{}` | {} | {} |\n", option.name, option.texts, option.purpose);
        let rows: String = NamedOptions::help().into_iter().map(row).collect();
        let page = format!("| name | text | purpose |\n|---|---|---|\n{rows}");
        assert!(include_str!("OPTIONS.md") == page, "src/runtime/OPTIONS.md must be:\n{page}");
    }

    #[test]
    fn every_option_asks_for_what_it_says() {
        let options = [
            ("adapter", "llvmpipe"),
            ("timeout", "2.5"),
            ("dim", "batch=2"),
            ("dim", "a=b=3"),
            ("constant", "sr=16000"),
            ("constant", "scales=0.5, 2"),
            ("fake_quant", "off"),
            ("precision", "f16"),
            ("weights", "int8"),
            ("objective", "smallest"),
            ("tiling", "whole"),
            ("stripes", "conv=2"),
            ("order", "memory"),
            ("stream", "weights"),
            ("weight_tile", "4KiB"),
            ("strategy", "banks"),
            ("rules", "exact"),
            ("blocks", "mali"),
            ("deadline", "none"),
            ("cache_dir", "/var/cache/x"),
        ];
        assert!(
            OPTIONS
                .iter()
                .map(|option| option.name)
                .all(|name| name == "budget" || options.iter().any(|(option, _)| *option == name))
        );
        let options = parse(&options).unwrap();
        assert_eq!(
            (options.gpu().adapter.as_deref(), options.gpu().timeout),
            (Some("llvmpipe"), Duration::from_millis(2500))
        );
        let dims: Vec<(&str, usize)> = options.import().dims.iter().map(|(name, extent)| (&**name, *extent)).collect();
        assert_eq!((dims, options.import().fake_quant), (vec![("a=b", 3), ("batch", 2)], FakeQuant::Off));
        let constants = &options.import().constants;
        assert_eq!(constants["sr"].to_i64(), Some(&[16_000][..]));
        assert_eq!((constants["scales"].dims(), &*constants["scales"].to_f32()), (&[2][..], &[0.5, 2.0][..]));
        let CompileOptions {
            rules,
            format,
            planner,
            objective,
            tiling,
            stripes,
            order,
            weights,
            weight_format,
            stream_io,
            blocks,
            ..
        } = options.compile();
        assert_eq!((*format, *planner), (TexelFormat::Rgba16Float, Planner::Banks));
        assert_eq!((*objective, *tiling, *order), (Objective::Smallest, Tiling::Whole, OperatorOrder::Memory));
        assert_eq!(Ok(stripes), "conv=2".parse().as_ref());
        assert_eq!((*rules, *stream_io), (Rules::exact(), StreamedIo::NONE));
        assert_eq!((*weight_format, *blocks), (WeightFormat::Int8, BlockChoice::of(DeviceClass::Mali)));
        assert_eq!(*weights, WeightStorage::Streamed { resident_below: 0, tile_bytes: 4096 });
        assert_eq!((options.deadline(), options.cache_dir()), (None, Some(Path::new("/var/cache/x"))));
        assert_eq!((options.of_device(), options.beyond_device()), (Some("adapter"), Some("dim")));
        assert_eq!(options.of_plan(), Some("precision"));
    }

    /// A trial keeps the options that change results, and all of those that read the model and open the device.
    #[test]
    fn a_trial_leaves_out_what_only_shapes_the_plan() {
        let options =
            [("budget", "2MiB"), ("precision", "f16"), ("weights", "int8"), ("rules", "exact"), ("dim", "n=2")];
        let more = [("strategy", "optimum"), ("deadline", "5"), ("cache_dir", "/var/cache/x"), ("timeout", "3")];
        let trial = parse(&[&options[..], &more].concat()).unwrap().for_trial();
        let plain =
            parse(&[&options[1..], &[("strategy", "greedy_by_size"), ("stream", "none")], &more[1..2]].concat());
        let CompileOptions { planner, .. } = *trial.compile();
        assert_eq!(format!("{:?}", trial.compile()), format!("{:?}", plain.unwrap().compile()));
        assert_eq!((trial.budget(), planner), (None, Planner::Strategy(Strategy::GreedyBySize)));
        assert_eq!((trial.deadline(), trial.cache_dir()), (Some(Duration::from_secs(5)), None));
        assert_eq!((trial.import().dims["n"], trial.gpu().timeout), (2, Duration::from_secs(3)));
        let names: Vec<&str> = trial.rows.iter().map(|option| option.name).collect();
        assert_eq!(names, ["precision", "weights", "rules", "dim", "deadline", "timeout"]);
    }

    /// Checks that the defaults equal those of the command: inputs and outputs go through the pool, in the smallest
    /// plan weights do too, and a budget makes all of these choices.
    #[test]
    fn unset_options_follow_from_the_others() {
        let streamed = |options: &[(&str, &str)]| {
            let parsed = parse(options).unwrap();
            (parsed.compile().weights, parsed.compile().stream_io, parsed.compile().objective)
        };
        let tiles = |tile_bytes| WeightStorage::Streamed { resident_below: 0, tile_bytes };
        assert_eq!(streamed(&[]), (WeightStorage::Resident, StreamedIo::BOTH, Objective::Fastest));
        assert_eq!(format!("{:?}", parse(&[]).unwrap()), format!("{:?}", NamedOptions::default()));
        assert_eq!(streamed(&[("objective", "smallest")]), (tiles(64 << 10), StreamedIo::BOTH, Objective::Smallest));
        assert_eq!(streamed(&[("stream", "none")]), (WeightStorage::Resident, StreamedIo::NONE, Objective::Fastest));
        assert_eq!(
            streamed(&[("objective", "smallest"), ("stream", "none")]),
            (WeightStorage::Resident, StreamedIo::NONE, Objective::Smallest)
        );
        let budget = streamed(&[("budget", "2MiB"), ("deadline", "5")]);
        assert_eq!(budget, (WeightStorage::Resident, StreamedIo::BOTH, Objective::Device(2 << 20)));
        assert_eq!(parse(&[("budget", "2MiB")]).unwrap().budget(), Some(2 << 20));
        assert_eq!(parse(&[("objective", "smallest")]).unwrap().budget(), None);
    }

    #[test]
    fn unknown_options_are_refused_by_name() {
        for (options, message) in [
            (&[("speed", "high")][..], "there is no option `speed`; there are: adapter, timeout, dim"),
            (&[("budget", "2 parsec")], "option `budget`: `2 parsec` is no size"),
            (&[("objective", "most")], "option `objective`: `most` is none of `fastest`, `balanced`, `smallest`"),
            (&[("strategy", "offsets_greedy_by_size")], "option `strategy`: "),
            (&[("rules", "")], "option `rules`: "),
            (&[("weight_tile", "0")], "option `weight_tile`: `0` is less than a byte"),
            (&[("timeout", "1e9")], "option `timeout`: `1e9` is no time"),
            (&[("cache_dir", "")], "option `cache_dir`: it must name a folder"),
            (&[("dim", "n=1"), ("dim", "n=2")], "option `dim`: `n=2` binds an extent that is bound already"),
            (&[("precision", "f16"), ("precision", "f16")], "option `precision` is given twice"),
            (&[("stream", "all"), ("budget", "1MiB")], "options `budget` and `stream` do not go together"),
        ] {
            let error = parse(options).unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
        }
    }
}
