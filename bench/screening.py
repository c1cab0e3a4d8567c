#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What times beside compilers say about times alone (scheduler/screening.h): 144 programs.

    bench/screening.py build/isamap

`tune` with two jobs times its candidates beside compilers and only the nearest to the fastest alone; with one job all
are timed alone, in rounds. Both of the same search, with an empty cache of programs for the first of them. Printed: how
the times of a candidate compare, in proportion to the fastest ones, and how much slower than the fastest of all
candidates the one is that screening chose. Takes some minutes; other load is part of the answer.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))


def candidates(isamap, kernel, more, cache):
    """Seconds by (statement, trial), without variants of the fastest."""
    file = os.path.join(here, "..", "examples", kernel + ".yaml")
    command = [isamap, "tune", file, "--target", "x86_avx2", "--json", *more]
    done = subprocess.run(command, env={**os.environ, "ISAMAP_CACHE": cache}, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with code {done.returncode}")
    found = json.loads(done.stdout)["candidates"]
    return {(one["statement"], one["trial"]): one["measured"] for one in found
            if one["correct"] and one["measured"] and not one.get("variation")}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("isamap", help="the program")
    parser.add_argument("--measured", default="24", help="candidates of a search (default 24)")
    asked = parser.parse_args()
    ratios = []
    for kernel in ["gemm", "conv2d", "pointwise"]:
        for seed in ["0", "1"]:
            with tempfile.TemporaryDirectory() as cache:
                candidates(asked.isamap, kernel, ["--measured", "1", "--budget", "evals=20"], cache)  # headers
                flags = ["--measured", asked.measured, "--seed", seed, "--jobs"]
                beside = candidates(asked.isamap, kernel, flags + ["2"], cache)
                alone = candidates(asked.isamap, kernel, flags + ["1"], cache)
            both = sorted(beside.keys() & alone.keys(), key=beside.get)
            least = min(alone[one] for one in both)
            ratios += [beside[one] / beside[both[0]] / (alone[one] / least) for one in both]
            print(f"{kernel}, seed {seed}: {len(both)} programs; the chosen one takes {alone[both[0]] / least:.2f} "
                  "times as long as the fastest", flush=True)
    ratios.sort()
    tenth = len(ratios) // 10
    print(f"{len(ratios)} programs: times beside compilers are {ratios[tenth]:.2f} to {ratios[-1 - tenth]:.2f} of those "
          "alone for eight of ten, in proportion to the fastest")


if __name__ == "__main__":
    main()
