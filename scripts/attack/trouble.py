"""Kills, foreign files, commands that meet, and command lines."""

import hashlib
import os
import re
import shutil
import signal
import subprocess
import time

from cases import expect, generated, random_run, result
from inputs import LARGEST, NASTY, ways
from place import MODELS, Miss

STATES = {signal.SIGTERM: 143, signal.SIGINT: 130, signal.SIGHUP: 129, signal.SIGKILL: -9}


def edges(rng, place, name, count):
    place.path(name).write_bytes(b"".join(b"%d %d\n" % (rng.randrange(9000), rng.randrange(9000)) for _ in range(count)))
    return name


def kills(rng, place):
    """A signal at any moment: old or new, whole; heeded at once; the next command cleans up."""
    generated(rng, place, "x.oc", scale=(10, 12))
    generated(rng, place, scale=(10, 12))
    edges(rng, place, "e.txt", rng.choice([20_000, 200_000]))
    verb = rng.choice([random_run(rng), ["run", "kcore", "g.oc", "--model", "fully-external"], ["export", "g.oc"], ["build", "e.txt", "--force"], ["build", "e.txt", "--force", "--stripe", "s"]])
    name = "x.oc" if verb[0] == "build" else "x.csv"
    place.path("s").mkdir()
    contents = lambda: place.run("export", name, "-o", "all.csv", codes=(0,)) and place.rows("all.csv") if name == "x.oc" else place.rows(name)
    olds = [contents()] if name == "x.oc" else []
    began = time.monotonic()
    place.run(*verb, "-o", name, codes=(0,))
    took = time.monotonic() - began
    olds.append(contents())
    here = sorted(os.listdir(place.folder))
    kind = rng.choice(list(STATES))
    process = place.start(*verb, "-o", name)
    time.sleep(rng.random() * took)
    process.send_signal(kind)
    place.commands[-1] += f" ({kind.name} after some of {took:.2f} s)"
    try:
        code = process.wait(timeout=5)
    except subprocess.TimeoutExpired:
        process.kill()
        raise Miss(f"{kind.name} is not heeded in 5 s") from None
    if code not in (0, STATES[kind], -kind):
        raise Miss(f"exit {code} after {kind.name}")
    found = contents()
    if found not in olds:
        raise Miss(f"{name} is neither what it was nor what it was to be")
    place.run(*verb, "-o", name, codes=(0,))
    if place.lie == "removal":
        place.remove("e.txt")
    expect("files", sorted(os.listdir(place.folder)), here)
    if len(os.listdir(place.path("s"))) > 1:
        raise Miss(f"stripes are left: {os.listdir(place.path('s'))}")


def digest(path):
    """All that lies at a path, links not followed, times apart."""
    if path.is_symlink():
        return str(os.readlink(path))
    if path.is_dir():
        return {child.name: digest(child) for child in path.iterdir()}
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "?"


def foreign(rng, place):
    """Links, copies, and names like ours: nothing that is not ours is changed, and nothing of it blocks a command."""
    place.path("devices").mkdir()
    striped = rng.random() < 0.7
    words = ["rmat", "--scale", 7, "--seed", rng.randrange(99), "--directed", *(["--stripe", "devices"] if striped else [])]
    place.run("generate", *words, "-o", "orig.oc", codes=(0,))
    uuid = "".join(rng.choice("0123456789abcdef") for _ in range(32))
    shutil.copytree(place.path("orig.oc"), place.path("copy.oc"))
    place.path("link.oc").symlink_to("orig.oc")
    planted = [".g.oc.building-x", f".g.oc.building-{uuid}", f".g.oc.replaced-{uuid}", f".g.oc.replacing-{uuid}", f".g.oc.view-{uuid}", ".r.csv.1-0.tmp", ".outercore-scratch-1-0", "outercore-thesis", f"devices/outercore-{uuid}", f"devices/outercore-{uuid}-0", "devices/letter.txt"]
    planted = rng.sample(planted, rng.randint(1, len(planted)))
    for name in planted:
        path = place.path(name)
        kind = rng.choice(["file", "folder", "link", "pipe"])
        if kind == "file":
            path.write_text("dear")
        elif kind == "folder":
            path.mkdir()
            # A folder with a whole name of ours and nothing but a file of ours is what a dead builder left.
            path.joinpath(rng.choice(["letter.txt"] if uuid in name else ["letter.txt", "owner.txt", "stripes.txt", "manifest.json"])).write_text(rng.choice(["dear", str(place.path("devices")), f"graph {uuid}\n"]))
        elif kind == "link":
            path.symlink_to(rng.choice(["orig.oc", "/etc/passwd", "nowhere", str(place.path("devices"))]))
        else:
            os.mkfifo(path)
    edges(rng, place, "e.txt", 300)
    before = {name: digest(place.path(name)) for name in planted}
    original = digest(place.path("orig.oc"))
    stripes = digest(place.path("devices"))
    place.run("build", "e.txt", "-o", "g.oc", codes=(0,))
    target = rng.choice(["copy.oc", "link.oc", "g.oc", "e.txt", "devices", "."])
    done = place.run("build", "e.txt", "-o", target, "--force", codes=(0, 2, 4, 5, 8))
    for verb in rng.sample([["run", "kcore", "g.oc", "-o", "r.csv"], ["run", "components", "g.oc", "--model", "fully-external", "-o", "r.csv"], ["export", "g.oc", "-o", "r.csv"], ["build", "e.txt", "-o", "g.oc", "--force"]], 2):
        place.run(*verb, codes=(0,))
    if place.lie == "removal":
        place.remove(planted[0])
    expect("what was planted", {name: digest(place.path(name)) if os.path.lexists(place.path(name)) else None for name in planted}, before)
    expect("the original", digest(place.path("orig.oc")), original)
    if target != "link.oc" or done.code:
        expect("its stripes", digest(place.path("devices")), stripes)
    place.run("check", "orig.oc", codes=(0,))


