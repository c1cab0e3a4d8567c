# SPDX-License-Identifier: Apache-2.0
"""Programs for all sizes against our own code made for each size (docs/dynamic_sizes.md).

For each kernel: one program with symbolic sizes, and one for each of the sizes, which are drawn from a printed seed, by
kernel, and are none that the kernel calls likely. Both are loaded into this process and called in turns, so that what
else runs on the machine disturbs both; the shortest of the rounds counts. Arrays begin at a cache line, as those of
frameworks do. Prints the ratio by size, and a table: geometric mean and worst ratio, versions, blocks, and the time to
print and compile the one program against that of one size. --peers adds ONNX Runtime's session of the same kernel with
open axes, through its binding of arrays, where it is installed: how many times as long it takes. --model FILE measures
a model over --sizes drawn lengths instead, each also compiled for itself (--dims batch_size=1 states its other sizes).
--lock FILE holds that file and one processor at real-time priority during the calls, so that a machine that others use
stands still for them. Exit code 1: results differ.
"""

import argparse
import contextlib
import ctypes
import fcntl
import json
import math
import os
import pathlib
import random
import re
import resource
import struct
import subprocess
import sys
import tempfile
import time

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
tensors: {I: {shape: [N, 32, H, W], outside: 0}, F: {shape: [64, 32, 3, 3], constant: true}, \
O: {shape: [N, 64, H, W]}}
compute:
  - O[n,k,p,q] += I[n,c,p+r-1,q+s-1] * F[k,c,r,s]
"""
POINTWISE = """kernel: pointwise
dims: {N: {max: 64, likely: 1}, H: {max: 224, likely: 28}, W: {max: 224, likely: 28}}
tensors: {I: {shape: [N, 32, H, W]}, F: {shape: [64, 32], constant: true}, O: {shape: [N, 64, H, W]}}
compute:
  - O[n,k,p,q] += I[n,c,p,q] * F[k,c]
"""
DEPTHWISE = """kernel: depthwise
dims: {N: {max: 64, likely: 1}, H: {max: 224, likely: 28}, W: {max: 224, likely: 28}}
tensors: {I: {shape: [N, H, W, 64], outside: 0}, F: {shape: [3, 3, 64], constant: true}, \
O: {shape: [N, H, W, 64]}}
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

LAYER_NORM = """kernel: layer_norm
dims: {M: {max: 4096, likely: 64}, N: {min: 1, max: 4096, likely: 256}}
tensors: {X: {shape: [M, N]}, G: {shape: [N]}, B: {shape: [N]}, Q: {shape: [1]}, S: {shape: [M]}, \
D: {shape: [M, N]}, V: {shape: [M]}, R: {shape: [M]}, Z: {shape: [M, N]}, Y: {shape: [M, N]}}
compute:
  - S[i] += X[i,j]
  - D[i,j] = X[i,j] - Q[0] * S[i]
  - V[i] += D[i,j] * D[i,j]
  - R[i] = rsqrt(abs(Q[0]) * V[i] + 0.00001)
  - Z[i,j] = D[i,j] * R[i]
  - Y[i,j] = Z[i,j] * G[j] + B[j]
"""

# types of both factors and the sum, machine where it is another one
PRODUCTS = {"f32": ("f32", "f32", "f32"), "bf16": ("bf16", "bf16", "f32", "x86_avx512_bf16"),
            "u8s8": ("u8", "s8", "s32", "x86_avx512_vnni")}


def product_cases(kind, packed):
    """With its rows symbolic, and with all sizes."""
    a, b, c, *machine = PRODUCTS[kind]
    name = f"product {kind} {'packed' if packed else 'plain'}"
    text = [PRODUCT % (*sizes, a, b, ", constant: true" if packed else "", c) for sizes in ((256, 256), (ANY, ANY))]
    return [(f"{name}, M", text[0], {"M": (1, 1000)}, *machine),
            (f"{name}, M N K", text[1], {"M": (1, 400), "N": (1, 400), "K": (1, 400)}, *machine)]


