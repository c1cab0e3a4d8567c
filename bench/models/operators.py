# SPDX-License-Identifier: Apache-2.0
"""Single operators against ONNX Runtime (`./dev bench models --family operators`, docs/models.md).

A model of one operator each (some of two to four nodes, as Attention), of three sizes: `small` is a call, `l2` fits the
second cache, `memory` none. Ours and the peer run interleaved in one process pinned to one processor, one thread each;
ratio is ONNX Runtime's shortest time over ours. Outputs are compared; sums of bytes by ONNX Runtime saturate on machines
without dot products of bytes, and it multiplies 4-bit weights by bytes, so there it is not equal.

  ./dev bench models --family operators --target x86_avx2 --sizes l2 --only TopK50,Tile
"""
import argparse
import json
import os
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper, numpy_helper

import bench_models

RANDOM = np.random.default_rng(3)
SIZES = {"small": (32, 64), "l2": (128, 512), "memory": (2048, 1024)}
SMALLER = {"MatMul": (256, 1024), "Gemm_t": (256, 1024), "MatMulInteger": (256, 1024), "MatMul_two": (512, 512),
           "Conv3": (1024, 256), "Conv3s2": (1024, 256)}  # of `memory`
ROWS = {"small": (64, 64), "l2": (256, 256), "memory": (2048, 2048)}  # of a row times a matrix
LARGE, UNEQUAL = 1e-3, ("MatMulInteger", "MatMul_int4", "MatMulNBits")


