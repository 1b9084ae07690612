"""Devices for benchmarks: loop devices on files, each throttled by the block-I/O control group (needs root). Python 3.9 or newer, no packages."""

import contextlib
import os
import subprocess
import time
from pathlib import Path

MIB = 1 << 20


def drop_caches():
    os.sync()
    with contextlib.suppress(OSError):
        Path("/proc/sys/vm/drop_caches").write_text("3")


class Throttle:
    """A control group in which each of some devices delivers so many bytes a second, and answers so many requests."""

    def __init__(self, devices, rate, requests=None):
        self.path = None
        one, two = Path("/sys/fs/cgroup/blkio"), Path("/sys/fs/cgroup")
        root, limits = (one, [("blkio.throttle.read_bps_device", "{} {}", rate), ("blkio.throttle.read_iops_device", "{} {}", requests)])
        if not one.is_dir():
            root, limits = (two, [("io.max", "{} rbps={}", rate), ("io.max", "{} riops={}", requests)])
        if root == two:
            (root / "cgroup.subtree_control").write_text("+io")
        self.path = root / f"outercore-bench-{os.getpid()}"
        self.path.mkdir()
        for device in devices:
            number = os.stat(device).st_rdev
            for file, line, limit in limits:
                if limit is not None:
                    (self.path / file).write_text(line.format(f"{os.major(number)}:{os.minor(number)}", limit))

    def enter(self):
        (self.path / "cgroup.procs").write_text(str(os.getpid()))

    def close(self):
        with contextlib.suppress(OSError):
            self.path.rmdir()


class Loops:
    """File systems on loop devices on files, mounted."""

    def __init__(self, folder, count, size):
        self.folder, self.devices, self.mounts = Path(folder), [], []
        try:
            for index in range(count):
                image, mount = self.folder / f"device-{index}.img", self.folder / f"device-{index}"
                with open(image, "wb") as file:
                    os.posix_fallocate(file.fileno(), 0, size)
                made = subprocess.run(["losetup", "--find", "--show", "--direct-io=on", image], check=True, capture_output=True, text=True)
                self.devices.append(made.stdout.strip())
                subprocess.run(["mkfs.ext4", "-q", "-m", "0", self.devices[-1]], check=True, capture_output=True)
                mount.mkdir(exist_ok=True)
                subprocess.run(["mount", self.devices[-1], mount], check=True, capture_output=True)
                self.mounts.append(mount)
        except (OSError, subprocess.CalledProcessError):
            self.close()
            raise

    def close(self):
        for mount in self.mounts:
            # The kernel lets go of a ring's files a moment after the process has ended.
            for _ in range(50):
                if subprocess.run(["umount", mount], check=False, capture_output=True).returncode == 0:
                    break
                time.sleep(0.1)
        for device in self.devices:
            subprocess.run(["losetup", "--detach", device], check=False)
        for path in self.folder.glob("device-*"):
            path.unlink() if path.is_file() else path.rmdir()
