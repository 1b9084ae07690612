#!/usr/bin/env python3
"""Real file systems that fail: ext4 shut down without its log (a power loss), devices that vanish,
errors of the block layer, syncs that fail, names that cannot be exchanged.

Needs root and loop devices for most of it, strace for the rest. What is missing is said to be
SKIPPED, and counted. Exit code 1 if anything is not as promised, or a planted fault is not found.

    scripts/fault_disks.py --binary target/release/outercore [--rounds 40] [--seed 1]
"""
import argparse
import fcntl
import hashlib
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SHUTDOWN = 0x8004587D  # EXT4_IOC_SHUTDOWN
WITHOUT_LOG = 2
LIMIT = 60  # seconds that no command takes
SYNCS = "fsync,fdatasync"


class Wrong(Exception):
    """Something is not as promised."""


def ensure(condition, what):
    if not condition:
        raise Wrong(what)


class Disk:
    """An ext4 of its own, on a loop device."""

    def __init__(self, folder, mib=64, device=None):
        self.image, self.mount = folder / "image", folder / "mount"
        self.mount.mkdir(exist_ok=True)
        self.device = device
        if device is None:
            with open(self.image, "wb") as image:
                image.truncate(mib << 20)
        system("mkfs.ext4", "-q", "-F", device or self.image)

    def up(self, strict=False):
        options = ["noatime"] + (["noauto_da_alloc", "data=writeback"] if strict else [])
        if self.device is None:
            options.append("loop")
        system("mount", "-o", ",".join(options), self.device or self.image, self.mount)

    def down(self):
        for _ in range(50):
            done = subprocess.run(["umount", self.mount], capture_output=True)
            if done.returncode == 0 or b"not mounted" in done.stderr:
                return
            time.sleep(0.1)
        subprocess.run(["umount", "-l", self.mount], capture_output=True)

    def cut_power(self):
        folder = os.open(self.mount, os.O_RDONLY)
        try:
            fcntl.ioctl(folder, SHUTDOWN, struct.pack("I", WITHOUT_LOG))
        finally:
            os.close(folder)


def system(*command):
    subprocess.run([str(part) for part in command], check=True, capture_output=True)


class Scene:
    def __init__(self, options, folder):
        self.binary, self.folder = str(Path(options.binary).resolve()), folder
        self.random = random.Random(options.seed)
        self.old, self.new = folder / "old.txt", folder / "new.txt"
        lines = [f"{self.random.randrange(50)} {self.random.randrange(50)}" for _ in range(100)]
        self.old.write_text("\n".join(lines) + "\n")
        lines = [f"{self.random.randrange(9999)} {self.random.randrange(9999)}"
                 for _ in range(30000)]
        self.new.write_text("\n".join(lines) + "\n")
        self.known = {}
        for text in (self.old, self.new):
            ensure(self.run("build", text, "-o", folder / "known.oc", "--force") == 0, "a build")
            self.known[self.edges(folder / "known.oc", folder)] = text

    def start(self, *arguments, strace=()):
        command = [self.binary] + [str(argument) for argument in arguments]
        if strace:
            command = ["strace", "-f", "-y", *strace] + command
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def run(self, *arguments, strace=()):
        """The exit code; no command takes for ever."""
        process = self.start(*arguments, strace=strace)
        try:
            return process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise Wrong(f"{arguments} hangs") from None

    def edges(self, graph, folder):
        """What is in a graph, as a number; its edges come in the order in which they lie."""
        out = folder / "edges.csv"
        code = self.run("export", graph, "-o", out)
        ensure(code == 0, f"export of {graph}: {code}")
        digest = hashlib.sha256(out.read_bytes()).hexdigest()
        out.unlink()
        return digest

    def which(self, graph):
        """The text that a graph was made of; None: there is no graph."""
        if not os.path.lexists(graph):
            return None
        code = self.run("check", graph)
        ensure(code == 0, f"check of what is at {graph}: {code}")
        return self.known.get(self.edges(graph, self.folder), "another")


