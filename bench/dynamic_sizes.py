# SPDX-License-Identifier: Apache-2.0
"""Programs for all sizes against our own code made for each size (docs/dynamic_sizes.md).

For each kernel: one program with symbolic sizes, and one for each of the sizes, which are drawn from a printed seed and
are none that a schedule was searched at. Both are loaded into this process and called in turns, so that what else runs
on the machine disturbs both; the shortest of the rounds counts. Prints the ratio by size, and a table: geometric mean
and worst ratio, versions, blocks, and the time to print and compile the one program against that of one size. Exit
code 1: results differ.
"""

import argparse
import ctypes
import json
import math
import pathlib
import random
import re
import resource
import struct
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

# name, kernel, range of each size, machine where it is another one
CASES = [
    ("product f32 packed, M", PRODUCT % (256, 256, "f32", "f32", ", constant: true", "f32"), {"M": (1, 1000)}),
    ("product f32 plain, M N K", PRODUCT % (ANY, ANY, "f32", "f32", "", "f32"),
     {"M": (1, 600), "N": (1, 600), "K": (1, 600)}),
    ("product bf16 plain, M N K", PRODUCT % (ANY, ANY, "bf16", "bf16", "", "f32"),
     {"M": (1, 400), "N": (1, 400), "K": (1, 400)}, "x86_avx512_bf16"),
    ("product u8s8 plain, M N K", PRODUCT % (ANY, ANY, "u8", "s8", "", "s32"),
     {"M": (1, 400), "N": (1, 400), "K": (1, 400)}, "x86_avx512_vnni"),
    ("scores", "kernel: scores\n" + HEAD + "tensors: {Q: {shape: [H, S, D]}, K: {shape: [H, T, D]}, P: {shape: [H, S, "
     "T]}}\ncompute:\n  - P[h,s,t] += Q[h,s,d] * K[h,t,d]\n", {"S": (1, 400), "T": (1, 400)}),
    ("values", "kernel: values\n" + HEAD + "tensors: {P: {shape: [H, S, T]}, V: {shape: [H, T, D]}, O: {shape: [H, S, "
     "D]}}\ncompute:\n  - O[h,s,d] += P[h,s,t] * V[h,t,d]\n", {"S": (1, 400), "T": (1, 400)}),
    ("convolution, N H W", CONVOLUTION, {"N": (1, 3), "H": (3, 60), "W": (3, 60)}),
    ("depthwise, N H W", DEPTHWISE, {"N": (1, 3), "H": (3, 60), "W": (3, 60)}),
    ("softmax, M N", SOFTMAX, {"M": (1, 300), "N": (1, 300)}),
]


BYTES = {"f32": 4, "s32": 4, "bf16": 2, "f16": 2, "u8": 1, "s8": 1}
CALLS = """#include <ctime>
extern "C" double time_calls(void* entry, void* const* pointers, long n, const long* sizes, long m, long times) {
  long a[16] = {};
  for (long i = 0; i < n; ++i) a[i] = (long)pointers[i];
  for (long i = 0; i < m; ++i) a[n + i] = sizes[i];
  // Registers and stack hold what the entry takes; it does not look at the rest.
  const auto f = (long (*)(long, long, long, long, long, long, long, long, long, long, long, long))entry;
  timespec from, to;
  clock_gettime(CLOCK_MONOTONIC, &from);
  for (long t = 0; t < times; ++t) f(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11]);
  clock_gettime(CLOCK_MONOTONIC, &to);
  return (to.tv_sec - from.tv_sec) + 1e-9 * (to.tv_nsec - from.tv_nsec);
}
"""


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Program:
    """An emitted program, compiled and loaded."""

    def __init__(self, arguments, kernel, folder, name, sizes):
        words = [arguments.isamap, "emit", kernel, "--target", arguments.machine, "--json"]
        words += ["--sizes", sizes] if sizes else []
        words += ["--budget", f"evals={arguments.evaluations}"] if arguments.evaluations else []
        begin = cpu_seconds()
        said = subprocess.run(words, capture_output=True, text=True)
        if said.returncode != 0:
            sys.exit(f"{' '.join(words)}\n{said.stderr}")
        self.json = json.loads(said.stdout)
        text = self.json["files"][0]["text"]
        needed = re.search(r"needs C\+\+17: (.*)", text)
        flags = needed.group(1).replace("; g++ also:", "").split() if needed else ["-O3", "-std=c++17"]
        self.library = compiled(text, folder / name, flags)
        self.seconds = cpu_seconds() - begin
        entries = re.findall(r'extern "C" (?:int|void) (\w+)\(([^)]*)\) {', text)
        self.entry, self.parameters = next((e, names_of(p)) for e, p in reversed(entries) if not e.endswith("_pack"))
        self.pack = next(((e, names_of(p)) for e, p in entries if e.endswith("_pack")), None)


def names_of(parameters):
    return [p.split()[-1] for p in parameters.split(",")]


def compiled(text, path, flags):
    source = path.with_suffix(".cpp")
    source.write_text(text)
    subprocess.run(["g++", *flags, "-shared", "-fPIC", str(source), "-o", str(path.with_suffix(".so"))], check=True)
    return ctypes.CDLL(str(path.with_suffix(".so")))


