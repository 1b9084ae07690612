#!/usr/bin/env python3
"""Derives the dependency graph of Debian's packages from the distribution's own package index.

    python3 debian.py                          # the index that apt keeps on a Debian machine
    python3 debian.py INDEX... -o FILE.tsv.gz  # `Packages` files or URLs: plain, .gz, .xz or .lz4

One line of the output is one edge, `package <tab> package it depends on`. The rules:

* The fields Depends and Pre-Depends count; Recommends, Suggests and the like do not.
* Of the alternatives `a | b`, every one that exists gives an edge.
* A name that is a package of the index stands for that package alone. A name that is not stands for all
  the packages that provide it.
* Version constraints and `:any` are dropped. A name with a foreign architecture (`a:i386`) does not exist.
* A package that is there in several versions counts in the newest one.
* Duplicate edges and edges from a package to itself are dropped; the lines are sorted.

Only the standard library is needed. The same index always gives the same bytes with the same zlib.
"""

import argparse
import functools
import glob
import gzip
import hashlib
import io
import itertools
import lzma
import os
import re
import subprocess
import sys
import urllib.request

LISTS = "/var/lib/apt/lists"  # where apt keeps its indexes on every Debian system
APT_HELPER = "/usr/lib/apt/apt-helper"  # reads lz4, which the standard library does not
ARCHITECTURE = "amd64"
INDEX_PATH = f"main/binary-{ARCHITECTURE}/Packages"  # as a Release file names the index


# --- reading -------------------------------------------------------------------------------------------------


def fetch(place):
    """The bytes of a file or a URL."""
    if "://" in place:
        with urllib.request.urlopen(place, timeout=60) as response:
            return response.read()
    with open(place, "rb") as file:
        return file.read()


def read_index(place):
    """The bytes of an index, decompressed. The compression is told by content, not by name."""
    data = fetch(place)
    if data[:2] == b"\x1f\x8b":
        return gzip.decompress(data)
    if data[:6] == b"\xfd7zXZ\x00":
        return lzma.decompress(data)
    if data[:4] == b"\x04\x22\x4d\x18":
        if "://" in place:
            raise ValueError("an lz4 index can be read from a file only: take the .xz or .gz one")
        return subprocess.run([APT_HELPER, "cat-file", place], check=True, stdout=subprocess.PIPE).stdout
    return data


def stanzas(text):
    """The stanzas of a control file, each a dict of its fields' first lines (no field used here goes on).

    >>> list(stanzas("Package: a\\nDepends: b\\n\\nPackage: b\\nDescription: x\\n more\\n"))
    [{'Package': 'a', 'Depends': 'b'}, {'Package': 'b', 'Description': 'x'}]
    """
    for block in re.split(r"\n{2,}", text.strip("\n")):
        lines = (line for line in block.split("\n") if not line.startswith((" ", "\t", "#")))
        fields = (line.partition(":") for line in lines)
        yield {name: value.strip() for name, _, value in fields}


def default_indexes():
    """The indexes that apt has of the running release: its own suite, not its updates or security."""
    release = {}
    with open("/etc/os-release", encoding="utf-8") as file:
        for line in file:
            name, _, value = line.strip().partition("=")
            release[name] = value.strip('"')
    suite = release.get("VERSION_CODENAME", "stable")
    found = sorted(glob.glob(f"{LISTS}/*_dists_{suite}_main_binary-{ARCHITECTURE}_Packages*"))
    if not found:
        raise ValueError(f"no index of main/{ARCHITECTURE} in {LISTS}: run `apt-get update`, or name an index")
    return found[:1]  # several mirrors of one suite have the same index


def release_of(place):
    """The fields and the checked digests of the Release file that belongs to an index; empty if there is none."""
    separator = "/" if "/dists/" in place else "_"
    head, mark, _ = place.rpartition(separator + INDEX_PATH.replace("/", separator))
    if not mark:
        return {}, {}
    for name in ("InRelease", "Release"):
        try:
            text = fetch(head + separator + name).decode("utf-8")
        except OSError:
            continue
        fields = dict(re.findall(r"^([A-Z][A-Za-z-]+): (.+)$", text, re.MULTILINE))
        digests = re.findall(r"^ ([0-9a-f]{64}) +[0-9]+ (\S+)$", text, re.MULTILINE)
        return fields, {path: digest for digest, path in digests}
    return {}, {}


# --- versions ------------------------------------------------------------------------------------------------


def compare_parts(a, b):
    """Debian's order of two upstream versions or revisions: `~` before the end, letters before the rest."""

    def weight(character):
        return -1 if character == "~" else ord(character) + (0 if character.isalpha() else 256)

    split_a, split_b = (re.findall(r"([^0-9]*)([0-9]*)", part) for part in (a, b))
    for (text_a, number_a), (text_b, number_b) in itertools.zip_longest(split_a, split_b, fillvalue=("", "")):
        for x, y in itertools.zip_longest(text_a, text_b):
            difference = (weight(x) if x else 0) - (weight(y) if y else 0)
            if difference:
                return difference
        difference = int(number_a or 0) - int(number_b or 0)
        if difference:
            return difference
    return 0


