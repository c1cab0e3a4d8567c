#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random ONNX models against onnxruntime: a model for each seed, run by isamap on the same inputs, outputs compared.

Models have 2 to 12 nodes or a few more of the operators in OPERATORS, which work on f32 and compute with masks,
integers, bytes and halves in between, one or two inputs of 1 to 5 axes, with sizes of 1 and sizes that no tile divides,
and every value that no node reads is an output. Same seed, same model.

Needs numpy, onnx and onnxruntime. Options behind `--` are those of `isamap run`; exit code 1 where a model is wrong, is
refused or ends without words. Its folder is kept then. With --open the first dimension is a symbol, and the program is
run at three sizes; seeds whose constants fit one size only are left out.

  tests/fuzz/random_models.py --isamap build/isamap --seed 0 --count 20 -- --target x86_avx2 --threads 2
"""

import argparse
import pathlib
import random
import shutil
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
ROUNDING = ["QuantizeLinear", "DynamicQuantizeLinear", "Cast", "ArgMax", "Greater", "LessOrEqual", "QLinearConv",
            "QLinearMatMul", "QLinearAdd", "Floor", "Round", "TopK"]
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
        """One of f32, mostly the newest, so that graphs are deep."""
        names = [name for name, value in self.values.items()
                 if value.dtype == np.float32 and np.isfinite(value).all() and fits(value)]
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
            session = onnxruntime.InferenceSession(onnx.shape_inference.infer_shapes(model).SerializeToString(),
                                                   options, providers=["CPUExecutionProvider"])
            found = session.run(None, {port.name: self.values[port.name] for port in session.get_inputs()})
        except Exception:  # its exceptions have no common class of their own
            return None
        if any(v.size > MOST_ELEMENTS or v.size == 0 or v.dtype in (np.float32, np.float16)
               and (not (np.isfinite(v) | (v == -np.inf)).all() or abs(v[np.isfinite(v)]).max(initial=0) > LARGEST)
               for v in found):
            return None
        self.nodes.append(node)
        self.values.update(zip(node.output, found))
        return node.output[0]

    def outputs(self):
        read = {name for node in self.nodes for name in node.input}
        return {n: self.values[n] for node in self.nodes for n in node.output if n not in read}

    def rounds(self):
        """Whether a sum of another order may be on the other side of a tie."""
        return any(node.op_type in ROUNDING for node in self.nodes)


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


def compared(g, x, shape):
    """Elements where comparisons hold, and a constant or another value elsewhere."""
    other = g.constant(g.floats([d if g.draw.random() < 0.6 else 1 for d in shape][g.draw.randrange(len(shape) + 1):]))
    mask = g.add(g.draw.choice(["Greater", "LessOrEqual"]), g.draw.choice([[x, other], [other, x]]))
    if g.draw.random() < 0.5:
        second = mask and g.add("Greater", [x, g.constant(np.float32(g.draw.uniform(-1, 1)))])
        mask = second and g.add(g.draw.choice(["And", "Or", "Xor"]), [mask, second])
    if mask and g.draw.random() < 0.3:
        mask = g.add("Not", [mask])
    if mask:
        g.add("Where", g.draw.choice([[mask, x, other], [mask, other, x], [mask, x, g.constant(np.float32(0))]]))


def masked_softmax(g, x, shape):
    """Scores behind a mask that is added, as of attention."""
    if len(shape) < 2 or not np.isfinite(g.values[x]).all():
        return
    rows, columns = shape[-2:]
    kept = np.tri(rows, columns, dtype=bool) if g.draw.random() < 0.5 else g.numbers.random((rows, columns)) < 0.7
    kept[:, 0] = True
    lowest = g.draw.choice([-np.inf, np.finfo(np.float32).min, -1e4])
    if g.draw.random() < 0.5:
        y = g.add("Where", [g.constant(kept), x, g.constant(np.float32(lowest))])
    else:
        y = g.add("Add", [x, g.constant(np.where(kept, 0, max(lowest, -1e4)).astype(np.float32))])
    if y:
        g.add("Softmax", [y], axis=-1)


def gathered(g, x, shape):
    axis = g.draw.randrange(len(shape))
    d = shape[axis]
    kind = g.draw.choice(["Gather", "Gather", "GatherElements", "ScatterElements", "table"])
    if kind == "Gather":
        at = g.numbers.integers(-d, d, [g.draw.choice([1, 2, 3]) for _ in range(g.draw.randrange(3))])
        g.add(kind, [x, g.constant(at)], axis=axis)
    elif kind == "table":
        best = g.add("ArgMax", [x], axis=axis, keepdims=g.draw.choice([0, 1]))
        if best:
            g.add("Gather", [g.constant(g.floats([d, g.draw.choice([1, 3, 8])])), best])
    else:
        count = g.draw.randint(1, d)
        places = list(shape[:axis]) + [count] + list(shape[axis + 1:])
        order = np.argsort(g.numbers.random(shape), axis)
        at = g.constant(np.take(order, range(count), axis))
        g.add(kind, [x, at] + ([g.constant(g.floats(places))] if kind == "ScatterElements" else []), axis=axis)


def quantisation(g, shape=(), signed=None):
    """Scale and zero point."""
    signed = g.draw.random() < 0.5 if signed is None else signed
    zero = g.numbers.integers(-20, 20, shape) if signed else g.numbers.integers(100, 150, shape)
    return [g.constant(np.float32(g.numbers.uniform(0.01, 0.03, shape))),
            g.constant(np.asarray(zero, np.int8 if signed else np.uint8))]


def through_bytes(g, x, parameters):
    y = g.add("QuantizeLinear", [x, *parameters])
    return y and g.add("DequantizeLinear", [y, *parameters])


def quantised(g, x, shape):
    kind = g.draw.choice(["QDQ", "product", "product", "integers", "convolution", "convolution", "sum"])
    if kind == "QDQ":
        through_bytes(g, x, quantisation(g))
    elif kind == "sum":
        y = through_bytes(g, x, quantisation(g))
        z = through_bytes(g, g.any_value(), quantisation(g))
        y = y and z and g.add(g.draw.choice(["Add", "Mul"]), [y, z])
        if y:
            through_bytes(g, y, quantisation(g))
    elif kind in ("product", "integers"):
        if len(shape) < 2:
            return
        depth, columns = shape[-1], g.draw.choice([1, 2, 7, 16, 33])
        weights = g.constant(g.numbers.integers(-127, 128, (depth, columns)).astype(np.int8))
        if kind == "integers":
            made = g.add("DynamicQuantizeLinear", [x], outputs=3)
            if not made:
                return
            scale, zero = g.nodes[-1].output[1:]
            y = g.add("MatMulInteger", [made, weights, zero])
            y = y and g.add("Cast", [y], to=onnx.TensorProto.FLOAT)
            y = y and g.add("Mul", [y, scale])
            if y:
                g.add("Mul", [y, g.constant(np.float32(0.01 / depth ** 0.5))])
            return
        form = g.draw.choice(["QDQ", "QLinear"])
        of_x, each = quantisation(g), g.draw.random() < 0.5
        of_w = [g.constant(np.float32(g.numbers.uniform(0.005, 0.01, [columns] if each else [])) / depth ** 0.5),
                g.constant(np.zeros([columns] if each else [], np.int8))]
        if form == "QDQ":
            y = through_bytes(g, x, of_x)
            w = y and g.add("DequantizeLinear", [weights, *of_w], axis=1)
            y = w and g.add("MatMul", [y, w])
            if y:
                through_bytes(g, y, quantisation(g))
            return
        y, of_y = g.add("QuantizeLinear", [x, *of_x]), quantisation(g, signed=of_x[1] and None)
        y = y and g.add("QLinearMatMul", [y, *of_x, weights, *of_w, *of_y])
        if y:
            g.add("DequantizeLinear", [y, *of_y])
    elif len(shape) == 4:
        groups = g.draw.choice([1, 1, shape[1]])
        filters = groups * g.draw.choice([1, 2]) if groups > 1 else g.draw.choice([1, 3, 16, 17])
        size = [g.draw.choice([1, 2, 3]) for _ in range(2)]
        terms = shape[1] // groups * size[0] * size[1]
        w = g.constant(g.numbers.integers(-127, 128, [filters, shape[1] // groups] + size).astype(np.int8))
        of_w = [g.constant((g.numbers.uniform(0.005, 0.01, filters) / terms ** 0.5).astype(np.float32)),
                g.constant(np.zeros(filters, np.int8))]
        ways = {"group": groups, "strides": [g.draw.choice([1, 2]) for _ in size],
                "pads": [g.draw.choice([0, 1]) for _ in size * 2]}
        of_x, of_y = quantisation(g), quantisation(g)
        if g.draw.random() < 0.5:
            y = through_bytes(g, x, of_x)
            w = y and g.add("DequantizeLinear", [w, *of_w], axis=0)
            y = w and g.add("Conv", [y, w, g.constant(g.floats([filters]))], **ways)
            y = y and g.draw.random() < 0.5 and g.add("Relu", [y]) or y
            if y:
                through_bytes(g, y, of_y)
            return
        y = g.add("QuantizeLinear", [x, *of_x])
        of_y = quantisation(g, signed=g.values[y].dtype == np.int8) if y else of_y
        bias = g.constant(g.numbers.integers(-1000, 1000, filters).astype(np.int32))
        y = y and g.add("QLinearConv", [y, *of_x, w, *of_w, *of_y, bias], **ways)
        if y:
            g.add("DequantizeLinear", [y, *of_y])


def integers(g, x, shape):
    kind = g.draw.choice([onnx.TensorProto.INT32, onnx.TensorProto.INT64])
    y = g.add("Mul", [x, g.constant(np.float32(9.7))])
    y = y and g.add("Cast", [y], to=kind)
    for _ in range(g.draw.randint(1, 3)):
        if y:
            c = g.constant(g.values[y].dtype.type(g.draw.choice([-3, 2, 5, 7])))
            operator = g.draw.choice(["Add", "Sub", "Mul", "Div", "Mod", "Max"])
            y = g.add(operator, [y, c])
    if y:
        g.add("Cast", [y], to=onnx.TensorProto.FLOAT)


def narrow(g, x, shape):
    y = g.add("Cast", [x], to=onnx.TensorProto.FLOAT16)
    y = y and g.add(g.draw.choice(["Relu", "Sigmoid", "Neg", "Tanh"]), [y])
    if y:
        g.add("Cast", [y], to=onnx.TensorProto.FLOAT)


def moved(g, x, shape):
    """Data movement of other operators than those below."""
    kind = g.draw.choice(["Tile", "Expand", "DepthToSpace", "SpaceToDepth", "Resize", "Trilu", "Flatten", "Unsqueeze",
                          "Stack", "Split"])
    if kind == "Tile":
        g.add(kind, [x, g.constant(np.array([g.draw.choice([1, 1, 2, 3]) for _ in shape]))])
    elif kind == "Expand":
        g.add(kind, [x, g.constant(np.array([g.draw.choice([1, 2])] + [g.draw.choice([1, 3]) if d == 1 else d
                                                                       for d in shape]))])
    elif kind in ("DepthToSpace", "SpaceToDepth"):
        mode = {"mode": g.draw.choice(["DCR", "CRD"])} if kind == "DepthToSpace" else {}
        g.add(kind, [x], blocksize=2, **mode)
    elif kind == "Resize" and len(shape) == 4:
        mode = g.draw.choice(["nearest", "linear", "cubic"])
        way = g.draw.choice(["half_pixel", "asymmetric", "align_corners"])
        rows = g.draw.choice([1, 2] if way == "align_corners" else [0.5, 1, 1.5, 2])  # by what: docs/models.md, Import
        g.add(kind, [x, "", g.constant(np.array([1, 1, rows, g.draw.choice([1, 2, 3])], np.float32))], mode=mode,
              coordinate_transformation_mode=way,
              **({"nearest_mode": g.draw.choice(["floor", "round_prefer_floor"])} if mode == "nearest" else {}))
    elif kind == "Trilu" and len(shape) > 1:
        g.add(kind, [x, g.constant(np.int64(g.draw.randint(-2, 2)))], upper=g.draw.choice([0, 1]))
    elif kind == "Flatten":
        g.add(kind, [x], axis=g.draw.randint(0, len(shape)))
    elif kind == "Unsqueeze":
        g.add(kind, [x, g.constant(np.array([g.draw.randint(0, len(shape))]))])
    elif kind == "Stack":  # channel shuffle
        axis = g.draw.randrange(len(shape))
        half = next((d for d in (2, 3, 4, 5) if shape[axis] % d == 0), 1)
        y = g.add("Reshape", [x, g.constant(np.array([*shape[:axis], half, shape[axis] // half, *shape[axis + 1:]]))])
        order = list(range(len(shape) + 1))
        order[axis], order[axis + 1] = axis + 1, axis
        y = y and g.add("Transpose", [y], perm=order)
        if y:
            g.add("Reshape", [y, g.constant(np.array(shape))])
    elif kind == "Split":
        axis = g.draw.randrange(len(shape))
        if shape[axis] < 3:
            return
        sizes = [1, 1, shape[axis] - 2]
        g.draw.shuffle(sizes)
        if g.add(kind, [x, g.constant(np.array(sizes))], outputs=3, axis=axis):
            names = list(g.nodes[-1].output)
            g.draw.shuffle(names)
            g.add("Concat", names, axis=axis)


def further(g, x, shape):
    kind = g.draw.choice(["Gemm", "ConvTranspose", "InstanceNormalization", "LRN", "CumSum", "TopK", "Clip", "Pow",
                          "Einsum", "GRU", "LSTM", "Sum", "PRelu", "ReduceSum", "Floor", "MeanVarianceNormalization"])
    if kind == "Gemm" and len(shape) == 2:
        columns, turned = g.draw.choice([1, 5, 16]), g.draw.choice([0, 1])
        rows = shape[1] if not turned else shape[0]
        g.add(kind, [x, g.weights([rows, columns], rows), g.constant(g.floats([columns]))], transA=turned,
              alpha=g.draw.choice([1.0, 0.5]), beta=g.draw.choice([1.0, 2.0]))
    elif kind == "ConvTranspose" and len(shape) == 4:
        size, step = [g.draw.choice([1, 2, 3, 4]) for _ in range(2)], [g.draw.choice([1, 2, 3]) for _ in range(2)]
        g.add(kind, [x, g.weights([shape[1], g.draw.choice([1, 3, 8]), *size], shape[1] * size[0])], strides=step,
              pads=[g.draw.choice([0, 0, 1]) for _ in range(4)],
              output_padding=[g.draw.randrange(s) for s in step])
    elif kind == "InstanceNormalization" and len(shape) > 2:
        g.add(kind, [x, g.constant(g.floats([shape[1]])), g.constant(g.floats([shape[1]]))])
    elif kind == "LRN" and len(shape) == 4:
        g.add(kind, [x], size=g.draw.choice([1, 3, 5]), alpha=0.1)
    elif kind == "CumSum":
        g.add(kind, [x, g.constant(np.int64(g.draw.randrange(len(shape))))], exclusive=g.draw.choice([0, 1]),
              reverse=g.draw.choice([0, 1]))
    elif kind == "TopK":
        axis = g.draw.randrange(len(shape))
        g.add(kind, [x, g.constant(np.array([g.draw.randint(1, min(shape[axis], 6))]))], outputs=2, axis=axis,
              largest=g.draw.choice([0, 1]))
    elif kind == "Clip":
        g.add(kind, [x, g.constant(np.float32(-0.3)), g.constant(np.float32(0.5))])
    elif kind == "Pow":
        g.add(kind, [x, g.constant(np.float32(g.draw.choice([2, 3])))])
    elif kind == "Einsum" and len(shape) == 3:
        g.add(kind, [x, g.weights([shape[2], shape[1], 3], shape[1])],
              equation=g.draw.choice(["bij,jik->bk", "bij,jik->ibk", "bij,jik->bjk"]))
    elif kind in ("GRU", "LSTM") and len(shape) == 3:
        gates, h = 3 if kind == "GRU" else 4, g.draw.choice([1, 5, 8])
        way = g.draw.choice(["forward", "reverse", "bidirectional"])
        n = 2 if way == "bidirectional" else 1
        lengths = g.constant(g.numbers.integers(0, shape[0] + 1, shape[1]).astype(np.int32))
        inputs = [x, g.weights([n, gates * h, shape[2]], shape[2]), g.weights([n, gates * h, h], h),
                  g.constant(g.floats([n, 2 * gates * h])), g.draw.choice(["", lengths]),
                  g.constant(g.floats([n, shape[1], h]))]
        g.add(kind, inputs, outputs=2, hidden_size=h, direction=way)
    elif kind == "Sum":
        g.add(g.draw.choice(["Sum", "Mean", "Max"]), [x, g.constant(g.floats(shape[-1:])), x])
    elif kind == "PRelu":
        g.add("PRelu", [x, g.constant(g.floats(shape[-1:]))])
    elif kind == "ReduceSum":
        axes = sorted(g.draw.sample(range(len(shape)), g.draw.randint(1, len(shape))))
        g.add(kind, [x, g.constant(np.array(axes))], keepdims=g.draw.choice([0, 1]))
    elif kind == "Floor":
        y = g.add("Mul", [x, g.constant(np.float32(3.3))])
        if y:
            g.add(g.draw.choice(["Floor", "Round"]), [y])
    elif kind == "MeanVarianceNormalization" and len(shape) == 4:
        g.add(kind, [x], axes=g.draw.choice([[0, 2, 3], [2, 3], [1]]))


OPERATORS = ([unary] * 5 + [binary] * 5 + [convolution] * 6 + [product] * 4 + [attention] * 2 + [pool] * 2
             + [softmax, norm, norm, reduction, transpose, transpose, reshape, concatenation, part, padding]
             + [compared, compared, masked_softmax, gathered, gathered, quantised, quantised, quantised, integers]
             + [narrow]
             + [moved] * 4 + [further] * 5)


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


def opened(graph, model):
    """The model with a symbol `n` for the first dimension of all inputs, and inputs and outputs of three sizes; nothing
    where onnxruntime takes no other sizes."""
    del model.graph.output[:]
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in graph.outputs())
    for port in model.graph.input:
        port.type.tensor_type.shape.dim[0].dim_param = "n"
    if len({v.shape[0] for v in graph.inputs.values()}) > 1:
        return []
    options, cases = onnxruntime.SessionOptions(), []
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    for n in graph.draw.sample([1, 2, 3, 5, 8, 17, 33], 3):
        inputs = {name: graph.floats([n, *v.shape[1:]]) for name, v in graph.inputs.items()}
        try:
            session = onnxruntime.InferenceSession(model.SerializeToString(), options,
                                                   providers=["CPUExecutionProvider"])
            cases.append((inputs, dict(zip(graph.outputs(), session.run(None, inputs)))))
        except Exception:  # its exceptions have no common class of their own
            return []
    return cases


def differences(expected, found, rounds):
    """Of other orders of summing; relative to the largest value, as sums may cancel. Rounding to a neighbour is an
    outlier, and what is computed of it a small difference."""
    for name, a in expected.items():
        b = found[name]
        if a.shape != b.shape:
            yield f"{name} has the shape {b.shape}, not {a.shape}"
            continue
        largest = abs(a[np.isfinite(a)]).max(initial=0)
        off = ~np.isclose(b, a, rtol=1e-3, atol=1e-3 * max(1e-3, largest), equal_nan=True)
        by = abs(a[off].astype(np.float64) - b[off]).max(initial=0)
        if off.sum() > (1 + 0.02 * a.size if rounds and by < 0.2 * largest else 0):
            yield f"{name} is off by {by:.3g} at {off.sum()} of {a.size} elements, its largest value is {largest:.3g}"


def problem_of(graph, folder, options):
    """What is wrong; empty: nothing."""
    path, cases = str(folder / "model.onnx"), [(graph.inputs, graph.outputs())]
    model, more = graph.model(graph.nodes, graph.inputs, graph.outputs()), []
    if options.open:
        cases, more = opened(graph, model), ["--dims", "n=1..64@8"]
    onnx.save(model, path)
    for inputs, outputs in cases:
        np.savez(folder / "inputs.npz", **inputs)
        try:
            run = subprocess.run([options.isamap, "run", path, "--inputs", str(folder / "inputs.npz"), "--outputs",
                                  str(folder / "outputs.npz"), *more, *options.run], capture_output=True, text=True,
                                 timeout=options.limit)
        except subprocess.TimeoutExpired:
            return f"did not end within {options.limit:.0f} s"
        if run.returncode != 0:
            return f"exit code {run.returncode}: {run.stderr.strip()[-500:]}"
        wrong = "; ".join(differences(outputs, np.load(folder / "outputs.npz"), graph.rounds()))
        if wrong:
            return wrong + "".join(f" ({name}: {list(value.shape)})" for name, value in inputs.items())
    return "" if cases else "no open size"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--isamap", required=True)
    parser.add_argument("--seed", type=int, default=0, help="of the first model")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--open", action="store_true", help="one program for all sizes of the first dimension")
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
        if problem == "no open size":
            shutil.rmtree(folder)
            continue
        print(f"{seed}: {problem or 'right'} ({', '.join(node.op_type for node in graph.nodes)})", flush=True)
        if problem:
            failed += 1
            print(f"  in {folder}", flush=True)
        else:
            shutil.rmtree(folder)
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