def real(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def index(*values):
    return np.array(values, np.int64)


class Graph:
    """Nodes, inputs (name: shape, or shape and type) and constants (name: array or TensorProto) of a model."""

    def __init__(self, nodes, inputs, constants=None):
        self.nodes, self.inputs, self.constants = nodes, inputs, constants or {}


def node(op, inputs="x", outputs="y", **attributes):
    return helper.make_node(op, inputs.split(","), outputs.split(","), **attributes)


def unary(op, **attributes):
    return lambda n, m: Graph([node(op, **attributes)], {"x": [n, m]})


def binary(op, other=lambda n, m: [n, m], **attributes):
    return lambda n, m: Graph([node(op, "x,z", **attributes)], {"x": [n, m], "z": other(n, m)})


def constant(op, names, values, outputs="y", **attributes):
    """An operator whose operands but the first are the constants values(n, m)."""
    return lambda n, m: Graph([node(op, "x," + names, outputs, **attributes)], {"x": [n, m]},
                              dict(zip([k for k in names.split(",") if k], values(n, m))))


def image(n, m):
    return 32, max(8, int((n * m / 32) ** 0.5))


def on_image(op, names="", values=lambda c, s: [], half=False, **attributes):
    """An operator of [1, c, s, s]."""
    def make(n, m):
        c, s = image(n, m)
        s = max(4, s // 2) if half else s
        made = dict(zip([k for k in names.split(",") if k], values(c, s)))
        return Graph([node(op, "x" + ("," + names if names else ""), **attributes)], {"x": [1, c, s, s]}, made)
    return make


def convolution(k, stride=1, depthwise=False):
    def make(n, m):
        c, s = image(n, m)
        attributes = {"kernel_shape": [k, k], "strides": [stride] * 2, "pads": [k // 2] * 4}
        return Graph([node("Conv", "x,w", group=c if depthwise else 1, **attributes)], {"x": [1, c, s, s]},
                     {"w": real(c, 1 if depthwise else c, k, k)})
    return make


def pool(op, k, stride):
    return on_image(op, kernel_shape=[k, k], strides=[stride] * 2, pads=[k // 2 if k % 2 else 0] * 4)


def per_channel(op, count, **attributes):
    names = ["g", "b", "u", "v"][:count]
    return on_image(op, ",".join(names), lambda c, s: [0.5 + np.abs(real(c)) for _ in names], **attributes)


def resize(mode):
    return lambda n, m: Graph([node("Resize", "x,,s", mode=mode)], {"x": [1, *image(n, m), image(n, m)[1]]},
                              {"s": np.array([1, 1, 2, 2], np.float32)})


def recurrent(op, gates):
    def make(n, m):
        h = 64 if n * m < 100000 else 256
        steps = min(64, max(4, n * m // (64 * h)))
        weights = {k: real(1, gates * h, h) / 10 for k in ("w", "r")}
        return Graph([node(op, "x,w,r", hidden_size=h)], {"x": [steps, 1, h]}, weights)
    return make


def attention(n, m):
    s = max(16, min(512, n * m // 512))
    nodes = [node("Transpose", "k", "kt", perm=[0, 2, 1]), node("MatMul", "q,kt", "s"), node("Softmax", "s", "p"),
             node("MatMul", "p,v")]
    return Graph(nodes, {name: [8, s, 64] for name in "qkv"})


def rotary(n, m):
    s = max(8, n * m // 512)
    return Graph([node("RotaryEmbedding", "x,c,s")], {"x": [1, 8, s, 64]}, {"c": real(1, s, 32), "s": real(1, s, 32)})


def four_bits(n, m):
    nodes = [node("DequantizeLinear", "w,s", "wf", axis=0, block_size=32), node("MatMul", "x,wf")]
    weights = helper.make_tensor("w", T.INT4, [n, m], RANDOM.integers(-8, 8, n * m).tolist())
    return Graph(nodes, {"x": [1, n]}, {"w": weights, "s": np.abs(real(n // 32, m)) / 8})


def packed_four_bits(n, m):
    made = helper.make_node("MatMulNBits", ["x", "w", "s"], ["y"], domain="com.microsoft", K=n, N=m, bits=4,
                            block_size=32)
    packed = RANDOM.integers(0, 256, (m, n // 32, 16)).astype(np.uint8)
    return Graph([made], {"x": [1, n]}, {"w": packed, "s": np.abs(real(m * (n // 32))) / 8})


def of_elements():
    ops = {op: unary(op) for op in (
        "Abs Neg Exp Log Sqrt Tanh Sigmoid Erf Relu LeakyRelu Elu HardSwish HardSigmoid Softplus Mish Gelu Sin Cos Floor "
        "Round Reciprocal Sign Selu Softsign Atan Identity").split()}
    ops |= {op: binary(op) for op in "Add Mul Div Sub Max Min Greater Equal PRelu".split()}
    ops |= {"Mod": binary("Mod", fmod=1), "Add_row": binary("Add", lambda n, m: [m]),
            "Mul_column": binary("Mul", lambda n, m: [n, 1]),
            "Pow2": constant("Pow", "a", lambda n, m: [np.float32(2)]),
            "Clip": constant("Clip", "a,b", lambda n, m: [np.float32(-0.5), np.float32(0.5)]),
            "Where": lambda n, m: Graph([node("Greater", "x,z", "c"), node("Where", "c,x,z")],
                                        {"x": [n, m], "z": [n, m]})}
    ops |= {"Cast_" + name: unary("Cast", to=to) for name, to in (("f16", T.FLOAT16), ("s32", T.INT32),
                                                                  ("s64", T.INT64))}
    ops["Quantize"] = constant("QuantizeLinear", "s,z", lambda n, m: [np.float32(0.02), np.uint8(128)])
    ops["Dequantize"] = lambda n, m: Graph([node("DequantizeLinear", "x,s,z")], {"x": ([n, m], T.UINT8)},
                                           {"s": np.float32(0.02), "z": np.uint8(128)})
    ops["DynamicQuantize"] = lambda n, m: Graph([node("DynamicQuantizeLinear", "x", "y,s,z")], {"x": [n, m]})
    return ops


def of_rows():
    ops = {}
    for op in "ReduceSum ReduceMax ReduceMean ReduceProd ReduceL2 ReduceLogSumExp ReduceMin".split():
        ops[op + "_row"] = constant(op, "a", lambda n, m: [index(1)])
        ops[op + "_column"] = constant(op, "a", lambda n, m: [index(0)])
    for op in ("ReduceSum", "ReduceMax"):
        ops[op + "_all"] = unary(op)
    ops |= {"ArgMax_row": unary("ArgMax", axis=1), "ArgMax_column": unary("ArgMax", axis=0)}
    for k, axis in ((5, 1), (1, 1), (50, 1), (5, 0)):
        ops[f"TopK{k}" + ("" if axis else "_axis0")] = constant("TopK", "k", lambda n, m, k=k: [index(k)], "y,i",
                                                               axis=axis)
    ops |= {"CumSum0": constant("CumSum", "a", lambda n, m: [np.array(0)]),
            "CumSum1": constant("CumSum", "a", lambda n, m: [np.array(1)]),
            "CumSumRev": constant("CumSum", "a", lambda n, m: [np.array(0)], reverse=1, exclusive=1),
            "Softmax": unary("Softmax"), "Softmax0": unary("Softmax", axis=0), "LogSoftmax": unary("LogSoftmax"),
            "Hardmax": unary("Hardmax"), "LpNorm": unary("LpNormalization"),
            "MVN": unary("MeanVarianceNormalization", axes=[1]),
            "LayerNorm": constant("LayerNormalization", "g,c", lambda n, m: [real(m), real(m)]),
            "RMSNorm": constant("RMSNormalization", "g", lambda n, m: [real(m)]),
            "BatchNorm": per_channel("BatchNormalization", 4), "InstanceNorm": per_channel("InstanceNormalization", 2),
            "GroupNorm": per_channel("GroupNormalization", 2, num_groups=8), "LRN": on_image("LRN", size=5)}
    return ops


def of_places():
    ops = {"Transpose": unary("Transpose", perm=[1, 0]), "Concat0": binary("Concat", axis=0),
           "Concat1": binary("Concat", axis=1), "Trilu": unary("Trilu"),
           "Slice2": constant("Slice", "a,e,d,t", lambda n, m: [index(1, 0), index(n, m), index(0, 1), index(1, 2)]),
           "Pad": constant("Pad", "p", lambda n, m: [index(1, 1, 1, 1)]),
           "Gather_const": constant("Gather", "i", lambda n, m: [RANDOM.integers(0, n, n)]),
           "GatherElements": constant("GatherElements", "i", lambda n, m: [RANDOM.integers(0, m, (n, m))], axis=1),
           "Tile": lambda n, m: Graph([node("Tile", "x,s")], {"x": [n, m // 4]}, {"s": index(1, 4)}),
           "Expand": lambda n, m: Graph([node("Expand", "x,s")], {"x": [n, 1]}, {"s": index(n, m)}),
           "DepthToSpace": on_image("DepthToSpace", blocksize=2)}
    ops["Transpose102"] = lambda n, m: Graph([node("Transpose", perm=[1, 0, 2])], {"x": [n // 8, 8, m]})
    ops["Split"] = lambda n, m: Graph([node("Split", "x", "y,z", axis=1, num_outputs=2)], {"x": [n, m]})
    ops["Gather_table"] = lambda n, m: Graph([node("Gather", "t,i")], {"i": ([n], T.INT64)}, {"t": real(1000, m)})
    ops["OneHot"] = lambda n, m: Graph([node("OneHot", "i,d,v")], {"i": ([n], T.INT64)},
                                       {"d": np.array(m), "v": np.array([0, 1], np.float32)})
    ops["ScatterND"] = lambda n, m: Graph([node("ScatterND", "x,i,u")], {"x": [n, m], "u": [n // 2, m]},
                                          {"i": RANDOM.permutation(n)[:n // 2].reshape(-1, 1)})
    return ops


def of_products():
    ops = {"MatMul": constant("MatMul", "w", lambda n, m: [real(m, m)]),
           "MatMul_row": lambda n, m: Graph([node("MatMul", "x,w")], {"x": [1, n]}, {"w": real(n, m)}),
           "MatMul_two": binary("MatMul", lambda n, m: [m, n]),
           "Gemm_t": constant("Gemm", "w,c", lambda n, m: [real(m, m), real(m)], transB=1),
           "Einsum_dot": binary("Einsum", equation="ij,ij->i"), "MatMul_int4": four_bits,
           "MatMulNBits": packed_four_bits}
    ops["MatMulInteger"] = lambda n, m: Graph([node("MatMulInteger", "x,w")], {"x": ([n, m], T.UINT8)},
                                              {"w": RANDOM.integers(-100, 100, (m, m)).astype(np.int8)})
    ops |= {"MaxPool3s2": pool("MaxPool", 3, 2), "MaxPool2s2": pool("MaxPool", 2, 2),
            "AvgPool3s1": pool("AveragePool", 3, 1), "GlobalAvg": on_image("GlobalAveragePool"),
            "GlobalMax": on_image("GlobalMaxPool"), "Conv3": convolution(3), "Conv1": convolution(1),
            "Conv3s2": convolution(3, 2), "Depthwise3": convolution(3, 1, True),
            "Depthwise5s2": convolution(5, 2, True),
            "ConvTranspose2": on_image("ConvTranspose", "w", lambda c, s: [real(c, c, 2, 2)], half=True,
                                       kernel_shape=[2, 2], strides=[2, 2])}
    ops["Conv1d"] = lambda n, m: Graph([node("Conv", "x,w", kernel_shape=[3], pads=[1, 1])],
                                       {"x": [1, 64, max(16, n * m // 64)]}, {"w": real(64, 64, 3)})
    ops |= {"Resize_" + mode: resize(mode) for mode in ("nearest", "linear", "cubic")}
    ops |= {op: recurrent(op, gates) for op, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1))}
    return ops | {"Attention": attention, "Rope": rotary}


OPERATORS = of_elements() | of_rows() | of_places() | of_products()


def build(name, size, folder):
    """The path of the model of one operator."""
    sizes = ROWS[size] if name in ("MatMul_row", "MatMul_int4", "MatMulNBits") else SIZES[size]
    graph = OPERATORS[name](*(SMALLER.get(name, sizes) if size == "memory" else sizes))
    inputs = [helper.make_tensor_value_info(k, *((v[1], v[0]) if isinstance(v, tuple) else (T.FLOAT, v)))
              for k, v in graph.inputs.items()]
    constants = [v if isinstance(v, onnx.TensorProto) else numpy_helper.from_array(np.asarray(v), k)
                 for k, v in graph.constants.items()]
    of_type = T.FLOAT if graph.nodes[-1].domain else T.UNDEFINED  # of operators that the onnx package cannot infer
    outputs = [helper.make_tensor_value_info(o, of_type, [1, sizes[1]]) if of_type
               else helper.make_empty_tensor_value_info(o) for o in graph.nodes[-1].output]
    opsets = [helper.make_opsetid("", 23 if name in ("RMSNorm", "Rope") else 21)]
    opsets += [helper.make_opsetid("com.microsoft", 1)] if of_type else []
    model = helper.make_model(helper.make_graph(graph.nodes, "g", inputs, outputs, constants), opset_imports=opsets,
                              ir_version=10)
    path = os.path.join(folder, f"{name}_{size}.onnx")
    onnx.save(onnx.shape_inference.infer_shapes(model), path)
    return path


def inputs_of(name, path):
    """Positive where the function asks for it, and whole numbers of more than one bit."""
    def drawn(value):
        if value.dtype == np.int64:
            return RANDOM.integers(0, 60, value.shape)
        if value.dtype == np.uint8:
            return RANDOM.integers(0, 255, value.shape).astype(np.uint8)
        return np.abs(value) + np.float32(0.1) if name in ("Log", "Sqrt") else value
    return [drawn(value) for value in bench_models.inputs_of(path)]


def difference(ours, theirs):
    """The largest of all outputs, of the largest value."""
    def of(a, b):
        a, b = a.astype(np.float64), np.asarray(b, np.float64)
        if a.shape != b.shape or (np.isnan(a) != np.isnan(b)).any():
            return float("inf")
        return float(np.nanmax(np.abs(a - b)) / max(1e-30, np.nanmax(np.abs(b)))) if b.size else 0.0
    return max(of(a, b) for a, b in zip(ours, theirs))


def bench(name, size, options):
    folder = os.path.join(options.out, f"{name}_{size}")
    os.makedirs(folder, exist_ok=True)
    path = build(name, size, folder)
    given = inputs_of(name, path)
    ours = bench_models.Ours(options.isamap, path, options.target, folder, [])
    ours.bind(given)
    candidates = {"ours": ours.run, "onnxruntime": bench_models.onnxruntime_peer(path, given, 1)}
    apart = difference(*[run() for run in candidates.values()])
    samples = bench_models.measure(candidates, options.seconds)
    least = {n: min(s) for n, s in samples.items()}
    return {"operator": name, "size": size, "least": least, "ratio": least["onnxruntime"] / least["ours"],
            "difference": apart, "emit_seconds": ours.emit_seconds, "parts": len(ours.about["part_list"])}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--isamap", required=True)
    parser.add_argument("--root", default=".")
    parser.add_argument("--out", default="build/bench_models/operators")
    parser.add_argument("--target", default="native")
    parser.add_argument("--sizes", default="l2", help="of " + ",".join(SIZES))
    parser.add_argument("--only", default="", help="names of operators: " + ",".join(OPERATORS))
    parser.add_argument("--seconds", type=float, default=0.25, help="of each operator")
    parser.add_argument("--processor", type=int, default=-1)
    options = parser.parse_args()
    if options.processor >= 0:
        os.sched_setaffinity(0, {options.processor})
    os.makedirs(options.out, exist_ok=True)
    ratios, failed = [], 0
    print("| operator | size | ours, us | ONNX Runtime | ratio | difference | parts |\n|---|---|---|---|---|---|---|")
    for size in options.sizes.split(","):
        for name in [n for n in options.only.split(",") if n] or OPERATORS:
            try:
                line = bench(name, size, options)
            except (RuntimeError, subprocess.CalledProcessError, OSError) as problem:
                print(f"{name} {size}: {str(problem).splitlines()[0]}", flush=True)
                failed += 1
                continue
            ours, peer = (1e6 * line["least"][n] for n in ("ours", "onnxruntime"))
            print(f"| {name} | {size} | {ours:.1f} | {peer:.1f} | {line['ratio']:.2f} | {line['difference']:.1e} | "
                  f"{line['parts']} |", flush=True)
            ratios.append(line["ratio"])
            failed += name not in UNEQUAL and not line["difference"] <= LARGE
            with open(os.path.join(options.out, "operators.jsonl"), "a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
    if ratios:
        print(f"geometric mean {bench_models.geometric_mean(ratios):.2f}, worst {min(ratios):.2f}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
