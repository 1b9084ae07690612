"""Damaged graphs: exit 4, or the right answer."""

import subprocess
import time

from cases import expect, generated, random_run, result
from place import MODELS, Miss, same


def damaged(rng, place):
    """A part of a graph changed, cut, swapped, gone: exit 4, or the right answer. `check` finds all of it."""
    generated(rng, place)
    verbs = [random_run(rng) for _ in range(2)] + [["export", "g.oc"]]
    answers = [result(place, verb) for verb in verbs]
    places = [path for folder in place.folder.iterdir() if folder.is_dir() for path in folder.rglob("*") if path.is_file() and path.stat().st_size and path.name != "owner.txt"]
    for path in rng.sample(sorted(places), 3):
        whole = path.read_bytes()
        damage(rng, path, whole, places)
        damaged = content(path)
        place.commands.append(f"(changed: {path.relative_to(place.folder)})")
        # Before the runs: they make a view that is damaged again.
        if place.run("check", "g.oc", codes=(0, 4)).code == 0 and damaged != whole:
            raise Miss(f"check does not see {path.relative_to(place.folder)}")
        for verb, answer in zip(verbs, answers):
            found = result(place, verb, codes=(0, 4))
            if found != 4 and found != answer:
                raise Miss(f"{path.name}: exit 0 with another answer")
        if content(path) == damaged:
            restore(path, whole)
    for verb, answer in zip(verbs, answers):
        expect("after all is whole again", result(place, verb), answer)


def content(path):
    """The bytes of a file; none of what is no file."""
    return path.read_bytes() if path.is_file() and not path.is_symlink() else None


def restore(path, whole):
    if path.is_dir():
        path.rmdir()
    path.unlink(missing_ok=True)
    path.write_bytes(whole)


def damage(rng, path, whole, others):
    data, at = bytearray(whole), rng.randrange(len(whole))
    kind = rng.randrange(9)
    if kind < 3:
        data[at] ^= 1 << rng.randrange(8)
    elif kind == 3:
        data[at:at + rng.choice([1, 8, 4096])] = bytes(min(rng.choice([1, 8, 4096]), len(data) - at))
    elif kind == 4:
        data = data[:at]
    elif kind == 5:
        data += rng.randbytes(rng.choice([1, 4096]))
    elif kind == 6:
        data = bytearray(rng.choice(others).read_bytes())
    elif kind == 7 and len(data) > 8192:
        data[:4096], data[4096:8192] = data[4096:8192], data[:4096]
    elif kind == 8:
        path.unlink()
        return path.mkdir() if rng.random() < 0.5 else None
    path.write_bytes(data)


def midrun(rng, place):
    """A bit changed while a run reads: exit 4, or the right answer."""
    generated(rng, place, scale=(13, 15))
    verb = ["run", "pagerank", "g.oc", "--iterations", 60, "--model", rng.choice(MODELS[1:]), "--threads", rng.randint(1, 3)]
    smallest = place.run("plan", *verb[1:], "--json", codes=(0,)).json()["smallest_budget_bytes"]
    verb += ["--memory", smallest]
    began = time.monotonic()
    answer = result(place, verb)
    took = time.monotonic() - began
    sections = sorted(path for path in place.path("g.oc").iterdir() if path.stat().st_size and path.suffix not in (".json", ".crc"))
    path = rng.choice([section for section in sections if section.name.startswith("grid")] or sections)
    process = place.start(*verb, "-o", "y.csv", err=subprocess.PIPE)
    # Some come too late: the answer must be right, and one that is not is seen.
    time.sleep(rng.random() * 1.3 * took)
    with open(path, "r+b") as file:
        at = rng.randrange(path.stat().st_size)
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ (1 << rng.randrange(8))]))
    try:
        _, said = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        raise Miss("a run over damage does not end") from None
    if process.returncode == 0:
        if not same(place.rows("y.csv"), answer):
            raise Miss("damage in the middle of a run: exit 0 with other scores")
    elif process.returncode != 4:
        raise Miss(f"damage in the middle of a run: exit {process.returncode}: {said.decode()[-300:]}")
