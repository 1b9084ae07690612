"""The requests that a block device gets for the sections of a graph, as the kernel's tracing tells them (needs root). Python 3.9 or newer, no packages."""

import bisect
import contextlib
import fcntl
import os
import re
import struct
from pathlib import Path

TRACING = Path("/sys/kernel/tracing/instances")
EVENT = re.compile(r"\s(\d+\.\d+): block_rq_issue: \d+,\d+ R\w* (\d+) \(.*?\) (\d+) \+ ")
# The kernel's interface to the places of a file on its device: FS_IOC_FIEMAP.
FIEMAP, HEAD, EXTENT, MOST = 0xC020660B, struct.Struct("=QQLLLL"), struct.Struct("=QQQQQLLLL"), 4096


def extents(path):
    """The parts of a file that lie together: place on the device, place in the file, bytes."""
    request = bytearray(HEAD.pack(0, 2**63, 0, 0, MOST, 0)) + bytes(EXTENT.size * MOST)
    with open(path, "rb") as file:
        fcntl.ioctl(file, FIEMAP, request)
    count = HEAD.unpack_from(request)[3]
    parts = (EXTENT.unpack_from(request, HEAD.size + EXTENT.size * index) for index in range(count))
    return [(part[1], part[0], part[2]) for part in parts]


class BlockTrace:
    """Records while it is open."""

    def __init__(self, graph):
        # A file that was just made has no place yet.
        os.sync()
        # The others are read through the page cache.
        sections = [path for path in Path(graph).iterdir() if path.suffix not in (".crc", ".json")]
        self.parts = sorted((*part, path.name) for path in sections for part in extents(path))
        self.folder, self.requests = TRACING / f"outercore-{os.getpid()}", []

    def __enter__(self):
        self.folder.mkdir()
        (self.folder / "buffer_size_kb").write_text("32768")
        self.enable("1")
        return self

    def enable(self, on):
        (self.folder / "events/block/block_rq_issue/enable").write_text(on)

    def __exit__(self, *_):
        self.enable("0")
        for line in (self.folder / "trace").read_text().splitlines():
            found = EVENT.search(line)
            # A sector of this interface has 512 bytes, whatever the device's.
            place = found and self.place(int(found[3]) * 512, int(found[2]))
            if place:
                self.requests.append((float(found[1]), place))
        with contextlib.suppress(OSError):
            self.folder.rmdir()

    def place(self, byte, size):
        """The file, offset and bytes of a request; nothing if it is for none of the files."""
        at = bisect.bisect_right(self.parts, (byte, 2**63)) - 1
        if at < 0:
            return None
        start, offset, length, name = self.parts[at]
        within = byte - start
        return (name, offset + within, min(size, length - within)) if within < length else None

    def widest(self, share):
        """The shortest stretch of time that has so much of the bytes: its requests and its seconds."""
        wanted = share * sum(place[2] for _, place in self.requests)
        best, first, size = None, 0, 0
        for last, (at, place) in enumerate(self.requests):
            size += place[2]
            while size - self.requests[first][1][2] >= wanted:
                size -= self.requests[first][1][2]
                first += 1
            if size >= wanted and (best is None or at - self.requests[first][0] < best[0]):
                best = (at - self.requests[first][0], first, last)
        return ([place for _, place in self.requests[best[1] : best[2] + 1]], best[0]) if best else ([], 0.0)