def compare_versions(a, b):
    """Debian's order of two versions: below, at or above zero.

    >>> pairs = ["1.9 1.10", "1.0~rc1 1.0", "2.0 1:1.0", "1.0-2 1.0-10", "1.0 1.0+b1"]
    >>> [compare_versions(*pair.split()) < 0 for pair in pairs]
    [True, True, True, True, True]
    >>> compare_versions("0:1.02-0", "1.2")
    0
    """

    def parts(version):
        epoch, colon, rest = version.partition(":")
        epoch, rest = (epoch, rest) if colon else ("0", version)
        upstream, dash, revision = rest.rpartition("-")
        return (epoch, upstream, revision) if dash else (epoch, rest, "")

    for x, y in zip(parts(a), parts(b)):
        difference = compare_parts(x, y)
        if difference:
            return difference
    return 0


# --- the graph -----------------------------------------------------------------------------------------------


def names(field):
    """The package names of a relation field, alternatives included, without versions and `:any`.

    >>> names("libc6 (>= 2.36), python3:any, a | b:amd64 (<< 2) , c:i386")
    ['libc6', 'python3', 'a', 'b', 'c:i386']
    >>> names("")
    []
    """
    relations = (re.sub(r"[(\[<].*", "", relation).strip() for relation in re.split(r"[,|]", field))
    return [re.sub(rf":(any|native|{ARCHITECTURE})$", "", name) for name in relations if name]


def newest(texts):
    """The newest stanza of each package, by name."""
    packages = {}
    order = functools.cmp_to_key(compare_versions)
    for stanza in itertools.chain.from_iterable(map(stanzas, texts)):
        name = stanza.get("Package")
        if name and (name not in packages or order(stanza["Version"]) > order(packages[name]["Version"])):
            packages[name] = stanza
    return packages


def edges(packages):
    """The set of edges, and the number of names (by package) that nothing in the index answers to.

    >>> index = '''Package: a
    ... Version: 1
    ... Depends: mail | gone, b (>= 1)
    ... Pre-Depends: b:any
    ...
    ... Package: b
    ... Version: 2
    ... Provides: mail (= 3), a
    ... Depends: mail
    ...
    ... Package: c
    ... Version: 1
    ... Provides: mail
    ... '''
    >>> graph, missing = edges(newest([index]))
    >>> sorted(graph), missing
    ([('a', 'b'), ('a', 'c'), ('b', 'c')], 1)
    """
    providers = {}
    for name, stanza in packages.items():
        for virtual in names(stanza.get("Provides", "")):
            providers.setdefault(virtual, []).append(name)
    graph, missing = set(), 0
    for name, stanza in packages.items():
        for wanted in {w for field in ("Depends", "Pre-Depends") for w in names(stanza.get(field, ""))}:
            targets = [wanted] if wanted in packages else providers.get(wanted, [])
            missing += not targets
            graph.update((name, target) for target in targets if target != name)
    return graph, missing


# --- writing -------------------------------------------------------------------------------------------------


def describe(fields):
    """One line on the release, from its Release file."""
    if not fields:
        return "unknown (no Release file beside the index)"
    origin, version, codename = (fields.get(name, "?") for name in ("Origin", "Version", "Codename"))
    return f"{origin} {version} ({codename}), main, {ARCHITECTURE}"


def render(packages, graph, missing, fields, digests):
    """The whole file: a header of comments, then the edges."""
    used = {name for edge in graph for name in edge}
    header = [
        "Dependencies of Debian packages: package <tab> package it depends on",
        f"Release: {describe(fields)}",
        f"Date of the index: {fields.get('Date', 'unknown')}",
        *(f"SHA-256 of the index: {digest}" for digest in digests),
        f"Packages in the index: {len(packages)}, in an edge: {len(used)}. Edges: {len(graph)}",
        "Made by data/debian.py from the fields Depends and Pre-Depends: every alternative that exists,",
        "virtual names as their providers, no versions, no duplicates, none of a package to itself.",
        f"Names wanted that no package answers to: {missing}, dropped",
    ]
    comments = [f"# {line}\n" for line in header]
    lines = [f"{source}\t{target}\n" for source, target in sorted(graph)]
    return "".join(comments + lines).encode("utf-8")


def compress(data):
    """gzip without a name and a time, so that the same data is always the same file."""
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=buffer, mtime=0) as file:
        file.write(data)
    return buffer.getvalue()


def main():
    output = os.path.join(os.path.dirname(os.path.abspath(__file__)), "debian-depends.tsv.gz")
    parser = argparse.ArgumentParser(description="Derives the dependency graph of Debian's packages from their index.")
    parser.add_argument("index", nargs="*", help="a `Packages` file or URL (default: what apt has of this release)")
    parser.add_argument("-o", "--output", default=output, help="default: debian-depends.tsv.gz beside this script")
    options = parser.parse_args()

    texts, digests, fields = [], [], {}
    for place in options.index or default_indexes():
        data = read_index(place)
        digests.append(hashlib.sha256(data).hexdigest())
        release, listed = release_of(place)
        if listed.get(INDEX_PATH, digests[-1]) != digests[-1]:
            raise ValueError(f"{place}: its SHA-256 is not the one in the Release file beside it: run `apt-get update`")
        fields = fields or release
        texts.append(data.decode("utf-8"))
    packages = newest(texts)
    graph, missing = edges(packages)
    if not graph:
        raise ValueError("no dependencies found: is this a `Packages` index?")
    data = render(packages, graph, missing, fields, digests)
    packed = compress(data) if options.output.endswith(".gz") else data
    with open(options.output, "wb") as file:
        file.write(packed)
    counts = f"{len(packages)} packages, {len(graph)} edges, {missing} names unanswered, {len(packed)} bytes"
    print(counts, file=sys.stderr)


if __name__ == "__main__":
    try:
        main()
    except (OSError, ValueError, subprocess.CalledProcessError) as error:
        sys.exit(f"debian.py: {error}")