def power(scene, strace=(), rounds=None):
    """Builds and results on an ext4 that loses power. Returns how many builds were done by then."""
    told = 0
    for number in range(rounds):
        folder = Path(tempfile.mkdtemp(dir=scene.folder))
        disk = Disk(folder)
        disk.up(strict=number % 2 == 0)
        try:
            graph, replaces = disk.mount / "g.oc", number % 4 >= 2
            stripes = ["--stripe", disk.mount / "a", "--stripe", disk.mount / "b"]
            stripes = stripes if number % 3 == 0 else []
            if replaces:
                ensure(scene.run("build", scene.old, "-o", graph, *stripes) == 0, "the old graph")
                os.sync()
            process = scene.start("build", scene.new, "-o", graph, "--force", *stripes,
                                  strace=strace)
            if strace or number % 5 == 4:
                process.wait(LIMIT)
            else:
                time.sleep(scene.random.random() * 0.25)
            done = process.poll() == 0
            disk.cut_power()
            process.wait(LIMIT)
            told += done
            disk.down()
            disk.up()
            there = scene.which(graph)
            what = f"round {number}: {there} is there, the builder was told {done}"
            ensure(there == scene.new or not done, what)
            ensure(there in ((scene.old, scene.new) if replaces else (None, scene.new)), what)
            code = scene.run("build", scene.new, "-o", graph, "--force", *stripes)
            ensure(code == 0, f"round {number}: the next build: {code}")
            left = sorted(set(os.listdir(disk.mount)) - {"lost+found", "a", "b"})
            ensure(left == ["g.oc"], f"round {number}: leavings {left}")
            for stripe in ("a", "b") if stripes else ():
                left = os.listdir(disk.mount / stripe)
                ensure(len(left) == 1, f"round {number}: leavings {left}")
            results(scene, disk, graph, number, strace)
        finally:
            disk.down()
            shutil.rmtree(folder, ignore_errors=True)
    return told


def results(scene, disk, graph, number, strace):
    """The file of a result is the old one or the new one."""
    out = disk.mount / "r.csv"
    ensure(scene.run("run", "components", graph, "-o", out) == 0, "a result")
    right = out.read_bytes()
    out.write_bytes(b"old")
    os.sync()
    process = scene.start("run", "components", graph, "-o", out, strace=strace)
    time.sleep(scene.random.random() * 0.05)
    done = process.poll() == 0
    disk.cut_power()
    process.wait(LIMIT)
    disk.down()
    disk.up()
    there = out.read_bytes() if out.exists() else None
    ensure(there == right or (there == b"old" and not done), f"round {number}: a result is gone")
    ensure(scene.run("run", "components", graph, "-o", out) == 0, "the next result")
    left = [name for name in os.listdir(disk.mount) if name.startswith(".")]
    ensure(not left, f"round {number}: leavings {left}")


