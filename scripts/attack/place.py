"""A folder in which commands run. What holds for every command is judged here: its end, its time, its memory."""

import concurrent.futures
import csv
import json
import os
import re
import resource
import shutil
import subprocess
import threading
from pathlib import Path

UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
MIB = 1 << 20
CODES = (0, 2, 3, 4, 5, 6, 7, 8)
MODELS = ("in-memory", "semi-external", "fully-external")
# No command takes as long, however busy the machine is.
SECONDS = 120


class Miss(Exception):
    """What must never happen."""


def bytes_of(size):
    """`64M` as bytes; nothing if it is not a plain size."""
    match = re.fullmatch(r"(\d+)([KMGT]?)", str(size))
    return int(match[1]) * UNITS[match[2]] if match else None


class Done:
    """A command that ended."""

    def __init__(self, code, out, err, peak):
        self.code, self.out, self.err, self.peak = code, out, err, peak

    def json(self):
        return json.loads(self.out)


class Place:
    """`lie` is a planted fault: what is seen of commands is changed, so that a family must find it."""

    def __init__(self, binary, folder, lie=None):
        self.binary, self.folder, self.lie, self.commands, self.reads = str(binary), Path(folder), lie, [], 0

    def path(self, name):
        return self.folder / name

    def start(self, *words, limits=(), stdin=None, out=None, err=None):
        """Starts a command, and does not wait for it. `limits` are pairs of a resource and its limit."""
        def before():
            for kind, limit in limits:
                resource.setrlimit(kind, (limit, limit))

        words = [word if isinstance(word, bytes) else str(word) for word in words]
        self.commands.append(" ".join(["outercore", *(word if isinstance(word, str) else repr(word) for word in words)]))
        return subprocess.Popen([self.binary, *words], cwd=self.folder, stdin=stdin or subprocess.DEVNULL, stdout=out or subprocess.DEVNULL,
                                stderr=err or subprocess.DEVNULL, preexec_fn=before if limits else None)

    def run(self, *words, limits=(), stdin=None, codes=CODES, seconds=SECONDS):
        """Runs a command to its end, which must be one of `codes`, in time, and within its budget."""
        process = self.start(*words, limits=limits, stdin=stdin, out=subprocess.PIPE, err=subprocess.PIPE)
        late = threading.Event()
        timer = threading.Timer(seconds, lambda: (late.set(), process.kill()))
        timer.start()
        # Pipes, and no files: a limit of files is not meant for what a command says.
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            said = [pool.submit(pipe.read) for pipe in (process.stdout, process.stderr)]
            _, status, usage = os.wait4(process.pid, 0)
            timer.cancel()
            process.returncode = os.waitstatus_to_exitcode(status)
            texts = [text.result().decode(errors="replace") for text in said]
        process.stdout.close()
        process.stderr.close()
        done = Done(process.returncode, *texts, usage.ru_maxrss * 1024)
        if late.is_set():
            raise Miss(f"not at an end after {seconds} s")
        self.judge(words, done, codes)
        return done

    def judge(self, words, done, codes):
        code = 101 if self.lie == "code" else done.code
        if code not in codes or "panicked" in done.err:
            raise Miss(f"exit {code}: {done.err.strip()[-400:]}")
        if code and not (done.err.strip() or done.out.strip()):
            raise Miss(f"exit {code} without a word")
        words = [str(word) for word in words]
        budget = bytes_of(words[words.index("--memory") + 1]) if "--memory" in words[:-1] else None
        peak = done.peak * (8 if self.lie == "peak" else 1)
        # A child begins with the largest size that this process ever had.
        own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        if budget and code == 0 and peak > max(budget, own):
            raise Miss(f"peak memory {peak} is over the budget {budget}")

    def rows(self, name):
        """The rows of a result or an export, sorted, without the header."""
        with open(self.path(name), newline="", encoding="utf-8") as file:
            rows = sorted(list(csv.reader(file))[1:])
        self.reads += 1
        if self.lie == "answer" and rows and self.reads % 2:
            # In front: behind the last digit of a score it would be lost in rounding.
            row = rows[len(rows) // 2]
            row[-1] = f"1{row[-1]}"
        return rows

    def remove(self, *names):
        for name in names:
            path = self.path(name)
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            elif os.path.lexists(path):
                path.unlink()


def figure(done):
    """The budget that a refusal names, as it is to be typed."""
    found = re.findall(r"(?:--memory |at least |give )(\d+ ?[KMGT]?)", done.err)
    if not found:
        raise Miss(f"a refusal without a figure: {done.err.strip()[-300:]}")
    return found[-1].replace(" ", "")


def near(one, other):
    """Whether two numbers are equal but for rounding; or two texts are equal."""
    try:
        one, other = float(one), float(other)
    except ValueError:
        return one == other
    return one == other or abs(one - other) <= 1e-9 * max(abs(one), abs(other))


def same(one, other):
    """Whether two lists of rows are equal, scores but for rounding."""
    return len(one) == len(other) and all(len(a) == len(b) and all(map(near, a, b)) for a, b in zip(one, other))