def tensors_of(text, sizes):
    """Elements and type by name."""
    numbers = {n: int(v) for n, v in re.findall(r"(\w+): (\d+)[,}]", text.split("tensors:")[0])}
    known = {**numbers, **sizes}
    found = {}
    for name, shape, dtype in re.findall(r"(\w+): {shape: \[([^\]]*)\](?:, (?:outside: 0|dtype: (\w+)))?", text):
        count = math.prod(known[e.strip()] if not e.strip().isdigit() else int(e) for e in shape.split(","))
        found[name] = (count, dtype or "f32")
    return found


def values(count, dtype, draw):
    """Small numbers; a pattern of them repeats."""
    if dtype in ("u8", "s8"):
        pattern = bytes(draw.randrange(0, 16) for _ in range(997))
    elif dtype == "bf16":
        pattern = b"".join(struct.pack("<f", draw.uniform(-1, 1))[2:] for _ in range(997))
    else:
        pattern = b"".join(struct.pack("<f", draw.uniform(-1, 1)) for _ in range(997))
    length = count * BYTES[dtype]
    return ctypes.create_string_buffer((pattern * (length // len(pattern) + 1))[:length], length + 64)


class Call:
    """A program with arrays of one size."""

    def __init__(self, program, text, sizes, timer, draw):
        self.timer, self.program = timer, program
        tensors = tensors_of(text, sizes)
        self.arrays = {name: values(*kind, draw) for name, kind in tensors.items()}
        for name in program.parameters:
            if name not in self.arrays and name not in sizes:  # a copy that is packed ahead of time
                self.arrays[name] = ctypes.create_string_buffer(8 * max(c for c, _ in tensors.values()) + (1 << 20))
        self.sizes = [sizes[name] for name in program.parameters if name in sizes]
        if program.pack:
            getattr(program.library, program.pack[0])(*[self.arrays[name] for name in program.pack[1]])

    def time(self, times):
        pointers = [ctypes.cast(self.arrays[n], ctypes.c_void_p) for n in self.program.parameters if n in self.arrays]
        entry = ctypes.cast(getattr(self.program.library, self.program.entry), ctypes.c_void_p)
        return self.timer(entry, (ctypes.c_void_p * len(pointers))(*pointers), len(pointers),
                          (ctypes.c_long * max(len(self.sizes), 1))(*self.sizes), len(self.sizes), times) / times


def alike(one, other, text, sizes):
    """The last tensor of both."""
    name, (count, dtype) = list(tensors_of(text, sizes).items())[-1]
    format_of = {"f32": "f", "s32": "i"}[dtype]
    a, b = (struct.unpack(f"<{count}{format_of}", call.arrays[name].raw[:count * 4]) for call in (one, other))
    return all(abs(x - y) <= 1e-3 * (1 + abs(y)) for x, y in zip(a, b))


def measure(arguments, name, text, ranges, draw, timer):
    good, ratios, static_seconds = True, [], []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        kernel = folder / "kernel.yaml"
        kernel.write_text(text)
        dynamic = Program(arguments, str(kernel), folder, "dynamic", "")
        for n in range(arguments.sizes):
            sizes = {size: draw.randint(*both) for size, both in ranges.items()}
            shown = ",".join(f"{size}={value}" for size, value in sizes.items())
            static = Program(arguments, str(kernel), folder, f"static{n}", shown)
            static_seconds.append(static.seconds)
            seed = draw.randrange(10**6)
            one = Call(dynamic, text, sizes, timer, random.Random(seed))
            other = Call(static, text, sizes, timer, random.Random(seed))
            times = max(1, int(1e-3 / max(other.time(1), 1e-8)))
            pairs = [(one.time(times), other.time(times)) for _ in range(arguments.rounds)]
            seconds, at_size = (min(column) for column in zip(*pairs))
            right = alike(one, other, text, sizes)
            good = good and right
            ratios.append(seconds / at_size)
            print(f"  {shown}: {seconds:.3g} s, static {at_size:.3g} s, {ratios[-1]:.3f}{'' if right else ' DIFFERS'}",
                  flush=True)
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    compile_ratio = dynamic.seconds / (sum(static_seconds) / len(static_seconds))
    row = (f"| {name} | {mean:.3f} | {max(ratios):.3f} | {len(ratios)} | {len(dynamic.json['versions'])} | "
           f"{dynamic.json['bodies']} | {compile_ratio:.1f} |")
    print(row, flush=True)
    return good, row


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--isamap", required=True)
    parser.add_argument("--target", default="x86_avx512")
    parser.add_argument("--sizes", type=int, default=8, help="sizes drawn for each kernel")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--rounds", type=int, default=25, help="of calls for at least 1 ms, alternating")
    parser.add_argument("--evaluations", type=int, default=0, help="of each search; 0: as many as `run` takes")
    parser.add_argument("--family", nargs="*", default=[], help="kernels whose names contain one of these")
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}, {arguments.target}")
    draw = random.Random(arguments.seed)
    good, rows = True, []
    with tempfile.TemporaryDirectory() as folder:
        timer = compiled(CALLS, pathlib.Path(folder) / "calls", ["-O2"]).time_calls
        timer.restype = ctypes.c_double
        timer.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_long, ctypes.c_void_p, ctypes.c_long,
                          ctypes.c_long]
        for name, text, ranges, *machine in CASES:
            arguments.machine = machine[0] if machine and arguments.target == "x86_avx512" else arguments.target
            if not arguments.family or any(word in name for word in arguments.family):
                right, row = measure(arguments, name, text, ranges, draw, timer)
                good, rows = good and right, rows + [row]
    print("| kernel | mean | worst | sizes | versions | blocks | compile time |\n|---|---|---|---|---|---|---|")
    print("\n".join(rows))
    sys.exit(0 if good else 1)


main()
