#!/usr/bin/env python3
"""A device that refuses or drops writes for a while: dm-flakey, in a kernel of its own (User Mode
Linux, which needs no root). Without it this is SKIPPED. Exit code 1 if anything is not as promised.

    scripts/fault_uml.py --binary target/release/outercore [--rounds 10] [--seed 1]
"""
import argparse
import ctypes
import glob
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
from fault_disks import LIMIT, Disk, Scene, Wrong, ensure, system  # noqa: E402

MODULES = "/usr/lib/uml/modules/*/kernel/drivers/md/"
SECTORS = 131072
MOST_SECONDS = 600


class Flakey(Disk):
    """An ext4 on a device that can be told to fail."""

    def __init__(self, folder):
        table = f"0 {SECTORS} linear /dev/ubda 0"
        system("dmsetup", "create", "--noudevsync", "flakey", "--table", table)
        super().__init__(folder, device="/dev/dm-0")

    def switch(self, how=None):
        table = f"0 {SECTORS} linear /dev/ubda 0"
        if how:
            table = f"0 {SECTORS} flakey /dev/ubda 0 0 {MOST_SECONDS} 1 {how}"
        system("dmsetup", "suspend", "--nolockfs", "--noflush", "--noudevsync", "flakey")
        system("dmsetup", "load", "flakey", "--table", table)
        system("dmsetup", "resume", "--noudevsync", "flakey")

    def end(self):
        self.switch()
        self.down()
        system("dmsetup", "remove", "--noudevsync", "--retry", "flakey")


def round_of(scene, folder, number):
    """One build on a device that fails for a while; what came of it."""
    how = ["error_writes", "drop_writes"][number % 2]
    disk = Flakey(folder)
    try:
        disk.up()
        graph = disk.mount / "g.oc"
        ensure(scene.run("build", scene.old, "-o", graph) == 0, "the old graph")
        os.sync()
        process = scene.start("build", scene.new, "-o", graph, "--force")
        time.sleep(scene.random.random() * 0.15)
        disk.switch(how)
        if number % 4 < 2:
            time.sleep(0.05 + scene.random.random() * 0.1)
            disk.switch()
        code = process.wait(LIMIT)
        disk.switch()
        disk.down()
        mounted = subprocess.run(["mount", disk.device, disk.mount], capture_output=True)
        if mounted.returncode != 0:
            ensure(how == "drop_writes", f"{how}: the file system is gone")
            return f"{how}: {code}, the file system is gone"
        checked = scene.run("check", graph)
        if how == "error_writes":
            ensure(code in (0, 5, 6), f"{how}: exit code {code}")
            ensure(checked == 0, f"{how}: check ends with {checked}")
        ensure(checked in (0, 4, 5), f"{how}: check ends with {checked}")
        if checked == 0:
            there = scene.which(graph)
            ensure(there in (scene.old, scene.new), f"{how}: {there} passes the check")
            if how == "error_writes":
                ensure(there == scene.new or code != 0, f"{how}: {code}, and {there} is there")
        return f"{how}: build {code}, check {checked}"
    finally:
        disk.end()


def planted(folder):
    """A program that trusts the device is told of errors, and loses what is dropped unnoticed."""
    disk, content = Flakey(folder), os.urandom(1 << 20)
    try:
        disk.up()
        for how in ("error_writes", "drop_writes"):
            file = os.open(disk.mount / how, os.O_CREAT | os.O_WRONLY)
            os.fsync(file)
            disk.switch(how)
            os.write(file, content)
            try:
                os.fsync(file)
                told = True
            except OSError:
                told = False
            os.close(file)
            disk.switch()
            ensure(told == (how == "drop_writes"), f"{how}: the writer was told {told}")
        disk.down()
        disk.up()
        there = (disk.mount / "drop_writes").read_bytes()
        ensure(there != content, "nothing was dropped")
    finally:
        disk.end()


def guest(options):
    """Inside of the other kernel, as its first process."""
    kernel = ctypes.CDLL(None, use_errno=True)
    for source, place, kind in (("proc", "/proc", "proc"), ("sys", "/sys", "sysfs"),
                                ("tmpfs", "/mnt", "tmpfs")):
        kernel.mount(source.encode(), place.encode(), kind.encode(), 0, None)
    os.environ["PATH"] = "/usr/sbin:/usr/bin:/sbin:/bin"
    failed = 0
    try:
        for name in ("dm-mod", "dm-flakey"):
            module = os.open(glob.glob(f"{MODULES}{name}.ko")[0], os.O_RDONLY)
            if kernel.syscall(313, module, b"", 0) != 0:  # finit_module
                raise OSError(ctypes.get_errno(), f"loading {name}")
        try:
            planted(Path(tempfile.mkdtemp(dir="/mnt")))
        except (Wrong, OSError) as error:
            failed += 1
            print(f"WRONG: the device: {error}", flush=True)
        scene = Scene(options, Path("/mnt"))
        for number in range(options.rounds):
            folder = Path(tempfile.mkdtemp(dir="/mnt"))
            try:
                print(f"  {round_of(scene, folder, number)}", flush=True)
            except Wrong as error:
                failed += 1
                print(f"WRONG: round {number}: {error}", flush=True)
        print(f"ended, {failed} wrong", flush=True)
    finally:
        os.sync()
        kernel.reboot(0x4321FEDC)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--binary", required=True)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--guest", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.guest:
        guest(options)
        return
    linux = shutil.which("linux.uml") or shutil.which("linux")
    if not (linux and glob.glob(f"{MODULES}dm-flakey.ko") and shutil.which("dmsetup")):
        print("SKIPPED: dm-flakey (needs User Mode Linux with modules, and dmsetup)")
        return
    folder, begun = Path(tempfile.mkdtemp(prefix="outercore-uml-")), time.monotonic()
    image, init, log = folder / "image", folder / "init", folder / "log"
    with open(image, "wb") as file:
        file.truncate(SECTORS * 512)
    command = [sys.executable, Path(__file__).resolve(), "--guest", "--binary",
               Path(options.binary).resolve(), "--rounds", options.rounds, "--seed", options.seed]
    quoted = " ".join(f"'{part}'" for part in command)
    init.write_text(f"#!/bin/sh\nexec {quoted} > '{log}' 2>&1\n")
    init.chmod(0o755)
    boot = [linux, "rootfstype=hostfs", "rootflags=/", "rw", "mem=1024M", f"init={init}",
            f"ubd0={image}", "con=null", "con0=null", "quiet"]
    try:
        ended = subprocess.run(boot, stdin=subprocess.DEVNULL, capture_output=True,
                               timeout=MOST_SECONDS, check=False)
        if ended.returncode < 0 and not log.exists():
            # Its kernel dies before it runs anything: 6.1 does where processors have AMX.
            print(f"SKIPPED: dm-flakey ({linux} dies at its start: signal {-ended.returncode})")
            shutil.rmtree(folder, ignore_errors=True)
            return
        said = log.read_text() if log.exists() else "it did not start\n"
    except subprocess.TimeoutExpired:
        said = log.read_text() + "WRONG: it hangs\n"
    shutil.rmtree(folder, ignore_errors=True)
    right = said.rstrip().endswith("ended, 0 wrong")
    print(f"{said}dm-flakey: {'right' if right else 'WRONG'}, {time.monotonic() - begun:.0f} s")
    sys.exit(0 if right else 1)


if __name__ == "__main__":
    main()