def vanish(scene, rounds):
    """The device loses its end under a build or a run: exit code 4, 5 or 6, or the right answer."""
    codes = {}
    for number in range(rounds):
        folder = Path(tempfile.mkdtemp(dir=scene.folder))
        disk = Disk(folder)
        disk.up()
        try:
            graph = disk.mount / "g.oc"
            ensure(scene.run("build", scene.new, "-o", graph) == 0, "the graph")
            disk.down()
            disk.up()
            keep = scene.random.choice([0, 1 << 20, 4 << 20, 8 << 20, 16 << 20])
            if number % 2:
                process = scene.start("build", scene.old, "-o", disk.mount / "n.oc")
                time.sleep(scene.random.random() * 0.05)
                os.truncate(disk.image, keep)
                code = process.wait(LIMIT)
            else:
                os.truncate(disk.image, keep)
                verb = ["check", "pagerank", "components"][number // 2 % 3]
                arguments = [verb, graph] if verb == "check" else ["run", verb, graph]
                code = scene.run(*arguments)
            codes[code] = codes.get(code, 0) + 1
            ensure(code in (0, 4, 5, 6), f"round {number}: exit code {code}")
        finally:
            disk.down()
            shutil.rmtree(folder, ignore_errors=True)
    ensure(any(code in codes for code in (4, 5, 6)), f"nothing was noticed: {codes}")
    return codes


def block_errors(scene, rounds):
    """Writes that the device refuses for a while: a sync fails, and nothing is acknowledged."""
    codes = {}
    for number in range(rounds):
        folder = Path(tempfile.mkdtemp(dir=scene.folder))
        trigger, raw = folder / "fail", folder / "raw"
        raw.touch()
        kit = ["nbdkit", "--exit-with-parent", "--filter=error", "memory", "64M",
               f"error-file={trigger}", "error-pwrite-rate=100%"]
        fuse = subprocess.Popen(["nbdfuse", raw, "[", *kit, "]"], stderr=subprocess.DEVNULL)
        loop, disk = None, None
        try:
            for _ in range(100):
                if raw.stat().st_size:
                    break
                time.sleep(0.05)
            found = subprocess.run(["losetup", "--show", "-f", raw], check=True,
                                   capture_output=True, text=True)
            loop = found.stdout.strip()
            disk = Disk(folder, device=loop)
            disk.up()
            graph = disk.mount / "g.oc"
            ensure(scene.run("build", scene.old, "-o", graph) == 0, "the old graph")
            os.sync()
            process = scene.start("build", scene.new, "-o", graph, "--force")
            time.sleep(scene.random.random() * 0.1)
            trigger.touch()
            code = process.wait(LIMIT)
            trigger.unlink()
            codes[code] = codes.get(code, 0) + 1
            ensure(code in (0, 5, 6), f"round {number}: exit code {code}")
            disk.down()
            disk.up()
            there = scene.which(graph)
            ensure(there == scene.new or (there == scene.old and code != 0),
                   f"round {number}: {there} is there after exit code {code}")
        finally:
            if disk:
                disk.down()
            if loop:
                subprocess.run(["losetup", "-d", loop], capture_output=True)
            fuse.terminate()
            fuse.wait()
            shutil.rmtree(folder, ignore_errors=True)
    return codes


def synced_again(log):
    """What failed to sync, and the files that were synced again after that, by strace's log.

    Folders may be: what was being made in them is removed, and its names are gone for good."""
    failed, again = set(), []
    for line in log.splitlines():
        call = re.search(r"(fsync|fdatasync)\(\d+<([^>]*)>", line)
        if call and "resumed" not in line:
            if call[2] in failed and call[1] == "fdatasync":
                again.append(call[2])
            if "EIO" in line:
                failed.add(call[2])
    return failed, again


def syncs(scene):
    """The n-th sync of each thread fails: exit code 5, the old graph, and no second sync."""
    place, failures = Path(tempfile.mkdtemp(dir=scene.folder)), 0
    graph, log = place / "g.oc", scene.folder / "syncs.log"
    stripes = ["--stripe", place / "a", "--stripe", place / "b"]
    ensure(scene.run("build", scene.old, "-o", graph, *stripes) == 0, "the old graph")
    for number in range(1, 17):
        for call in SYNCS.split(","):
            what = f"{call} {number}"
            strace = ("-e", f"trace={SYNCS}", "-e", f"inject={call}:error=EIO:when={number}",
                      "-o", str(log))
            code = scene.run("build", scene.new, "-o", graph, "--force", *stripes, strace=strace)
            failed, again = synced_again(log.read_text())
            ensure(not again, f"{what}: synced again: {again}")
            # What is left of a graph that was replaced may be removed by the next build.
            ensure(code in (0, 5) and (failed or code == 0), f"{what}: {code}")
            there = scene.which(graph)
            ensure(there == (scene.old if code else scene.new), f"{what}: {code} and {there}")
            failures += bool(failed and code == 5)
            ensure(scene.run("build", scene.old, "-o", graph, "--force", *stripes) == 0, what)
            left = sorted(os.listdir(place)), len(os.listdir(place / "a"))
            ensure(left == (["a", "b", "g.oc"], 1), f"{what}: leavings {left}")
    ensure(failures >= 10, f"only {failures} syncs failed")
    return f"{failures} builds of failed syncs"


def planted_sync(scene):
    """A program that tries a failed sync again is found out."""
    place, log = scene.folder / "planted", scene.folder / "planted.log"
    code = f"import os\nf=os.open({str(place)!r},os.O_CREAT|os.O_WRONLY)\n" \
           "try: os.fdatasync(f)\nexcept OSError: os.fdatasync(f)\n"
    subprocess.run(["strace", "-f", "-y", "-e", f"trace={SYNCS}", "-e",
                    "inject=fdatasync:error=EIO:when=1", "-o", log, sys.executable, "-c", code],
                   check=True, capture_output=True)
    failed, again = synced_again(log.read_text())
    ensure(failed and again, "a second sync is not found")


def planted_power(scene):
    """A builder whose syncs do nothing is found out."""
    strace = ("-o", "/dev/null", "-e", f"trace={SYNCS}", "-e", f"inject={SYNCS}:retval=0")
    for number in range(5):
        try:
            power(scene, strace, rounds=1)
        except Wrong as error:
            print(f"  found: {str(error)[:90]}")
            return
    raise Wrong("builds without syncs lose nothing")


def names(scene):
    """Where names cannot be exchanged, graphs and results are replaced all the same."""
    place = Path(tempfile.mkdtemp(dir=scene.folder))
    graph, out = place / "g.oc", place / "r.csv"
    for error in ("EINVAL", "ENOSYS"):
        strace = ("-o", "/dev/null", "-e", "trace=renameat2",
                  "-e", f"inject=renameat2:error={error}")
        for text in (scene.old, scene.new, scene.old):
            code = scene.run("build", text, "-o", graph, "--force", strace=strace)
            ensure(code == 0, f"{error}: a build ends with {code}")
            ensure(scene.which(graph) == text, f"{error}: another graph")
            code = scene.run("run", "components", graph, "-o", out, strace=strace)
            ensure(code == 0, f"{error}: a result ends with {code}")
            ensure(sorted(os.listdir(place)) == ["g.oc", "r.csv"], os.listdir(place))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--binary", required=True)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="outercore-faults-"))
    scene = Scene(options, folder)
    has_loop = os.geteuid() == 0 and os.path.exists("/dev/loop-control")
    loop = has_loop and shutil.which("mkfs.ext4") is not None
    strace = shutil.which("strace") is not None
    network = loop and bool(shutil.which("nbdkit") and shutil.which("nbdfuse"))
    few = max(options.rounds // 2, 10)
    parts = [
        ("power loss on ext4", loop, "root, loop devices and mkfs.ext4",
         lambda: f"{power(scene, rounds=options.rounds)} of {options.rounds} builds were done"),
        ("power loss with a builder that does not sync", loop and strace, "the same and strace",
         lambda: planted_power(scene)),
        ("a device that vanishes", loop, "root, loop devices and mkfs.ext4",
         lambda: f"{few} commands, by exit code: {vanish(scene, few)}"),
        ("a device that refuses writes", network, "root, nbdkit and nbdfuse",
         lambda: f"{few} builds, by exit code: {block_errors(scene, few)}"),
        ("a sync that fails", strace, "strace", lambda: syncs(scene)),
        ("a second sync", strace, "strace", lambda: planted_sync(scene)),
        ("names that cannot be exchanged", strace, "strace", lambda: names(scene)),
    ]
    skipped = failed = 0
    for what, possible, needs, part in parts:
        begun = time.monotonic()
        if not possible:
            skipped += 1
            print(f"SKIPPED: {what} (needs {needs})", flush=True)
            continue
        try:
            said = part()
            print(f"{what}: right, {said or ''} {time.monotonic() - begun:.0f} s", flush=True)
        except Wrong as error:
            failed += 1
            print(f"WRONG: {what}: {error}", flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    print(f"{len(parts) - skipped - failed} right, {failed} wrong, {skipped} SKIPPED")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
