//! Keyword arguments as the libraries' configuration. Names and defaults are those of the command
//! line.

use std::{
    path::{Path, PathBuf},
    str::FromStr,
};

use outercore_algorithms::{Request, Source};
use outercore_engine::{
    CrossIteration, EngineError, HugePages, IoBackend, IoScheduling, MemoryModel, Precompute,
    Preset, ReadPolicy, RunConfig,
};
use outercore_graph::{
    BuildOptions, Graph, GraphError, GridPartition, Key, Layout, Order, WeightKind,
    format::IdTable,
    input::{IdKind, InputOptions},
};
use outercore_interchange::EdgeFormat;
use outercore_storage::{Disk, memory};
use pyo3::{
    exceptions::PyTypeError,
    prelude::*,
    types::{PyInt, PyString},
};

type Result<T> = std::result::Result<T, EngineError>;

/// A size: a number of bytes, or text such as `512M` and `25%`.
#[derive(FromPyObject)]
pub enum Size {
    /// Bytes.
    #[pyo3(transparent, annotation = "int")]
    Bytes(u64),
    /// Text.
    #[pyo3(transparent, annotation = "str")]
    Text(String),
}

impl Size {
    /// Bytes, where a percentage is of `whole`.
    fn of(&self, whole: u64) -> Result<u64> {
        let text = match self {
            Size::Bytes(bytes) => return Ok(*bytes),
            Size::Text(text) => text.trim(),
        };
        let wrong =
            || usage(format!("{text:?} is not a size; write 4096, \"512M\", \"2G\" or \"25%\""));
        if let Some(percent) = text.strip_suffix('%') {
            let percent: f64 = percent.parse().map_err(|_| wrong())?;
            return if percent > 0.0 && percent <= 100.0 {
                Ok((whole as f64 * percent / 100.0) as u64)
            } else {
                Err(wrong())
            };
        }
        bytes(text).ok_or_else(wrong)
    }
}

/// A size in bytes, with `K`, `M`, `G` or `T` for powers of 1024.
fn bytes(text: &str) -> Option<u64> {
    let lower = text.to_ascii_lowercase();
    let bare = lower.strip_suffix("ib").or_else(|| lower.strip_suffix('b')).unwrap_or(&lower);
    let units = ["k", "m", "g", "t"].into_iter().zip([10, 20, 30, 40]);
    let (number, shift) = units
        .into_iter()
        .find_map(|(unit, shift)| Some((bare.strip_suffix(unit)?, shift)))
        .unwrap_or((bare, 0));
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(1 << shift);
    }
    let plain = shift > 0 && number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let real = number.parse::<f64>().ok().filter(|_| plain)? * (1u64 << shift) as f64;
    (real < 9e18).then_some(real as u64)
}

fn usage(message: impl Into<String>) -> EngineError {
    EngineError::Usage(message.into())
}

/// One of several names.
fn one_of<T: Copy>(parameter: &str, name: &str, known: &[(&str, T)]) -> Result<T> {
    let names = || known.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    let found = known.iter().find(|(known, _)| *known == name);
    found
        .map(|(_, value)| *value)
        .ok_or_else(|| usage(format!("{parameter} cannot be {name:?}; it is one of {}", names())))
}

fn threads(given: Option<usize>) -> Result<usize> {
    match given {
        Some(threads) if !(1..=1024).contains(&threads) => {
            Err(usage(format!("threads cannot be {threads}; it is 1 to 1024")))
        }
        given => Ok(given.unwrap_or_else(memory::cores)),
    }
}

fn memory_budget(given: Option<&Size>) -> Result<u64> {
    let machine = memory::machine_memory();
    given.map_or(Ok(machine / 2), |size| size.of(machine))
}

/// Bytes that may be written beside `path`, which need not exist yet.
fn disk_budget(given: Option<&Size>, disk: &Disk, path: &Path) -> Result<u64> {
    let folder = path.ancestors().skip(1).find(|folder| folder.is_dir()).unwrap_or(Path::new("."));
    let free = disk.free_space(folder)?;
    given.map_or(Ok((free as f64 * 0.9) as u64), |size| size.of(free))
}

/// What a build is given, as a mapping.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct BuildArguments {
    /// The graph to make.
    pub path: PathBuf,
    memory: Option<Size>,
    disk: Option<Size>,
    directed: Option<bool>,
    weights: Option<String>,
    ids: Option<String>,
    format: Option<String>,
    vertices: Vec<PathBuf>,
    simple: bool,
    transpose: bool,
    order: String,
    #[pyo3(default)]
    partition: Option<String>,
    #[pyo3(default)]
    layout: Option<String>,
    stripes: Vec<PathBuf>,
    threads: Option<usize>,
    force: bool,
}

