//! Keyword arguments as the libraries' settings: their names, what they can be and what is wrong
//! with them are the libraries' to say. A dash of a switch is an underscore of a keyword.

use std::{
    path::{Path, PathBuf},
    str::FromStr,
};

use numpy::PyReadonlyArray1;
use outercore_algorithms::{Request, Source, Vector};
use outercore_caches::{SelectOptions, SelectSettings};
use outercore_engine::{
    Resources, RunConfig, RunSettings, Settings,
    settings::{Kind, Switch},
};
use outercore_graph::{
    BuildOptions, BuildSettings, Graph, GraphError, Key, Order,
    input::{InputOptions, InputSettings},
};
use outercore_interchange::EdgeFormat;
use outercore_ordering::{Means, OrderSettings};
use outercore_storage::Disk;
use pyo3::{
    exceptions::PyTypeError,
    prelude::*,
    types::{PyBytes, PyDict, PyFloat, PyInt, PyString},
};

use crate::failure;

/// What a build is given.
pub struct BuildArguments {
    /// The graph to make.
    pub path: PathBuf,
    input: InputOptions,
    format: EdgeFormat,
    options: BuildOptions,
    settings: BuildSettings,
    resources: Resources,
}

impl BuildArguments {
    /// Those of a mapping. What is absent, or `None`, has the library's default.
    pub fn of(given: &Bound<'_, PyDict>) -> PyResult<Self> {
        let py = given.py();
        let mut input = InputSettings::default();
        let mut arguments = Self {
            path: PathBuf::new(),
            input: InputOptions::default(),
            format: EdgeFormat::default(),
            options: BuildOptions::default(),
            settings: BuildSettings::default(),
            resources: Resources::default(),
        };
        for (name, value) in present(given) {
            match name.extract()? {
                "path" => arguments.path = value.extract()?,
                "directed" => arguments.options.directed = value.extract()?,
                "simple" => arguments.options.simple = value.extract()?,
                "force" => arguments.options.force = value.extract()?,
                "stripes" => arguments.options.stripes = value.extract()?,
                "vertices" => arguments.input.vertices = value.extract()?,
                "format" => {
                    let format = EdgeFormat::from_str(value.extract()?);
                    arguments.format = format.map_err(|error| failure::usage(py, error))?;
                }
                name => {
                    let found = set(&mut input, name, &value)?
                        || set(&mut arguments.settings, name, &value)?
                        || set(&mut arguments.resources, name, &value)?;
                    if !found {
                        return Err(unexpected(name));
                    }
                }
            }
        }
        arguments.input = InputOptions {
            directed: arguments.options.directed,
            vertices: arguments.input.vertices,
            ..input.options()
        };
        Ok(arguments)
    }

    /// What the user says of the input, and its format.
    pub fn input(&self) -> (&InputOptions, EdgeFormat) {
        (&self.input, self.format)
    }

    /// The library's options.
    pub fn options(&self, disk: &Disk) -> Result<BuildOptions, GraphError> {
        Ok(BuildOptions {
            directed: self.options.directed,
            weights: self.input.weights,
            simple: self.options.simple,
            force: self.options.force,
            stripes: self.options.stripes.clone(),
            ..self.settings.options(&self.resources, disk, &self.path)?
        })
    }
}

/// What a run is given.
#[derive(Default)]
pub struct RunArguments {
    /// The algorithm's parameters.
    pub request: Request,
    settings: RunSettings,
    resources: Resources,
}

impl RunArguments {
    /// Those of a mapping. What is absent, or `None`, has the library's default.
    pub fn of(given: &Bound<'_, PyDict>) -> PyResult<Self> {
        let mut arguments = Self::default();
        for (name, value) in present(given) {
            match name.extract()? {
                "source" => arguments.request.source = Some(source(&value)?),
                "sources"
                    if value.is_instance_of::<PyString>() || value.is_instance_of::<PyBytes>() =>
                {
                    return Err(PyTypeError::new_err("sources are several, not a str"));
                }
                "sources" => {
                    let sources = value.try_iter()?.map(|given| source(&given?));
                    arguments.request.sources = sources.collect::<PyResult<_>>()?;
                }
                "vector" => arguments.request.vector = Some(vector(&value)?),
                name => {
                    let found = set(&mut arguments.request, name, &value)?
                        || set(&mut arguments.settings, name, &value)?
                        || set(&mut arguments.resources, name, &value)?;
                    if !found {
                        return Err(unexpected(name));
                    }
                }
            }
        }
        Ok(arguments)
    }

    /// The library's configuration of a run on a graph.
    pub fn config(&self, graph: &Graph) -> RunConfig {
        self.settings.config(&self.resources.clone().for_items(graph.manifest().arcs))
    }

    /// Says no if a run would write more than it may, or comes to do so.
    pub fn check_disk(&self, graph: &Graph, needed: u64) -> Result<(), GraphError> {
        let allowed = self.resources.disk(graph.disk(), graph.path())?;
        graph.disk().allow_scratch(allowed);
        if needed > allowed { Err(GraphError::Disk { needed, allowed }) } else { Ok(()) }
    }
}

/// The path of a file, or numbers as NumPy takes them.
fn vector(given: &Bound<'_, PyAny>) -> PyResult<Vector> {
    if let Ok(path) = given.extract::<PathBuf>() {
        return Ok(Vector::File(path));
    }
    let numpy = given.py().import("numpy")?;
    let array = numpy.call_method1("ascontiguousarray", (given, "float64"))?;
    let array: PyReadonlyArray1<'_, f64> = array.extract().map_err(|_| {
        PyTypeError::new_err("a vector is an array of one dimension, or the path of a file")
    })?;
    Ok(Vector::Numbers(array.as_slice()?.into()))
}