def transposed_case(kind):
    """The same with the second factor transposed."""
    name, text, *rest = product_cases(kind, packed=False)[1]
    return (name + ", B[j,k]", text.replace("[K, N]", "[N, K]").replace("B[k,j]", "B[j,k]"), *rest)


# name, kernel, range of each size, machine where it is another one
CASES = [
    *(case for packed in (True, False) for kind in PRODUCTS for case in product_cases(kind, packed)),
    *(transposed_case(kind) for kind in PRODUCTS),
    ("scores", "kernel: scores\n" + HEAD + "tensors: {Q: {shape: [H, S, D]}, K: {shape: [H, T, D]}, P: {shape: [H, S, "
     "T]}}\ncompute:\n  - P[h,s,t] += Q[h,s,d] * K[h,t,d]\n", {"S": (1, 400), "T": (1, 400)}),
    ("values", "kernel: values\n" + HEAD + "tensors: {P: {shape: [H, S, T]}, V: {shape: [H, T, D]}, O: {shape: [H, S, "
     "D]}}\ncompute:\n  - O[h,s,d] += P[h,s,t] * V[h,t,d]\n", {"S": (1, 400), "T": (1, 400)}),
    ("convolution, N H W", CONVOLUTION, {"N": (1, 3), "H": (3, 60), "W": (3, 60)}),
    ("pointwise, N H W", POINTWISE, {"N": (1, 3), "H": (3, 60), "W": (3, 60)}),
    ("depthwise, N H W", DEPTHWISE, {"N": (1, 3), "H": (3, 60), "W": (3, 60)}),
    ("depthwise of 24 channels, N H W", DEPTHWISE.replace("64]", "24]"), {"N": (1, 3), "H": (3, 60), "W": (3, 60)}),
    ("convolution, N", CONVOLUTION.replace("H: {max: 224, likely: 28}, W: {max: 224, likely: 28}", "H: 28, W: 28"),
     {"N": (1, 5)}),
    ("softmax, M N", SOFTMAX, {"M": (1, 300), "N": (1, 300)}),
    ("layer norm, M N", LAYER_NORM, {"M": (1, 300), "N": (1, 600)}),
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
        begin, clock = cpu_seconds(), time.perf_counter()
        said = subprocess.run(words, capture_output=True, text=True)
        if said.returncode != 0:
            sys.exit(f"{' '.join(words)}\n{said.stderr}")
        self.json = json.loads(said.stdout)
        text = self.json["files"][0]["text"]
        needed = re.search(r"needs C\+\+17: (.*)", text)
        flags = needed.group(1).replace("; g++ also:", "").split() if needed else ["-O3", "-std=c++17"]
        self.library = compiled(text, folder / name, flags)
        self.seconds, self.elapsed = cpu_seconds() - begin, time.perf_counter() - clock
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
    return aligned((pattern * (length // len(pattern) + 1))[:length], length)


def aligned(content, length):
    """An array at a cache line, each at another one of its page."""
    memory = ctypes.create_string_buffer(length + 64 + 8192)
    aligned.last = (aligned.last + 7 * 64) % 4096
    array = (ctypes.c_char * (length + 64)).from_buffer(memory, -ctypes.addressof(memory) % 4096 + aligned.last)
    ctypes.memmove(array, content, len(content))
    return array


aligned.last = 0


class Call:
    """A program with arrays of one size."""

    def __init__(self, program, text, sizes, timer, draw):
        self.timer, self.program = timer, program
        tensors = tensors_of(text, sizes)
        self.arrays = {name: values(*kind, draw) for name, kind in tensors.items()}
        for name in program.parameters:
            if name not in self.arrays and name not in sizes:  # a copy that is packed ahead of time
                self.arrays[name] = aligned(b"", 8 * max(c for c, _ in tensors.values()) + (1 << 20))
        self.sizes = [sizes[name] for name in program.parameters if name in sizes]
        if program.pack:
            getattr(program.library, program.pack[0])(*[self.arrays[name] for name in program.pack[1]])

    def time(self, times):
        pointers = [ctypes.cast(self.arrays[n], ctypes.c_void_p) for n in self.program.parameters if n in self.arrays]
        entry = ctypes.cast(getattr(self.program.library, self.program.entry), ctypes.c_void_p)
        return self.timer(entry, (ctypes.c_void_p * len(pointers))(*pointers), len(pointers),
                          (ctypes.c_long * max(len(self.sizes), 1))(*self.sizes), len(self.sizes), times) / times


class Peer:
    """ONNX Runtime's session of a kernel, with open axes; None: not installed, or it has no such operator."""

    def __init__(self, name, text):
        import onnx
        import onnxruntime
        kind, operator, attributes, shapes, order = PEERS[name]
        inputs = [onnx.helper.make_tensor_value_info(n, getattr(onnx.TensorProto, kind.get(n, "FLOAT")), shape)
                  for n, shape in shapes.items()]
        domain = "com.microsoft" if operator == "FusedMatMul" else ""
        output = onnx.helper.make_tensor_value_info("out", getattr(onnx.TensorProto, kind.get("out", "FLOAT")), None)
        node = onnx.helper.make_node(operator, order, ["out"], domain=domain, **attributes)
        model = onnx.helper.make_model(onnx.helper.make_graph([node], "peer", inputs, [output]), ir_version=10,
                                       opset_imports=[onnx.helper.make_opsetid("", 17),
                                                      onnx.helper.make_opsetid("com.microsoft", 1)])
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(model.SerializeToString(), options)
        self.kind, self.shapes = kind, shapes

    def prepare(self, sizes):
        import numpy
        numbers = {"FLOAT": numpy.float32, "UINT8": numpy.uint8, "INT8": numpy.int8}
        self.binding = self.session.io_binding()
        for name, shape in self.shapes.items():
            shape = [sizes.get(axis, axis) for axis in shape]
            self.binding.bind_cpu_input(name, numpy.ones(shape, numbers[self.kind.get(name, "FLOAT")]))
        self.binding.bind_output("out")
        self.session.run_with_iobinding(self.binding)

    def time(self, times):
        begin = time.perf_counter()
        for _ in range(times):
            self.session.run_with_iobinding(self.binding)
        return (time.perf_counter() - begin) / times


# by case: element types, operator, attributes, inputs with their shapes, inputs of the operator
PEERS = {
    "product f32 plain, M N K": ({}, "MatMul", {}, {"A": ["M", "K"], "B": ["K", "N"]}, ["A", "B"]),
    "product u8s8 plain, M N K": ({"A": "UINT8", "B": "INT8", "out": "INT32"}, "MatMulInteger", {},
                                  {"A": ["M", "K"], "B": ["K", "N"]}, ["A", "B"]),
    "scores": ({}, "FusedMatMul", {"transB": 1}, {"Q": [4, "S", 64], "K": [4, "T", 64]}, ["Q", "K"]),
    "values": ({}, "MatMul", {}, {"P": [4, "S", "T"], "V": [4, "T", 64]}, ["P", "V"]),
    "convolution, N H W": ({}, "Conv", {"pads": [1, 1, 1, 1]}, {"I": ["N", 32, "H", "W"], "F": [64, 32, 3, 3]},
                           ["I", "F"]),
    "convolution, N": ({}, "Conv", {"pads": [1, 1, 1, 1]}, {"I": ["N", 32, 28, 28], "F": [64, 32, 3, 3]}, ["I", "F"]),
    "depthwise, N H W": ({}, "Conv", {"pads": [1, 1, 1, 1], "group": 64}, {"I": ["N", 64, "H", "W"],
                                                                          "F": [64, 1, 3, 3]}, ["I", "F"]),
    "softmax, M N": ({}, "Softmax", {"axis": -1}, {"X": ["M", "N"]}, ["X"]),
    "layer norm, M N": ({}, "LayerNormalization", {"axis": -1}, {"X": ["M", "N"], "G": ["N"], "B": ["N"]},
                        ["X", "G", "B"]),
}


def peer_of(arguments, name, text):
    if not arguments.peers or name not in PEERS:
        return None
    try:
        return Peer(name, text)
    except ImportError as missing:
        print(f"  no ONNX Runtime here: {missing}")
    except Exception as refused:  # an operator that it has not
        print(f"  ONNX Runtime refuses: {str(refused).splitlines()[0]}")
    return None


@contextlib.contextmanager
def machine_held(path):
    """One processor, before everything else; others wait for the file."""
    if not path:
        yield
        return
    all_processors = os.sched_getaffinity(0)
    with open(path, "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        os.sched_setaffinity(0, {max(all_processors)})
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
        try:
            yield
        finally:
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
            os.sched_setaffinity(0, all_processors)


def alike(one, other, text, sizes):
    """The last tensor of both."""
    name, (count, dtype) = list(tensors_of(text, sizes).items())[-1]
    format_of = {"f32": "f", "s32": "i"}[dtype]
    a, b = (struct.unpack(f"<{count}{format_of}", call.arrays[name].raw[:count * 4]) for call in (one, other))
    return all(abs(x - y) <= 1e-3 * (1 + abs(y)) for x, y in zip(a, b))


def geometric_mean(numbers):
    return math.exp(sum(map(math.log, numbers)) / len(numbers))


def drawn(text, ranges, draw):
    """None of them is one that the kernel calls likely."""
    likely = {name: int(value) for name, value in re.findall(r"(\w+): {[^}]*likely: (\d+)", text)}
    return {size: draw.choice([n for n in range(low, high + 1) if n != likely.get(size)])
            for size, (low, high) in ranges.items()}


def measure(arguments, name, text, ranges, draw, timer):
    good, ratios, peer_ratios, statics = True, [], [], []
    peer = peer_of(arguments, name, text)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        kernel = folder / "kernel.yaml"
        kernel.write_text(text)
        dynamic = Program(arguments, str(kernel), folder, "dynamic", "")
        for n in range(arguments.sizes):
            sizes = drawn(text, ranges, draw)
            shown = ",".join(f"{size}={value}" for size, value in sizes.items())
            static = Program(arguments, str(kernel), folder, f"static{n}", shown)
            statics.append(static)
            seed = draw.randrange(10**6)
            one = Call(dynamic, text, sizes, timer, random.Random(seed))
            other = Call(static, text, sizes, timer, random.Random(seed))
            if peer:
                peer.prepare(sizes)
            times = max(1, int(arguments.milliseconds * 1e-3 / max(other.time(1), 1e-8)))
            calls = [one, other] + [peer] * bool(peer)
            with machine_held(arguments.lock):
                rounds = [[call.time(times) for call in calls] for _ in range(arguments.rounds)]
            seconds, at_size, *theirs = (min(column) for column in zip(*rounds))
            right = alike(one, other, text, sizes)
            good = good and right
            ratios.append(seconds / at_size)
            peer_ratios += [at / seconds for at in theirs]
            print(f"  {shown}: {seconds:.3g} s, static {at_size:.3g} s, {ratios[-1]:.3f}"
                  f"{f', ONNX Runtime {peer_ratios[-1]:.2f}' if peer else ''}{'' if right else ' DIFFERS'}", flush=True)
    mean = geometric_mean(ratios)
    theirs = f"{geometric_mean(peer_ratios):.2f} ({min(peer_ratios):.2f})" if peer_ratios else "-"
    compile_ratio = len(statics) * dynamic.seconds / sum(static.seconds for static in statics)
    elapsed_ratio = len(statics) * dynamic.elapsed / sum(static.elapsed for static in statics)
    row = (f"| {name} | {mean:.3f} | {max(ratios):.3f} | {len(ratios)} | {len(dynamic.json['versions'])} | "
           f"{dynamic.json['bodies']} | {compile_ratio:.1f} | {elapsed_ratio:.1f} | {theirs} |")
    print(row, flush=True)
    return good, row


def model_seconds(arguments, sizes):
    """Of each run: the model with these sizes, a list of them in one compilation."""
    words = [arguments.isamap, "run", arguments.model, "--target", arguments.target, "--json", "--sizes", sizes]
    said = subprocess.run(words + (["--dims", arguments.dims] if arguments.dims else []), capture_output=True, text=True)
    if said.returncode != 0:
        sys.exit(f"{' '.join(words)}\n{said.stderr}")
    answer = json.loads(said.stdout)
    return [run["seconds"] for run in answer.get("runs", [answer])]


def peer_session(arguments):
    """ONNX Runtime on the model with open axes, by the length: seconds of a call."""
    import numpy
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(arguments.model, options)
    numbers = {"tensor(int64)": numpy.int64, "tensor(float)": numpy.float32, "tensor(int32)": numpy.int32}

    def seconds(length):
        feeds = {}
        for port in session.get_inputs():
            shape = [axis if isinstance(axis, int) else length if axis == arguments.size else 1 for axis in port.shape]
            feeds[port.name] = numpy.ones(shape, numbers[port.type])
        shortest = math.inf
        for _ in range(arguments.rounds):
            begin = time.perf_counter()
            session.run(None, feeds)
            shortest = min(shortest, time.perf_counter() - begin)
        return shortest

    return seconds


def measure_model(arguments, draw):
    """A model over drawn lengths: one program for all of them against a program for each."""
    lengths = sorted(draw.sample(range(1, 513), arguments.sizes))
    at_all = model_seconds(arguments, f"{arguments.size}=" + ",".join(map(str, lengths)))
    peer = peer_session(arguments) if arguments.peers else None
    ratios, peer_ratios = [], []
    for length, seconds in zip(lengths, at_all):
        at_size, = model_seconds(arguments, f"{arguments.size}={length}")
        ratios.append(seconds / at_size)
        if peer:
            peer_ratios.append(peer(length) / seconds)
        print(f"  {arguments.size}={length}: {seconds:.3g} s, static {at_size:.3g} s, {ratios[-1]:.3f}"
              f"{f', ONNX Runtime {peer_ratios[-1]:.2f}' if peer else ''}", flush=True)
    theirs = f", ONNX Runtime {geometric_mean(peer_ratios):.2f} ({min(peer_ratios):.2f})" if peer else ""
    print(f"{pathlib.Path(arguments.model).stem}: {len(ratios)} lengths, geometric mean {geometric_mean(ratios):.3f}, "
          f"worst {max(ratios):.3f}{theirs}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--isamap", required=True)
    parser.add_argument("--target", default="x86_avx512")
    parser.add_argument("--sizes", type=int, default=30, help="sizes drawn for each kernel")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--rounds", type=int, default=25, help="of calls for some time, alternating")
    parser.add_argument("--milliseconds", type=float, default=1, help="of the calls of a round")
    parser.add_argument("--peers", action="store_true", help="ONNX Runtime with open axes, too")
    parser.add_argument("--lock", help="a file that measurements on this machine hold; takes real-time priority")
    parser.add_argument("--evaluations", type=int, default=0, help="of each search; 0: as many as `run` takes")
    parser.add_argument("--family", nargs="*", default=[], help="kernels whose names contain one of these")
    parser.add_argument("--model", help="an ONNX model over drawn lengths in place of the kernels")
    parser.add_argument("--size", default="sequence_length", help="the free size of the model that is its length")
    parser.add_argument("--dims", default="", help="of the model: its other sizes, and the range of the length")
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}, {arguments.target}")
    if arguments.model:
        return measure_model(arguments, random.Random(f"{arguments.seed} model"))
    good, rows = True, []
    with tempfile.TemporaryDirectory() as folder:
        timer = compiled(CALLS, pathlib.Path(folder) / "calls", ["-O2"]).time_calls
        timer.restype = ctypes.c_double
        timer.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_long, ctypes.c_void_p, ctypes.c_long,
                          ctypes.c_long]
        for name, text, ranges, *machine in CASES:
            arguments.machine = machine[0] if machine and arguments.target == "x86_avx512" else arguments.target
            if not arguments.family or any(word in name for word in arguments.family):
                draw = random.Random(f"{arguments.seed} {name}")  # the same sizes, whichever families are measured
                right, row = measure(arguments, name, text, ranges, draw, timer)
                good, rows = good and right, rows + [row]
    print("| kernel | mean | worst | sizes | versions | blocks | compile time | elapsed | ONNX Runtime (worst) |")
    print("|---" * 9 + "|")
    print("\n".join(rows))
    sys.exit(0 if good else 1)


main()
