"""Ctrl-C ends a call within a second, and leaves nothing behind."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

BEGIN = """
import itertools, sys, time
import numpy as np
import outercore as oc
path = sys.argv[1]
def endless():
    for number in itertools.count():
        yield number % 100_003, number % 99_991
def arrays(edges):
    draw = np.random.default_rng(1)
    return tuple(draw.integers(0, 1 << 22, edges, dtype=np.uint32) for _ in range(2))
"""
WATCH = """
try:
    print("begun", flush=True)
    {call}
except KeyboardInterrupt:
    print("interrupted", flush=True)
else:
    print("done", flush=True)
"""
BUILDS = {
    "iterable": ("", "oc.build(endless(), path)"),
    "sleepy iterable": ("", "oc.build((time.sleep(60) or (0, 1) for _ in range(9)), path)"),
    "arrays": ("edges = arrays(60_000_000)", "oc.build(edges, path, threads=1, memory='1G')"),
}


def interrupt(code, path, delay):
    """Runs code, interrupts it; returns what it said and how long it took to end."""
    process = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "begun\n"
        time.sleep(delay)
        begin = time.monotonic()
        process.send_signal(signal.SIGINT)
        said = process.stdout.readline().strip()
        seconds = time.monotonic() - begin
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    return said, seconds


@pytest.mark.parametrize("name", BUILDS)
@pytest.mark.parametrize("delay", [0.3, 1.5])
def test_builds(name, delay, path):
    prepare, call = BUILDS[name]
    said, seconds = interrupt(BEGIN + prepare + WATCH.format(call=call), path, delay)
    assert said == "interrupted" and seconds < 1
    assert not list(path.parent.iterdir())


def test_runs(path):
    code = BEGIN + "graph = oc.build(arrays(1_000_000), path)"
    code += WATCH.format(call="graph.pagerank(iterations=10**9, model='semi-external')")
    said, seconds = interrupt(code, path, 0.5)
    assert said == "interrupted" and seconds < 1
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_the_process_goes_on(path):
    # An alarm instead of a signal from outside: the same process can do the same work again.
    code = BEGIN + """
import signal
signal.signal(signal.SIGALRM, signal.default_int_handler)
graph = oc.build(arrays(1_000_000), path)
print("begun", flush=True)
for _ in range(3):
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        graph.pagerank(iterations=10**9)
    except KeyboardInterrupt:
        pass
print(graph.pagerank(iterations=2).report["iterations"], flush=True)
"""
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["begun", "2"], done.stderr