/// The options of a selection for `graph`.
pub fn select_options(graph: &Graph, given: &Bound<'_, PyDict>) -> PyResult<SelectOptions> {
    let (mut settings, mut resources) = (SelectSettings::default(), Resources::default());
    for (name, value) in present(given) {
        let name: &str = name.extract()?;
        if !set(&mut settings, name, &value)? && !set(&mut resources, name, &value)? {
            return Err(unexpected(name));
        }
    }
    let options = settings.options(graph, &resources);
    options.map_err(|error| failure::raise(given.py(), error))
}

/// The options of writing `graph` at `path` in an order, and the means to find it with.
pub fn order_options(
    (graph, order): (&Graph, &str),
    path: &Path,
    given: &Bound<'_, PyDict>,
) -> PyResult<(BuildOptions, Means)> {
    let (mut settings, mut resources) = (OrderSettings::default(), Resources::default());
    let (mut force, mut stripes) = (false, Vec::new());
    for (name, value) in present(given) {
        match name.extract()? {
            "force" => force = value.extract()?,
            "stripes" => stripes = value.extract()?,
            name if set(&mut settings, name, &value)? || set(&mut resources, name, &value)? => {}
            name => return Err(unexpected(name)),
        }
    }
    let order = Order::from_str(order).map_err(|error| failure::usage(given.py(), error))?;
    let options = || {
        let means = settings.means(order)?;
        let usual = settings.options((graph, order), &resources, graph.disk(), path)?;
        Ok((BuildOptions { force, stripes, ..usual }, means))
    };
    options().map_err(|error| failure::raise(given.py(), error))
}

/// A keyword, what it does, what it is when it is absent, and the names that it can be, each with
/// its meaning.
type Keyword = (String, &'static str, &'static str, Vec<(&'static str, &'static str)>);

/// The keywords that a run takes.
pub fn keywords() -> Vec<Keyword> {
    let all = [Request::SWITCHES, Resources::SWITCHES, RunSettings::SWITCHES].concat();
    let keyword = |switch: &Switch| {
        let choices = switch.choices.iter().map(|choice| (choice.name, choice.doc));
        (keyword(switch), switch.doc, switch.default, choices.collect())
    };
    all.iter().map(keyword).collect()
}

fn keyword(switch: &Switch) -> String {
    switch.name.replace('-', "_")
}

/// Arguments that are not `None`.
fn present<'py>(
    given: &Bound<'py, PyDict>,
) -> impl Iterator<Item = (Bound<'py, PyString>, Bound<'py, PyAny>)> {
    let named = |(name, value): (Bound<'py, PyAny>, _)| Some((name.cast_into().ok()?, value));
    given.iter().filter(|(_, value)| !value.is_none()).filter_map(named)
}

fn unexpected(name: &str) -> PyErr {
    let known: Vec<String> = keywords().into_iter().map(|(name, ..)| name).collect();
    let known = known.join(", ");
    PyTypeError::new_err(format!("unexpected keyword argument {name:?}; a run takes {known}"))
}

/// Sets what a keyword names; `false`: no such setting.
fn set<S: Settings>(settings: &mut S, name: &str, value: &Bound<'_, PyAny>) -> PyResult<bool> {
    let Some(switch) = S::SWITCHES.iter().find(|switch| keyword(switch) == name) else {
        return Ok(false);
    };
    let error = match settings.set(switch.name, &text(switch, name, value)?) {
        Some(Err(error)) => error.replace(switch.name, name),
        _ => return Ok(true),
    };
    Err(failure::usage(value.py(), error))
}

/// A value as the library reads it.
fn text(switch: &Switch, name: &str, value: &Bound<'_, PyAny>) -> PyResult<String> {
    let is_on_or_off = switch.choices.iter().any(|choice| choice.name == "on");
    if (is_on_or_off || switch.kind == Kind::Flag)
        && let Ok(on) = value.extract::<bool>()
    {
        return Ok(if on { "on" } else { "off" }.to_owned());
    }
    let is_text = value.is_instance_of::<PyString>();
    let fits = match switch.kind {
        Kind::Number => !is_text && value.extract::<f64>().is_ok(),
        Kind::Size => is_text || value.extract::<u64>().is_ok(),
        _ => is_text || value.is_instance_of::<PyInt>() || value.is_instance_of::<PyFloat>(),
    };
    if fits {
        return Ok(value.str()?.to_str()?.trim().to_owned());
    }
    let what = if switch.kind == Kind::Number { "a number" } else { "an int or a str" };
    let given = value.get_type().name()?;
    Err(PyTypeError::new_err(format!("{name} is {what}, not {given}")))
}

/// A start vertex: an int or a str. Bytes are an id whatever they say, as `b"max-degree"`.
fn source(given: &Bound<'_, PyAny>) -> PyResult<Source> {
    if let Ok(text) = given.cast::<PyString>() {
        return Ok(Source::from(text.to_str()?));
    }
    if let Ok(bytes) = given.cast::<PyBytes>() {
        return Ok(Source::Key(Key::Name(String::from_utf8(bytes.as_bytes().to_vec())?)));
    }
    match given.extract::<u64>() {
        Ok(number) => Ok(Source::Key(Key::Number(number))),
        Err(_) if given.is_instance_of::<PyInt>() => {
            Err(failure::usage(given.py(), format!("there is no vertex {given}")))
        }
        Err(_) => Err(PyTypeError::new_err(format!(
            "a source is an int, a str or bytes, not {}",
            given.get_type().name()?
        ))),
    }
}