impl BuildArguments {
    /// What the user says of the input, and its format.
    pub fn input(&self) -> Result<(InputOptions, EdgeFormat)> {
        let format = self
            .format
            .as_deref()
            .map_or(Ok(EdgeFormat::default()), EdgeFormat::from_str)
            .map_err(usage)?;
        let ids = self.ids.as_deref().map(IdKind::from_str).transpose().map_err(usage)?;
        let options = InputOptions {
            ids,
            weights: self.weights()?,
            directed: self.directed,
            vertices: self.vertices.clone(),
            ..InputOptions::default()
        };
        Ok((options, format))
    }

    fn weights(&self) -> Result<Option<WeightKind>> {
        let known = [
            ("none", WeightKind::None),
            ("u32", WeightKind::U32),
            ("f32", WeightKind::F32),
            ("f64", WeightKind::F64),
        ];
        self.weights.as_deref().map(|name| one_of("weights", name, &known)).transpose()
    }

    /// The library's options.
    pub fn options(&self, disk: &Disk) -> Result<BuildOptions> {
        let partitions =
            [("balanced", GridPartition::Balanced), ("uniform", GridPartition::Uniform)];
        let layouts =
            [Layout::Grid, Layout::Row, Layout::Hybrid].map(|layout| (layout.name(), layout));
        Ok(BuildOptions {
            memory: memory_budget(self.memory.as_ref())?,
            disk: Some(disk_budget(self.disk.as_ref(), disk, &self.path)?),
            threads: threads(self.threads)?,
            directed: self.directed,
            weights: self.weights()?,
            simple: self.simple,
            transpose: self.transpose,
            order: one_of(
                "order",
                &self.order,
                &[("degree", Order::Degree), ("original", Order::Original)],
            )?,
            partition: one_of(
                "partition",
                self.partition.as_deref().unwrap_or("balanced"),
                &partitions,
            )?,
            layout: one_of(
                "layout",
                self.layout.as_deref().unwrap_or(Layout::Grid.name()),
                &layouts,
            )?,
            stripes: self.stripes.clone(),
            force: self.force,
            ..BuildOptions::default()
        })
    }
}

/// What a run is given, as a mapping. What is absent, or `None`, has the library's default.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct RunArguments<'py> {
    memory: Option<Size>,
    #[pyo3(default)]
    disk: Option<Size>,
    threads: Option<usize>,
    model: Option<String>,
    read: Option<String>,
    io: Option<String>,
    #[pyo3(default)]
    huge_pages: Option<String>,
    #[pyo3(default)]
    block: Option<u64>,
    #[pyo3(default)]
    max_gap: Option<Size>,
    #[pyo3(default)]
    max_request: Option<Size>,
    #[pyo3(default)]
    io_scheduling: Option<String>,
    #[pyo3(default)]
    stealing: Option<bool>,
    #[pyo3(default)]
    cross_iteration: Option<String>,
    #[pyo3(default)]
    sub_blocks: Option<bool>,
    #[pyo3(default)]
    precompute: Option<String>,
    #[pyo3(default)]
    preset: Option<String>,
    #[pyo3(default)]
    source: Option<Bound<'py, PyAny>>,
    #[pyo3(default)]
    sources: Option<Vec<Bound<'py, PyAny>>>,
    /// Exactly so many iterations.
    #[pyo3(default)]
    pub iterations: Option<u64>,
    #[pyo3(default)]
    tolerance: Option<f64>,
    #[pyo3(default)]
    damping: Option<f64>,
    #[pyo3(default)]
    delta: Option<f64>,
    #[pyo3(default)]
    k: Option<u64>,
    #[pyo3(default)]
    exact: Option<bool>,
    #[pyo3(default)]
    top: Option<usize>,
}

