#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random kernels with open sizes: `isamap run` compiles one program for all sizes and compares it at several of them.

Products with either factor transposed, batches, sums, windows in one and two dims, some of any width, and element-wise
functions of f32, bf16 and bytes; sizes of 0 and 1, sizes that no tile divides. Same seed, same kernel.

Prints the command of every kernel that is wrong, is refused or is compiled at each size; exit code 1 if one is wrong or
ends without an answer.

  tests/fuzz/random_sizes.py --isamap build/isamap --seed 0 --count 100 --targets x86_avx2,nvidia_sm80
"""

import argparse
import json
import random
import re
import shlex
import subprocess
import sys

KERNELS = [
    ("C[i,j] += A[i,k] * B[k,j]", "ijk"), ("C[i,j] += A[k,i] * B[k,j]", "ijk"), ("C[i,j] += A[i,k] * B[j,k]", "ijk"),
    ("C[i,j] += A[k,i] * B[j,k]", "ijk"), ("C[b,i,j] += A[b,i,k] * B[b,k,j]", "bijk"), ("Y[i] += A[i,k] * X[k]", "ik"),
    ("Y[i] max= A[i,k]", "ik"), ("Y[k] += A[i,k]", "ik"), ("O[n,k,p] += I[n,c,p+r] * F[k,c,r]", "nkpcr"),
    ("O[p,q,c] += I[p+r,q+s,c] * F[r,s,c]", "pqcrs"), ("Z[i,j] = X[i,j] * Y[j] + W[i]", "ij"),
    ("Z[i,j] = X[i,j] * f32(value(j))", "ij"), ("Z[i] += X[i,j] * f32(value(i))", "ij")]
TYPES = ["f32", "f32", "bf16", "bytes"]


def with_types(formula, types):
    """The formula of other types, and their --dtypes."""
    operands = re.findall(r"([A-Z])\[", formula.split("=", 1)[1])
    if types == "f32" or "+=" not in formula or len(operands) != 2:
        return formula, []
    widened, kinds = ("f32", ("bf16", "bf16", "f32")) if types == "bf16" else ("s32", ("u8", "s8", "s32"))
    formula = re.sub(r"= (.*) \* (.*)", rf"= {widened}(\1) * {widened}(\2)", formula)
    names = [*operands, formula[0]]
    return formula, ["--dtypes", ",".join(f"{name}={kind}" for name, kind in zip(names, kinds))]


def command(seed, targets):
    """The words behind `isamap`; nothing: no size of this kernel is open."""
    source = random.Random(seed)
    formula, names = source.choice(KERNELS)
    formula, types = with_types(formula, source.choice(TYPES))
    dims, sizes = [], []
    for name in names:
        if name in "rs" and source.random() < 0.8:
            dims.append(f"{name}={source.choice([1, 2, 3, 5])}")
        elif source.random() < 0.65:
            least = 1 if name in "pqrs" else source.choice([0, 1])
            dims.append(f"{name}={least}..{source.choice([130, 300, 1000])}")
            known = [least, 1, 2, 3, source.randint(4, 20), source.randint(15, 70), source.choice([16, 32, 48, 64, 128])]
            sizes.append(f"{name}=" + ",".join(map(str, sorted(set(source.sample(known, 2))))))
        else:
            dims.append(f"{name}={source.choice([1, 3, 8, 16, 31, 33, 64, 100, 128])}")
    if not sizes:
        return None
    return ["run", "--compute", formula, "--dims", ",".join(dims), "--sizes", ",".join(sizes), "--target",
            source.choice(targets), "--json", *types]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--isamap", required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--targets", default="x86_avx2")
    asked = parser.parse_args()
    wrong = 0
    for seed in range(asked.seed, asked.seed + asked.count):
        words = command(seed, asked.targets.split(","))
        if words is None:
            continue
        ended = subprocess.run([asked.isamap, *words], capture_output=True, text=True)
        try:
            answer = json.loads(ended.stdout)
        except json.JSONDecodeError:
            answer = {}
        wrong += ended.returncode not in (0, 1, 3, 77)
        if ended.returncode or answer.get("recompiles"):
            print(f"seed {seed}: exit code {ended.returncode}, {answer.get('recompiles', 0)} recompilations: "
                  f"{asked.isamap} {shlex.join(words)}", flush=True)
    print(f"{asked.count} seeds, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
