# SPDX-License-Identifier: Apache-2.0
"""Programs for all sizes against our own code made for each size (docs/dynamic_sizes.md).

For each kernel: one compilation with symbolic sizes runs sizes drawn from a printed seed, which no schedule was
searched at; each size is compiled for itself as well. Prints the ratio of their times by size, the geometric mean and
the worst one; exit code 1: a result was wrong or a kernel was compiled more than once.
"""

import argparse
import json
import math
import pathlib
import random
import subprocess
import sys
import tempfile

PRODUCT = """kernel: product
dims: {M: {max: 3000, likely: 256}, N: %s, K: %s}
tensors: {A: {shape: [M, K], dtype: %s}, B: {shape: [K, N], dtype: %s%s}, C: {shape: [M, N], dtype: %s}}
compute:
  - C[i,j] += A[i,k] * B[k,j]
"""
ANY = "{max: 3000, likely: 256}"
HEAD = "dims: {H: 4, S: {max: 2048, likely: 128}, T: {max: 2048, likely: 128}, D: 64}\n"
CONVOLUTION = """kernel: convolution
dims: {N: {max: 64, likely: 1}, H: {max: 224, likely: 28}, W: {max: 224, likely: 28}}
tensors: {I: {shape: [N, 32, H, W], outside: 0}, F: {shape: [64, 32, 3, 3]}, O: {shape: [N, 64, H, W]}}
compute:
  - O[n,k,p,q] += I[n,c,p+r-1,q+s-1] * F[k,c,r,s]
"""
DEPTHWISE = """kernel: depthwise
dims: {N: {max: 64, likely: 1}, H: {max: 224, likely: 28}, W: {max: 224, likely: 28}}
tensors: {I: {shape: [N, H, W, 64], outside: 0}, F: {shape: [3, 3, 64]}, O: {shape: [N, H, W, 64]}}
compute:
  - O[n,p,q,c] += I[n,p+r-1,q+s-1,c] * F[r,s,c]
"""
SOFTMAX = """kernel: softmax
dims: {M: {max: 4096, likely: 64}, N: {max: 4096, likely: 128}}
tensors: {X: {shape: [M, N]}, H: {shape: [M]}, E: {shape: [M, N]}, L: {shape: [M]}, Y: {shape: [M, N]}}
compute:
  - H[i] max= X[i,j]
  - E[i,j] = exp(X[i,j] - H[i])
  - L[i] += E[i,j]
  - Y[i,j] = E[i,j] / L[i]
"""

# name, kernel, range of each size
CASES = [
    ("product f32 packed, M", PRODUCT % (256, 256, "f32", "f32", ", constant: true", "f32"), {"M": (1, 1000)}),
    ("product f32 plain, M N K", PRODUCT % (ANY, ANY, "f32", "f32", "", "f32"),
     {"M": (1, 600), "N": (1, 600), "K": (1, 600)}),
    ("product bf16 plain, M N K", PRODUCT % (ANY, ANY, "bf16", "bf16", "", "f32"),
     {"M": (1, 400), "N": (1, 400), "K": (1, 400)}),
    ("product u8s8 plain, M N K", PRODUCT % (ANY, ANY, "u8", "s8", "", "s32"),
     {"M": (1, 400), "N": (1, 400), "K": (1, 400)}),
    ("scores", "kernel: scores\n" + HEAD + "tensors: {Q: {shape: [H, S, D]}, K: {shape: [H, T, D]}, P: {shape: [H, S, "
     "T]}}\ncompute:\n  - P[h,s,t] += Q[h,s,d] * K[h,t,d]\n", {"S": (1, 400), "T": (1, 400)}),
    ("values", "kernel: values\n" + HEAD + "tensors: {P: {shape: [H, S, T]}, V: {shape: [H, T, D]}, O: {shape: [H, S, "
     "D]}}\ncompute:\n  - O[h,s,d] += P[h,s,t] * V[h,t,d]\n", {"S": (1, 400), "T": (1, 400)}),
    ("convolution, N H W", CONVOLUTION, {"N": (1, 3), "H": (3, 60), "W": (3, 60)}),
    ("depthwise, N H W", DEPTHWISE, {"N": (1, 3), "H": (3, 60), "W": (3, 60)}),
    ("softmax, M N", SOFTMAX, {"M": (1, 300), "N": (1, 300)}),
]


def run(isamap, kernel, target, evaluations, sizes):
    """The `run` JSON of one list of sizes."""
    words = [isamap, "run", kernel, "--target", target, "--json", "--sizes", sizes]
    if evaluations:
        words += ["--budget", f"evals={evaluations}"]
    said = subprocess.run(words, capture_output=True, text=True)
    try:
        return json.loads(said.stdout)
    except json.JSONDecodeError:
        sys.exit(f"{' '.join(words)}\n{said.stderr}")


def measure(arguments, name, text, ranges, draw):
    good, ratios = True, []
    with tempfile.TemporaryDirectory() as folder:
        kernel = str(pathlib.Path(folder) / "kernel.yaml")
        pathlib.Path(kernel).write_text(text)
        # One program for lists of all combinations: each draw is a diagonal of it, so lists have one size each.
        for _ in range(arguments.sizes):
            sizes = {size: draw.randint(*both) for size, both in ranges.items()}
            shown = ",".join(f"{size}={value}" for size, value in sizes.items())
            other = {size: min(value + 1, both[1] + 1) for (size, value), both in zip(sizes.items(), ranges.values())}
            pair = ",".join(f"{size}={value},{other[size]}" for size, value in sizes.items())
            dynamic = run(arguments.isamap, kernel, arguments.target, arguments.evaluations, pair)
            static = run(arguments.isamap, kernel, arguments.target, arguments.evaluations, shown)
            one = next(r for r in dynamic["runs"] if r["sizes"] == {**r["sizes"], **sizes})
            good = good and dynamic["recompiles"] == 0 and one["correct"] and static["correct"]
            if not one.get("seconds") or not static.get("seconds"):
                continue
            ratios.append(one["seconds"] / static["seconds"])
            print(f"  {shown}: {one['seconds']:.3g} s, static {static['seconds']:.3g} s, {ratios[-1]:.3f}", flush=True)
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"{name}: mean {mean:.3f}, worst {max(ratios):.3f}, {len(ratios)} sizes{'' if good else ', NOT GOOD'}")
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--isamap", required=True)
    parser.add_argument("--target", default="x86_avx512")
    parser.add_argument("--sizes", type=int, default=30, help="sizes drawn for each kernel")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--evaluations", type=int, default=0, help="of each search; 0: as many as `run` takes")
    parser.add_argument("--family", nargs="*", default=[], help="kernels whose names contain one of these")
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}, {arguments.target}")
    draw = random.Random(arguments.seed)
    good = True
    for name, text, ranges in CASES:
        if not arguments.family or any(word in name for word in arguments.family):
            good = measure(arguments, name, text, ranges, draw) and good
    sys.exit(0 if good else 1)


main()