def together(rng, place):
    """Commands that meet while the graph is replaced: each answers for the one graph or the other."""
    sources = [edges(rng, place, f"{at}.txt", rng.choice([2000, 20_000])) for at in range(2)]
    verb = random_run(rng)
    while verb[1] == "sssp":
        verb = random_run(rng)
    answers = []
    for source in sources:
        place.run("build", source, "-o", "g.oc", "--force", "--order", "original", codes=(0,))
        answers.append(result(place, verb))
    running = []
    for round in range(4):
        running.append((None, place.start("build", sources[round % 2], "-o", "g.oc", "--force", "--order", "original", err=subprocess.PIPE)))
        for at in range(rng.randint(1, 3)):
            name = rng.choice([f"y-{round}-{at}.csv", "shared.csv"])
            running.append((name, place.start(*verb, "-o", name, err=subprocess.PIPE)))
        running.append((None, place.start("check", "g.oc", err=subprocess.PIPE)))
        time.sleep(rng.random() * 0.05)
    for name, process in running:
        try:
            _, said = process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            raise Miss(f"no end: {process.args}") from None
        if process.returncode not in (0, 8) or name and process.returncode:
            raise Miss(f"exit {process.returncode} of {process.args[1:]}: {said.decode()[-300:]}")
    for name in {name for name, _ in running if name}:
        if place.rows(name) not in answers:
            raise Miss(f"{name} is the answer for neither graph")
    # A view that was in use when its graph was replaced goes with the next build.
    place.run("build", sources[0], "-o", "g.oc", "--force", codes=(0,))
    hidden = [name for name in os.listdir(place.folder) if name.startswith(".")]
    if hidden:
        raise Miss(f"left: {hidden}")


VALUES = ["", "0", "1", "-1", "1e400", "nan", "inf", str(LARGEST), str(LARGEST + 1), "1M", "64M", "1T", "99999999T", "10%", "101%", "0%", "on", "off", "auto", ",", "a,b", "--", "/", ".", "..", "/dev/null", "/dev/full", "/proc/self/mem", "missing", "g.oc", "e.txt", "g.oc/manifest.json", "x.csv", "x.parquet", "x.npy", "é", b"\xff\xfe", "\x1b[31m", "a\nb", *NASTY[:8]]
VERBS = ["build", "generate", "info", "check", "plan", "run", "export", "bench", "help", "order", "nothing"]


def words(rng, place):
    """Any command line: an exit code that is known, words that say why, and no file changed that was there."""
    place.run("generate", "rmat", "--scale", 5, "--weights", "uw", "-o", "g.oc", codes=(0,))
    edges(rng, place, "e.txt", 50)
    before = {name: digest(place.path(name)) for name in ("g.oc", "e.txt")}
    options = sorted(set(re.findall(r"--[a-z-]+", "".join(place.run(verb, "--help", codes=(0,)).out for verb in ("build", "run", "export")))) - {"--force", "--help", "--version"})
    for _ in range(10):
        verb = rng.choice(VERBS)
        line = [verb]
        if verb in ("run", "plan"):
            line += [rng.choice(["bfs", "sssp", "components", "pagerank", "kcore", "diameter", "spmv", "closeness", "-x"]), "g.oc"]
        elif verb in ("info", "check", "export"):
            line += [rng.choice(["g.oc", "g.oc", "e.txt", "missing", "."])]
        elif verb == "build":
            line += [rng.choice(["e.txt", "e.txt", "g.oc", "missing", "/dev/null", "-"]), "-o", rng.choice(["new.oc", "g.oc", "e.txt", ".", "/proc/x.oc", "a/b/c.oc"])]
        elif verb == "generate":
            line += [rng.choice(["rmat", "uniform"]), "--scale", rng.choice([1, 3, 99, "x"])]
        for _ in range(rng.randint(0, 4)):
            option = rng.choice(options)
            line += [option, *([rng.choice(VALUES)] if rng.random() < 0.8 else [])]
        if verb == "bench":
            line = ["bench", rng.choice(["device", "nothing"]), "missing"]
        place.run(*line, "--memory", "64M") if "--memory" not in line and verb in ("run", "build") else place.run(*line)
        place.remove("new.oc", "a")
    expect("what was there", {name: digest(place.path(name)) for name in before}, before)
