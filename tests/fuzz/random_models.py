#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random ONNX models against onnxruntime: a model for each seed, run by isamap on the same inputs, outputs compared.

Models have 2 to 12 nodes of the operators in OPERATORS, one or two inputs of 1 to 5 axes, with sizes of 1 and sizes that
no tile divides, and every value that no node reads is an output. Same seed, same model.

Needs numpy, onnx and onnxruntime. Options behind `--` are those of `isamap run`; exit code 1 where a model is wrong, is
refused or ends without words. Its folder is kept then.

  tests/fuzz/random_models.py --isamap build/isamap --seed 0 --count 20 -- --target x86_avx2 --threads 2
"""

import argparse
import pathlib
import random
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

OPSET = 17
SHAPES = [[1, 3, 8, 8], [2, 4, 7, 9], [1, 16, 14, 14], [2, 5, 8], [1, 17, 16], [3, 12, 32], [6, 10], [33, 17], [4],
          [1, 64], [1, 1, 1, 1], [1, 3, 31, 17], [2, 3, 4, 5, 6], [1, 32, 6, 6], [1, 128, 7, 7]]
UNARY = ["Relu", "Sigmoid", "Tanh", "Abs", "Neg", "Exp", "Erf", "Softplus", "HardSwish", "Elu", "LeakyRelu", "Sqrt",
         "Reciprocal", "Identity", "Log"]
REDUCTIONS = ["ReduceMean", "ReduceMax", "ReduceMin", "ReduceSumSquare", "ReduceL1", "ReduceL2", "ReduceLogSumExp"]
MOST_ELEMENTS, LARGEST = 50000, 1e4


class Graph:
    """Nodes, and the value of each tensor as onnxruntime computes it, one node at a time."""

    def __init__(self, seed):
        self.draw, self.numbers = random.Random(seed), np.random.default_rng(seed)
        self.nodes, self.values, self.constants, self.inputs = [], {}, {}, {}
        for _ in range(self.draw.choice([1, 1, 2])):
            shape = self.draw.choice(SHAPES)
            self.inputs[f"x{len(self.inputs)}"] = self.floats(shape)
        self.values.update(self.inputs)

    def floats(self, shape):
        return self.numbers.uniform(-1, 1, shape).astype(np.float32)

    def constant(self, value):
        name = f"c{len(self.constants)}"
        self.constants[name] = np.asarray(value)
        return name

    def weights(self, shape, terms):
        """Of sums of so many terms, which stay near 1."""
        return self.constant(self.floats(shape) / np.float32(max(terms, 1) ** 0.5))

    def any_value(self, fits=lambda value: True):
        """Mostly the newest, so that graphs are deep."""
        names = [name for name, value in self.values.items() if fits(value)]
        return (names[-1] if self.draw.random() < 0.6 else self.draw.choice(names)) if names else None

    def model(self, nodes, inputs, outputs):
        def ports(values):
            return [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
                    for n, v in values.items()]
        read = {name for node in nodes for name in node.input}
        weights = [numpy_helper.from_array(v, n) for n, v in self.constants.items() if n in read]
        graph = helper.make_graph(nodes, "random", ports(inputs), ports(outputs), weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)

    def add(self, operator, inputs, outputs=1, **attributes):
        """The node's first result; nothing: onnxruntime refuses it, or its values are too many or too large."""
        node = helper.make_node(operator, inputs, [f"t{len(self.values) + n}" for n in range(outputs)], **attributes)
        model = self.model([node], {n: self.values[n] for n in inputs if n in self.values}, {})
        model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in node.output)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.log_severity_level = 1, 4
        try:
            session = onnxruntime.InferenceSession(onnx.shape_inference.infer_shapes(model).SerializeToString(), options,
                                                   providers=["CPUExecutionProvider"])
            found = session.run(None, {port.name: self.values[port.name] for port in session.get_inputs()})
        except Exception:  # its exceptions have no common class of their own
            return None
        if any(v.size > MOST_ELEMENTS or v.size == 0 or not np.isfinite(v).all() or abs(v).max() > LARGEST
               for v in found):
            return None
        self.nodes.append(node)
        self.values.update(zip(node.output, found))
        return node.output[0]

    def outputs(self):
        read = {name for node in self.nodes for name in node.input}
        return {n: self.values[n] for node in self.nodes for n in node.output if n not in read}


def unary(g, x, shape):
    g.add(g.draw.choice(UNARY), [x])