impl RunArguments<'_> {
    /// The library's configuration.
    pub fn config(&self) -> Result<RunConfig> {
        let models = [MemoryModel::InMemory, MemoryModel::SemiExternal, MemoryModel::FullyExternal]
            .map(|model| (model.name(), Some(model)));
        let reads = [
            ("auto", ReadPolicy::Auto),
            ("full", ReadPolicy::Full),
            ("on-demand", ReadPolicy::OnDemand),
        ];
        let backends = [
            ("auto", IoBackend::Auto),
            ("uring", IoBackend::Uring),
            ("blocking", IoBackend::Blocking),
        ];
        let pages = [("auto", HugePages::Auto), ("on", HugePages::On), ("off", HugePages::Off)];
        let schedulings = [IoScheduling::Bitmap, IoScheduling::Pluglist]
            .map(|scheduling| (scheduling.name(), scheduling));
        let crossings = [
            CrossIteration::On,
            CrossIteration::Graphsd,
            CrossIteration::Fciu,
            CrossIteration::Sciu,
            CrossIteration::Off,
        ]
        .map(|cross| (cross.name(), cross));
        let presets = [Preset::Best, Preset::Streaming, Preset::Graphsd, Preset::Seraph]
            .map(|preset| (preset.name(), preset));
        let early = [Precompute::Off, Precompute::Gap, Precompute::On]
            .map(|precompute| (precompute.name(), Some(precompute)));
        let block = self.block.unwrap_or(4096);
        if ![512, 4096, 8192].contains(&block) {
            return Err(usage(format!("block cannot be {block}; it is 512, 4096 or 8192")));
        }
        let size = |size: &Option<Size>| size.as_ref().map(|size| size.of(0)).transpose();
        let config = RunConfig {
            memory: memory_budget(self.memory.as_ref())?,
            threads: threads(self.threads)?,
            model: self.model.as_deref().map_or(Ok(None), |name| one_of("model", name, &models))?,
            io: one_of("io", self.io.as_deref().unwrap_or("auto"), &backends)?,
            huge_pages: one_of("huge_pages", self.huge_pages.as_deref().unwrap_or("auto"), &pages)?,
            block,
            max_gap: size(&self.max_gap)?,
            max_request: size(&self.max_request)?,
            io_scheduling: one_of(
                "io_scheduling",
                self.io_scheduling.as_deref().unwrap_or("bitmap"),
                &schedulings,
            )?,
            stealing: self.stealing.unwrap_or(true),
            precompute: self
                .precompute
                .as_deref()
                .map_or(Ok(None), |name| one_of("precompute", name, &early))?,
            ..RunConfig::default()
        };
        let config = config.with_preset(one_of(
            "preset",
            self.preset.as_deref().unwrap_or("best"),
            &presets,
        )?);
        // What is asked for by itself goes before what belongs to a preset.
        Ok(RunConfig {
            read: self
                .read
                .as_deref()
                .map_or(Ok(config.read), |name| one_of("read", name, &reads))?,
            cross_iteration: self
                .cross_iteration
                .as_deref()
                .map_or(Ok(config.cross_iteration), |name| {
                    one_of("cross_iteration", name, &crossings)
                })?,
            sub_blocks: self.sub_blocks.unwrap_or(config.sub_blocks),
            ..config
        })
    }

    /// The algorithm's parameters, for a run on `graph`.
    pub fn request(&self, py: Python<'_>, graph: &Graph) -> PyResult<Request> {
        let of = |given: &Bound<'_, PyAny>| source(py, graph, given);
        Ok(Request {
            source: self.source.as_ref().map(of).transpose()?,
            sources: self.sources.iter().flatten().map(of).collect::<PyResult<_>>()?,
            iterations: self.iterations,
            tolerance: self.tolerance,
            damping: self.damping,
            delta: self.delta,
            k: self.k,
            exact: self.exact.unwrap_or(false),
            top: self.top,
        })
    }

    /// Says no if a run would write more than it may.
    pub fn check_disk(&self, graph: &Graph, needed: u64) -> Result<()> {
        let allowed = disk_budget(self.disk.as_ref(), graph.disk(), graph.path())?;
        if needed > allowed { Err(GraphError::Disk { needed, allowed }.into()) } else { Ok(()) }
    }
}

/// A start vertex. In a graph whose ids are strings, a string of digits is one too.
fn source(py: Python<'_>, graph: &Graph, given: &Bound<'_, PyAny>) -> PyResult<Source> {
    if let Ok(text) = given.cast::<PyString>() {
        let text = text.to_str()?;
        let Ok(source) = Source::from_str(text);
        let named = matches!(source, Source::Key(_)) && graph.manifest().ids == IdTable::Names;
        return Ok(if named { Source::Key(Key::Name(text.to_owned())) } else { source });
    }
    match given.extract::<u64>() {
        Ok(number) => Ok(Source::Key(Key::Number(number))),
        Err(_) if given.is_instance_of::<PyInt>() => {
            Err(crate::failure::usage(py, format!("there is no vertex {given}")))
        }
        Err(_) => Err(PyTypeError::new_err(format!(
            "a source is an int or a str, not {}",
            given.get_type().name()?
        ))),
    }
}
