#!/usr/bin/env python3
"""Attacks the command from outside: hostile input, damage, budgets, signals, foreign files, any words. Python 3.9 or newer, no packages.

Each case has a family and a number, which is its seed. A miss is printed with the commands that it was, its folder is kept, and `--only FAMILY --case NUMBER` repeats it.
First each family must find what is planted for it: answers that are changed, exit codes, files that go, memory beyond the budget.
"""

import argparse
import collections
import concurrent.futures
import os
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path

import answers
import damage
import limits
import trouble
from place import Miss, Place

# Name: the family, its share of the cases, and what is planted for it.
FAMILIES = {
    "texts": (answers.texts, 30, "answer"),
    "mutated": (answers.mutated, 15, "answer"),
    "damaged": (damage.damaged, 20, "answer"),
    "midrun": (damage.midrun, 3, "answer"),
    "budgets": (limits.budgets, 12, "peak"),
    "builds": (limits.builds, 2, "peak"),
    "refused": (limits.refused, 5, "removal"),
    "kills": (trouble.kills, 4, "removal"),
    "foreign": (trouble.foreign, 3, "removal"),
    "together": (trouble.together, 1, "answer"),
    "words": (trouble.words, 5, "code"),
}


def attempt(binary, folder, family, number, lie=None):
    """One case: how many commands it was, and what was missed, if anything was."""
    place = Place(binary, tempfile.mkdtemp(prefix=f"attack-{family}-{number}-", dir=folder), lie)
    try:
        FAMILIES[family][0](random.Random(f"{family} {number}"), place)
    except Miss as miss:
        found = str(miss)
    except Exception as error:
        found = f"{type(error).__name__}: {error}"
    else:
        found = None
    commands = len(place.commands)
    if found is None or lie:
        shutil.rmtree(place.folder)
        return commands, found
    return commands, f"{family} {number}: {found}\nin {place.folder}, after:\n  " + "\n  ".join(place.commands)


def planted(binary, folder, family, number):
    """Whether the family finds its planted fault in one of a few cases."""
    return any(attempt(binary, folder, family, case, FAMILIES[family][2])[1] for case in range(number, number + 20))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", required=True)
    parser.add_argument("--cases", type=int, default=10_000, help="of all families together [default: 10000]")
    parser.add_argument("--seed", type=int, default=1, help="the number of each family's first case [default: 1]")
    parser.add_argument("--only", choices=FAMILIES)
    parser.add_argument("--case", type=int, help="this case of --only alone")
    parser.add_argument("--at-a-time", type=int, default=os.cpu_count())
    parser.add_argument("--folder", default=tempfile.gettempdir(), help="where cases have their folders")
    options = parser.parse_args()
    binary = str(Path(options.binary).resolve())
    families = {name: family for name, family in FAMILIES.items() if options.only in (None, name)}
    if options.case is not None:
        print(attempt(binary, options.folder, options.only, options.case)[1] or "no miss")
        return
    shares = sum(share for _, share, _ in families.values())
    work = [(name, options.seed + at) for name, (_, share, _) in families.items() for at in range(max(1, options.cases * share // shares))]
    random.Random(0).shuffle(work)
    began, cases, commands, misses = time.monotonic(), collections.Counter(), collections.Counter(), collections.Counter()
    with concurrent.futures.ProcessPoolExecutor(options.at_a_time) as pool:
        blind = [name for name, sees in zip(families, pool.map(planted, *zip(*((binary, options.folder, name, options.seed) for name in families)))) if not sees]
        print(f"planted faults: {len(families) - len(blind)} of {len(families)} found" + (f"; not by {', '.join(blind)}" if blind else ""), flush=True)
        futures = {pool.submit(attempt, binary, options.folder, name, number): name for name, number in work}
        for at, future in enumerate(concurrent.futures.as_completed(futures), 1):
            name, (count, miss) = futures[future], future.result()
            cases[name] += 1
            commands[name] += count
            if miss:
                misses[name] += 1
                print(miss, flush=True)
            if at % 500 == 0:
                print(f"{at} of {len(work)} cases, {sum(misses.values())} misses, {time.monotonic() - began:.0f} s", flush=True)
    for name in families:
        print(f"{name:10} {cases[name]:6} cases {commands[name]:7} commands {misses[name]:4} misses")
    failed = bool(blind or misses)
    print(f"attack result: {'FAILED' if failed else 'ok'}. {sum(cases.values())} cases, {sum(commands.values())} commands, {sum(misses.values())} misses, {time.monotonic() - began:.0f} s")
    sys.exit(failed)


if __name__ == "__main__":
    main()