def binary(g, x, shape):
    y = g.any_value()
    if g.draw.random() < 0.5:  # a constant that is broadcast
        y = g.constant(g.floats([d if g.draw.random() < 0.6 else 1 for d in shape][g.draw.randrange(len(shape) + 1):]))
    g.add(g.draw.choice(["Add", "Sub", "Mul", "Div", "Max", "Min"]), g.draw.choice([[x, y], [y, x]]))


def convolution(g, x, shape):
    if len(shape) not in (3, 4, 5):
        return
    groups = g.draw.choice([1, 1, shape[1]])
    filters = groups * g.draw.choice([1, 2, 3]) if groups > 1 else g.draw.choice([1, 3, 16, 17, 32])
    size = [g.draw.choice([1, 2, 3, 3, 5]) for _ in shape[2:]]
    inputs = [x, g.weights([filters, shape[1] // groups] + size, shape[1] // groups * int(np.prod(size)))]
    if g.draw.random() < 0.5:
        inputs.append(g.constant(g.floats([filters])))
    g.add("Conv", inputs, group=groups, strides=[g.draw.choice([1, 1, 2, 3]) for _ in size],
          dilations=[g.draw.choice([1, 1, 2]) for _ in size], pads=[g.draw.choice([0, 1, 1, 2]) for _ in size * 2])


def pool(g, x, shape):
    if len(shape) not in (3, 4):
        return
    if g.draw.random() < 0.3:
        g.add("GlobalAveragePool", [x])
        return
    size = [min(g.draw.choice([1, 2, 3]), d) for d in shape[2:]]  # onnxruntime has filters beyond the input; we refuse
    g.add(g.draw.choice(["MaxPool", "AveragePool"]), [x], kernel_shape=size,
          strides=[g.draw.choice([1, 2, 3]) for _ in size],
          pads=[min(g.draw.choice([0, 1]), s - 1) for s in size * 2])


def product(g, x, shape):
    depth, columns = shape[-1], g.draw.choice([1, 2, 7, 16, 33])
    y = g.any_value(lambda v: v.ndim >= 2 and v.shape[-2] == depth)
    if y is None or g.draw.random() < 0.7:
        y = g.weights([d if g.draw.random() < 0.3 else 1 for d in shape[:-2]] + [depth, columns], depth)
    g.add("MatMul", [x, y])


def attention(g, x, shape):
    if len(shape) != 3 or shape[2] % 2 != 0:
        return
    batch, rows, depth = shape

    def heads(order):
        y = g.add("MatMul", [x, g.weights([depth, depth], depth)])
        y = y and g.add("Reshape", [y, g.constant(np.array([batch, rows, 2, depth // 2]))])
        return y and g.add("Transpose", [y], perm=order)
    query, key, value = heads([0, 2, 1, 3]), heads([0, 2, 3, 1]), heads([0, 2, 1, 3])
    scores = query and key and value and g.add("MatMul", [query, key])
    weights = scores and g.add("Softmax", [scores], axis=-1)
    mixed = weights and g.add("MatMul", [weights, value])
    mixed = mixed and g.add("Transpose", [mixed], perm=[0, 2, 1, 3])
    if mixed:
        g.add("Reshape", [mixed, g.constant(np.array(shape))])


def softmax(g, x, shape):
    g.add(g.draw.choice(["Softmax", "LogSoftmax"]), [x], axis=g.draw.randrange(len(shape)))


def norm(g, x, shape):
    axis = g.draw.randrange(len(shape))
    if g.draw.random() < 0.6:
        g.add("LayerNormalization", [x, g.constant(g.floats(shape[axis:])), g.constant(g.floats(shape[axis:]))],
              axis=axis)
    elif len(shape) >= 2:
        scales = [g.constant(g.floats([shape[1]])) for _ in range(3)]
        g.add("BatchNormalization", [x, *scales, g.constant(abs(g.floats([shape[1]])) + np.float32(0.1))])


def reduction(g, x, shape):
    axes = sorted(g.draw.sample(range(len(shape)), g.draw.randint(1, len(shape))))
    g.add(g.draw.choice(REDUCTIONS), [x], axes=axes, keepdims=g.draw.choice([0, 1]))


def transpose(g, x, shape):
    g.add("Transpose", [x], perm=g.draw.sample(range(len(shape)), len(shape)))


def reshape(g, x, shape):
    rest, dims = int(np.prod(shape)), []
    for _ in range(g.draw.randrange(4)):
        dims.append(g.draw.choice([d for d in range(1, min(rest, 64) + 1) if rest % d == 0]))
        rest //= dims[-1]
    dims.insert(g.draw.randrange(len(dims) + 1), -1)
    g.add("Reshape", [x, g.constant(np.array(dims, np.int64))])


def concatenation(g, x, shape):
    axis = g.draw.randrange(len(shape))
    y = g.any_value(lambda v: v.ndim == len(shape) and all(v.shape[a] == d for a, d in enumerate(shape) if a != axis))
    g.add("Concat", g.draw.choice([[x, y], [y, x]]), axis=axis)


def part(g, x, shape):
    axis = g.draw.randrange(len(shape))
    if shape[axis] < 2:
        return
    if g.draw.random() < 0.5:
        first = g.draw.randrange(1, shape[axis])
        g.add("Split", [x, g.constant(np.array([first, shape[axis] - first]))], outputs=2, axis=axis)
        return
    step = g.draw.choice([1, 2, -1])
    ends = (-1, -shape[axis] - 1) if step < 0 else (1, shape[axis])
    g.add("Slice", [x, *(g.constant(np.array([v])) for v in (*ends, axis, step))])


def padding(g, x, shape):
    mode = g.draw.choice(["constant", "reflect", "edge"])
    g.add("Pad", [x, g.constant(np.array([g.draw.choice([0, 1, 1, 2]) for _ in shape * 2]))], mode=mode)


OPERATORS = ([unary] * 5 + [binary] * 5 + [convolution] * 6 + [product] * 4 + [attention] * 2 + [pool] * 2
             + [softmax, norm, norm, reduction, transpose, transpose, reshape, concatenation, part, padding])


def drawn(seed):
    graph = Graph(seed)
    nodes = graph.draw.randrange(2, 13)
    for _ in range(3 * nodes):  # some are refused
        if len(graph.nodes) >= nodes:
            break
        x = graph.any_value(lambda value: value.ndim > 0)
        if x is not None:
            graph.draw.choice(OPERATORS)(graph, x, list(graph.values[x].shape))
    return graph


def differences(expected, found):
    """Of other orders of summing; relative to the largest value, as sums may cancel."""
    for name, a in expected.items():
        b = found[name]
        if a.shape != b.shape:
            yield f"{name} has the shape {b.shape}, not {a.shape}"
        elif not np.allclose(b, a, rtol=1e-3, atol=1e-3 * max(1e-3, abs(a).max())):
            yield f"{name} is off by {abs(a - b).max():.3g}, its largest value is {abs(a).max():.3g}"


def problem_of(graph, folder, options):
    """What is wrong; empty: nothing."""
    outputs, model = graph.outputs(), str(folder / "model.onnx")
    onnx.save(graph.model(graph.nodes, graph.inputs, outputs), model)
    np.savez(folder / "inputs.npz", **graph.inputs)
    try:
        run = subprocess.run([options.isamap, "run", model, "--inputs", str(folder / "inputs.npz"), "--outputs",
                              str(folder / "outputs.npz"), *options.run], capture_output=True, text=True,
                             timeout=options.limit)
    except subprocess.TimeoutExpired:
        return f"did not end within {options.limit:.0f} s"
    if run.returncode != 0:
        return f"exit code {run.returncode}: {run.stderr.strip()[-500:]}"
    return "; ".join(differences(outputs, np.load(folder / "outputs.npz")))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--isamap", required=True)
    parser.add_argument("--seed", type=int, default=0, help="of the first model")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--limit", type=float, default=600, help="seconds for a model")
    parser.add_argument("run", nargs="*", help="options of isamap run (default: --interpret)")
    options = parser.parse_args()
    options.run = options.run or ["--interpret"]
    failed = 0
    for seed in range(options.seed, options.seed + options.count):
        graph = drawn(seed)
        if not graph.nodes:
            continue
        folder = pathlib.Path(tempfile.mkdtemp(prefix=f"random_model_{seed}_"))
        problem = problem_of(graph, folder, options)
        print(f"{seed}: {problem or 'right'} ({', '.join(node.op_type for node in graph.nodes)})", flush=True)
        if problem:
            failed += 1
            print(f"  in {folder}", flush=True)
        else:
            for file in folder.iterdir():
                file.unlink()
            folder.rmdir()
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
