//! Errors as the package's exceptions, which `outercore._errors` defines: this module says which
//! one, and gives it its attributes.

use outercore_graph::GraphError;
use outercore_storage::StorageError;
use pyo3::{
    exceptions::PyRuntimeError,
    prelude::*,
    types::{IntoPyDict, PyDict},
};

/// The error as an exception.
pub fn raise(py: Python<'_>, error: GraphError) -> PyErr {
    exception(py, &error).unwrap_or_else(|failed| {
        // The package is damaged; the message still says what happened.
        let raised = PyRuntimeError::new_err(error.to_string());
        raised.set_cause(py, Some(failed));
        raised
    })
}

/// What was asked makes no sense.
pub fn usage(py: Python<'_>, message: impl Into<String>) -> PyErr {
    raise(py, GraphError::Usage(message.into()))
}

/// A panic, which is a fault of ours, as an exception.
pub fn bug(py: Python<'_>, panic: &(dyn std::any::Any + Send)) -> PyErr {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no message");
    let made = make(
        py,
        "OutercoreError",
        &format!("this is a bug in Outercore, please report it: {text}"),
        &PyDict::new(py),
    );
    made.unwrap_or_else(|error| error)
}

fn make(
    py: Python<'_>,
    class: &str,
    message: &str,
    details: &Bound<'_, PyDict>,
) -> PyResult<PyErr> {
    let instance =
        py.import("outercore._errors")?.getattr("make")?.call1((class, message, details))?;
    Ok(PyErr::from_value(instance))
}

fn exception(py: Python<'_>, error: &GraphError) -> PyResult<PyErr> {
    let (class, details) = describe(py, error)?;
    make(py, class, &error.to_string(), &details)
}

/// The exception's class and attributes.
fn describe<'py>(
    py: Python<'py>,
    error: &GraphError,
) -> PyResult<(&'static str, Bound<'py, PyDict>)> {
    let budget =
        |needed: u64, budget: u64| [("needed", needed), ("budget", budget)].into_py_dict(py);
    Ok(match error {
        GraphError::Storage(error) => return storage(py, error),
        GraphError::Input(error) => {
            let details = [("path", &error.path)].into_py_dict(py)?;
            details.set_item("line", error.line)?;
            details.set_item("offset", error.offset)?;
            ("InputError", details)
        }
        GraphError::Corrupt { path, .. }
        | GraphError::Selection { path, .. }
        | GraphError::NotAGraph { path, .. }
        | GraphError::StripeMissing { path, .. }
        | GraphError::Newer { path, .. } => {
            ("CorruptGraphError", [("path", path)].into_py_dict(py)?)
        }
        GraphError::Disk { needed, .. } => ("NoSpaceError", [("needed", needed)].into_py_dict(py)?),
        GraphError::Memory { needed, budget: given, .. } => {
            ("MemoryBudgetError", budget(*needed, *given)?)
        }
        GraphError::Exists { path } => ("UsageError", [("path", path)].into_py_dict(py)?),
        GraphError::Usage(_) => ("UsageError", PyDict::new(py)),
        // Cancelled work ends in the exception that cancelled it, so this is not seen; new kinds of
        // errors are.
        _ => ("OutercoreError", PyDict::new(py)),
    })
}

fn storage<'py>(
    py: Python<'py>,
    error: &StorageError,
) -> PyResult<(&'static str, Bound<'py, PyDict>)> {
    let details = PyDict::new(py);
    let class = match error {
        StorageError::Io { path, source, offset, .. } => {
            details.set_item("path", path)?;
            details.set_item("offset", *offset)?;
            details.set_item("errno", source.raw_os_error())?;
            "StorageError"
        }
        StorageError::Full { path, source, .. } => {
            details.set_item("path", path)?;
            details.set_item("errno", source.raw_os_error())?;
            "NoSpaceError"
        }
        StorageError::Checksum { path, .. } | StorageError::Truncated { path, .. } => {
            details.set_item("path", path)?;
            "CorruptGraphError"
        }
        StorageError::Memory { bytes, .. } => {
            details.set_item("needed", *bytes)?;
            "MemoryBudgetError"
        }
        StorageError::Locked { path } => {
            details.set_item("path", path)?;
            "LockedError"
        }
        _ => "StorageError",
    };
    Ok((class, details))
}
