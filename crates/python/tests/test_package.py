"""The package itself: names, stubs, what it needs."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from importlib import metadata, resources

import outercore as oc
import pytest


def test_names():
    assert all(hasattr(oc, name) for name in oc.__all__)
    assert oc.__version__ == metadata.version("outercore")
    assert all(getattr(oc, name).__doc__ for name in oc.__all__ if isinstance(getattr(oc, name), type))


def test_it_is_typed():
    files = resources.files("outercore")
    assert files.joinpath("py.typed").is_file() and files.joinpath("_outercore.pyi").is_file()


def test_only_numpy_is_needed():
    code = "import sys, outercore; print(sorted({'pandas', 'pyarrow', 'scipy', 'networkx', 'polars'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")
def test_stubs(tmp_path):
    config = tmp_path / "mypy.ini"
    config.write_text("[mypy]\nignore_missing_imports = True\n")
    command = [sys.executable, "-m", "mypy.stubtest", "outercore", "--mypy-config-file", str(config)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout


def test_without_pyarrow(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    result = oc.build([(1, 2)], path).bfs(1)
    assert hasattr(result.to_arrow(), "__arrow_c_stream__")


def test_relative_paths(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    graph = oc.build([(1, 2)], "g.oc")
    monkeypatch.chdir(os.sep)
    assert graph.path == str(tmp_path / "g.oc") and graph.bfs(1).levels.tolist() == [0, 1]
