#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/operators.zip: a model of one node for every operator that is imported, its inputs, and outputs
computed here with numpy by the definitions of onnx/docs/Operators.md.

Needs numpy only. Usage: write_operators.py tests/data/operators.zip
The archive holds NAME/model.onnx, NAME/input_0.pb.., NAME/output_0.pb..; NAME is the operator, then "-" and what is
tested. Same program, same bytes.
"""

import sys
import zipfile

import numpy as np

TYPES = {"float32": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "bool": 9,
         "float16": 10, "float64": 11, "uint32": 12}


# Protobuf: field numbers are those of onnx.proto.
def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(int(value))


def block(field, data):
    data = data.encode() if isinstance(data, str) else data
    return varint(field << 3 | 2) + varint(len(data)) + data


def tensor(name, array):
    array = np.asarray(array, order="C")
    return (b"".join(number(1, d) for d in np.shape(array)) + number(2, TYPES[array.dtype.name]) + block(8, name)
            + block(9, array.tobytes()))


def value(name, array):
    shape = b"".join(block(1, number(1, d)) for d in np.shape(array))
    return block(1, name) + block(2, block(1, number(1, TYPES[array.dtype.name]) + block(2, shape)))


def attribute(name, given):
    if isinstance(given, bool) or isinstance(given, (int, np.integer)):
        return block(1, name) + number(3, given) + number(20, 2)
    if isinstance(given, float):
        return block(1, name) + varint(2 << 3 | 5) + np.float32(given).tobytes() + number(20, 1)
    if isinstance(given, str):
        return block(1, name) + block(4, given) + number(20, 3)
    if isinstance(given, np.ndarray):
        return block(1, name) + block(5, tensor("", given)) + number(20, 4)
    if isinstance(given, bytes):  # a graph
        return block(1, name) + block(6, given) + number(20, 5)
    if isinstance(given[0], float):
        return (block(1, name) + b"".join(varint(7 << 3 | 5) + np.float32(v).tobytes() for v in given)
                + number(20, 6))
    if isinstance(given[0], str):
        return block(1, name) + b"".join(block(9, v) for v in given) + number(20, 8)
    return block(1, name) + b"".join(number(8, v) for v in given) + number(20, 7)


def node(op, inputs, outputs, attributes, domain=""):
    return block(1, b"".join(block(1, i) for i in inputs) + b"".join(block(2, o) for o in outputs) + block(4, op)
                 + b"".join(block(5, attribute(k, v)) for k, v in sorted(attributes.items()))
                 + (block(7, domain) if domain else b""))


def graph(nodes, inputs, outputs, constants=()):
    return (b"".join(nodes) + block(2, "g") + b"".join(block(5, tensor(n, a)) for n, a in constants)
            + b"".join(block(11, value(n, a)) for n, a in inputs)
            + b"".join(block(12, value(n, a)) for n, a in outputs))


def model(body, opset, domain=""):
    return (number(1, 8) + block(7, body) + block(8, number(2, opset))
            + (block(8, block(1, domain) + number(2, 1)) if domain else b""))


files = {}


def save(name, body, inputs, outputs, opset, domain=""):
    assert name not in files, name
    files[name + "/model.onnx"] = model(body, opset, domain)
    for kind, arrays in (("input", inputs), ("output", outputs)):
        for i, (n, a) in enumerate(arrays):
            files[f"{name}/{kind}_{i}.pb"] = tensor(n, a)


def case(op, inputs, outputs, note="", opset=21, constants=(), domain="", **attributes):
    """One node. `inputs`: arrays, None for one that is left out; `constants`: numbers of those that the file states."""
    outputs = outputs if isinstance(outputs, (list, tuple)) else [outputs]
    outputs = [np.asarray(o) for o in outputs]
    names = ["" if a is None else f"x{i}" for i, a in enumerate(inputs)]
    given = [(n, np.asarray(a)) for n, a in zip(names, inputs) if n]
    fixed = [(n, a) for n, a in given if int(n[1:]) in constants]
    read = [(n, a) for n, a in given if int(n[1:]) not in constants]
    made = [(f"y{i}", o) for i, o in enumerate(outputs)]
    body = graph([node(op, names, [n for n, _ in made], attributes, domain)], read, made, fixed)
    save(op + ("-" + note if note else ""), body, read, made, opset, domain)


random = np.random.default_rng(36)
f32 = np.float32


def real(*shape, low=-2.0, high=2.0):
    return random.uniform(low, high, shape).astype(f32)


def whole(*shape, low=-9, high=9, dtype=np.int32):
    return random.integers(low, high + 1, shape).astype(dtype)


def i64(*values):
    return np.array(values, dtype=np.int64)


def elementwise():
    erf = np.vectorize(__import__("math").erf)
    sigmoid = lambda x: 1 / (1 + np.exp(-x))
    x = real(2, 3, 4)
    one = real(2, 3, 4, low=-0.9, high=0.9)
    plus = real(2, 3, 4, low=0.2, high=3)
    wide = lambda a: a.astype(np.float64)
    for op, a, f in [
            ("Abs", x, np.abs), ("Acos", one, np.arccos), ("Acosh", plus + 1, np.arccosh), ("Asin", one, np.arcsin),
            ("Asinh", x, np.arcsinh), ("Atan", x, np.arctan), ("Atanh", one, np.arctanh), ("Ceil", x, np.ceil),
            ("Cos", x, np.cos), ("Cosh", x, np.cosh), ("Erf", x, erf), ("Exp", x, np.exp), ("Floor", x, np.floor),
            ("Identity", x, lambda v: v), ("Log", plus, np.log), ("Neg", x, np.negative),
            ("Reciprocal", plus, lambda v: 1 / v), ("Relu", x, lambda v: np.maximum(v, 0)), ("Round", x * 2, np.round),
            ("Sigmoid", x, sigmoid), ("Sign", x, np.sign), ("Sin", x, np.sin), ("Sinh", x, np.sinh),
            ("Softplus", x, lambda v: np.log1p(np.exp(v))), ("Softsign", x, lambda v: v / (1 + np.abs(v))),
            ("Sqrt", plus, np.sqrt), ("Tan", one, np.tan), ("Tanh", x, np.tanh),
            ("HardSwish", x * 3, lambda v: v * np.clip(v / 6 + 0.5, 0, 1)),
            ("Mish", x, lambda v: v * np.tanh(np.log1p(np.exp(v)))),
            ("Gelu", x, lambda v: 0.5 * v * (1 + erf(v / np.sqrt(2))))]:
        case(op, [a], f(wide(a)).astype(f32))
    case("Gelu", [x], (0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (wide(x) + 0.044715 * wide(x)**3)))).astype(f32),
         "tanh", approximate="tanh")
    case("Swish", [x], (x * sigmoid(1.5 * wide(x))).astype(f32), alpha=1.5, opset=24)
    case("Celu", [x], (np.maximum(x, 0) + np.minimum(0, 2 * (np.exp(wide(x) / 2) - 1))).astype(f32), alpha=2.0)
    case("Elu", [x], np.where(x > 0, x, 1.5 * (np.exp(wide(x)) - 1)).astype(f32), alpha=1.5)
    case("Selu", [x], (1.5 * np.where(x > 0, x, 2 * (np.exp(wide(x)) - 1))).astype(f32), alpha=2.0, gamma=1.5)
    case("HardSigmoid", [x], np.clip(0.3 * x + 0.4, 0, 1).astype(f32), alpha=0.3, beta=0.4)
    case("LeakyRelu", [x], np.where(x > 0, x, f32(0.1) * x), alpha=0.1)
    case("ThresholdedRelu", [x], np.where(x > 0.5, x, 0).astype(f32), alpha=0.5)
    case("Shrink", [x], np.where(x < -1, x + 0.5, np.where(x > 1, x - 0.5, 0)).astype(f32), lambd=1.0, bias=0.5)
    case("IsNaN", [np.array([1, np.nan, -np.inf], f32)], np.array([False, True, False]))
    case("IsInf", [np.array([1, np.nan, -np.inf, np.inf], f32)], np.array([False, False, False, True]),
         detect_negative=0)
    case("Not", [x > 0], x <= 0)
    y = real(3, 1)
    for op, f in [("Add", np.add), ("Sub", np.subtract), ("Mul", np.multiply), ("Div", np.divide)]:
        case(op, [x, y], f(x, y), "broadcast")
    a, b = whole(3, 4), whole(4, low=1)
    for op, f in [("Add", np.add), ("Sub", np.subtract), ("Mul", np.multiply)]:
        case(op, [a, b], f(a, b), "s32")
    case("Div", [a, b], (np.sign(a) * (np.abs(a) // b)).astype(np.int32), "s32")
    case("Pow", [plus, x], (wide(plus)**x).astype(f32))
    case("Mod", [a, b], np.mod(a, b), "s32")
    case("Mod", [x, y], np.fmod(x, y), "fmod", fmod=1)
    for op, f in [("Less", np.less), ("LessOrEqual", np.less_equal), ("Greater", np.greater),
                  ("GreaterOrEqual", np.greater_equal), ("Equal", np.equal)]:
        other = whole(3, 4)
        case(op, [a, other], f(a, other))
    p, q = x > 0, real(2, 3, 4) > 0
    for op, f in [("And", np.logical_and), ("Or", np.logical_or), ("Xor", np.logical_xor)]:
        case(op, [p, q], f(p, q))
    c, d = whole(6, low=0, high=255, dtype=np.uint8), whole(6, low=0, high=255, dtype=np.uint8)
    for op, f in [("BitwiseAnd", np.bitwise_and), ("BitwiseOr", np.bitwise_or), ("BitwiseXor", np.bitwise_xor)]:
        case(op, [c, d], f(c, d))
    case("BitwiseNot", [c], ~c)
    case("BitShift", [c, d % 8], c << (d % 8), "left", direction="LEFT")
    case("BitShift", [c, d % 8], c >> (d % 8), "right", direction="RIGHT")
    case("Max", [x, y, real(4) * 0], np.maximum(np.maximum(x, y), 0))
    case("Min", [x, y], np.minimum(x, y))
    case("Sum", [x, y, y], (x + y + y).astype(f32))
    case("Mean", [x, y], ((x + y) / 2).astype(f32))
    case("Where", [p, x, y], np.where(p, x, y))
    case("Clip", [x, f32(-0.5), f32(1)], np.clip(x, -0.5, 1).astype(f32), constants=(1, 2))
    case("Clip", [x, f32(-0.5), None], np.maximum(x, -0.5).astype(f32), "low")
    case("PRelu", [x, y], np.where(x > 0, x, x * y))
    case("Cast", [x * 9], np.trunc(x * 9).astype(np.int32), "s32", to=6)
    case("Cast", [a], a.astype(f32), "f32", to=1)
    case("Cast", [x], x.astype(np.float16), "f16", to=10)
    case("Cast", [a], a != 0, "bool", to=9)
    case("CastLike", [x, np.zeros(1, np.float16)], x.astype(np.float16))
    case("Dropout", [x], x)
    case("Sigmoid", [x.astype(np.float16)], sigmoid(wide(x.astype(np.float16))).astype(np.float16), "f16")


def movement():
    x = real(2, 3, 4)
    for note, shape in [("flat", (-1,)), ("keep", (0, 2, -1))]:
        target = {"flat": (24,), "keep": (2, 2, 6)}[note]
        case("Reshape", [x, i64(*shape)], x.reshape(target), note, constants=(1,))
    case("Flatten", [x], x.reshape(6, 4), axis=2)
    case("Squeeze", [x[:, None], i64(1)], x, constants=(1,))
    case("Unsqueeze", [x, i64(0, -1)], x[None, ..., None], constants=(1,))
    case("Transpose", [x], x.transpose(2, 0, 1), perm=[2, 0, 1])
    case("Transpose", [x], x.transpose(), "reversed")
    case("Concat", [x, real(2, 1, 4) * 0], np.concatenate([x, np.zeros((2, 1, 4), f32)], 1), axis=1)
    case("Split", [x, i64(1, 3)], np.split(x, [1], 2), axis=2, constants=(1,))
    case("Split", [x], np.split(x, 2, 2), "equal", axis=2, num_outputs=2)
    case("Slice", [x, i64(2, 0), i64(0, 4), i64(1, 2), i64(-1, 3)], x[:, 2:0:-1, 0:4:3], constants=(1, 2, 3, 4))
    case("Expand", [x[:, :1], i64(5, 1, 3, 1)], np.broadcast_to(x[:, :1], (5, 2, 3, 4)).copy(), constants=(1,))
    case("Tile", [x, i64(1, 2, 3)], np.tile(x, (1, 2, 3)), constants=(1,))
    for mode, numpy_mode in [("constant", None), ("edge", "edge"), ("reflect", "reflect"), ("wrap", "wrap")]:
        pads = [(0, 0), (1, 2), (2, 1)]
        made = np.pad(x, pads, constant_values=1.5) if numpy_mode is None else np.pad(x, pads, mode=numpy_mode)
        inputs = [x, i64(0, 1, 2, 0, 2, 1)] + ([f32(1.5)] if numpy_mode is None else [])
        case("Pad", inputs, made, mode, constants=(1, 2), mode=mode)
    depth()
    case("CenterCropPad", [x, i64(5, 2)], np.pad(x, [(0, 0), (1, 1), (0, 0)])[:, :, 1:3], axes=[1, 2],
         constants=(1,))
    case("Gather", [x, i64(2, 0, -1)], x[:, [2, 0, 2]], "constant", axis=1, constants=(1,))
    index = whole(2, 2, low=-3, high=2, dtype=np.int64)
    case("Gather", [x, index], x[:, index], axis=1)
    e = whole(2, 2, 4, low=0, high=2, dtype=np.int64)
    case("GatherElements", [x, e], np.take_along_axis(x, e, 1), axis=1)
    nd = i64(0, 1, 1, 2).reshape(2, 2)
    case("GatherND", [x, nd], x[[0, 1], [1, 2]])
    u = real(2, 1, 4)
    s = whole(2, 1, 4, low=0, high=2, dtype=np.int64)
    set_to, added = x.copy(), x.copy()
    np.put_along_axis(set_to, s, u, 1)
    np.put_along_axis(added, s, np.take_along_axis(x, s, 1) + u, 1)
    case("ScatterElements", [x, s, u], set_to, axis=1)
    case("ScatterElements", [x, s, u], added, "add", axis=1, reduction="add")
    case("Scatter", [x, s, u], set_to, axis=1, opset=10)
    case("Trilu", [x], np.triu(x))
    case("Trilu", [x, np.int64(-1)], np.tril(x, -1), "lower", upper=0, constants=(1,))
    case("OneHot", [i64(1, -1, 0), i64(4), np.array([2, 5], f32)],
         np.array([[2, 5, 2, 2], [2, 2, 2, 5], [5, 2, 2, 2]], f32), constants=(1,))
    lengths = i64(1, 3)
    r = real(3, 2)
    turned = r.copy()
    turned[:3, 1] = r[2::-1, 1]
    case("ReverseSequence", [r, lengths], turned, batch_axis=1, time_axis=0)
    case("Shape", [x], i64(2, 3, 4))
    case("Size", [x], np.int64(24))
    case("ConstantOfShape", [i64(2, 3)], np.full((2, 3), 7, np.int32), value=np.array([7], np.int32), constants=(0,))
    case("Range", [np.int64(2), np.int64(11), np.int64(3)], i64(2, 5, 8), constants=(0, 1, 2))
    case("EyeLike", [real(3, 4)], np.eye(3, 4, 1, dtype=f32), k=1)
    case("NonZero", [np.array([[1, 0], [1, 1]], f32)], i64(0, 1, 1, 0, 0, 1).reshape(2, 3), constants=(0,))
    n = np.arange(6)
    case("HannWindow", [np.int64(6)], (0.5 - 0.5 * np.cos(2 * np.pi * n / 6)).astype(f32), constants=(0,))
    case("HammingWindow", [np.int64(6)], (25 / 46 - 21 / 46 * np.cos(2 * np.pi * n / 6)).astype(f32), constants=(0,))
    case("BlackmanWindow", [np.int64(6)],
         (0.42 - 0.5 * np.cos(2 * np.pi * n / 6) + 0.08 * np.cos(4 * np.pi * n / 6)).astype(f32), constants=(0,))


def depth():
    x = real(1, 8, 2, 3)
    made = x.reshape(1, 2, 2, 2, 2, 3).transpose(0, 3, 4, 1, 5, 2).reshape(1, 2, 4, 6)
    case("DepthToSpace", [x], made, blocksize=2)
    case("DepthToSpace", [x], x.reshape(1, 2, 2, 2, 2, 3).transpose(0, 1, 4, 2, 5, 3).reshape(1, 2, 4, 6), "crd",
         blocksize=2, mode="CRD")
    case("SpaceToDepth", [made], x, blocksize=2)


def rows():
    x = real(2, 3, 4)
    w = x.astype(np.float64)
    for op, f in [("ReduceSum", np.sum), ("ReduceMean", np.mean), ("ReduceMax", np.max), ("ReduceMin", np.min),
                  ("ReduceProd", np.prod), ("ReduceL1", lambda v, **k: np.sum(np.abs(v), **k)),
                  ("ReduceL2", lambda v, **k: np.sqrt(np.sum(v * v, **k))),
                  ("ReduceSumSquare", lambda v, **k: np.sum(v * v, **k)),
                  ("ReduceLogSumExp", lambda v, **k: np.log(np.sum(np.exp(v), **k)))]:
        case(op, [x, i64(1)], f(w, axis=1, keepdims=True).astype(f32), "keep", constants=(1,))
        case(op, [x], np.asarray(f(w)).astype(f32), "all", keepdims=0)
    case("ReduceLogSum", [np.abs(x) + 1, i64(-1)], np.log(np.sum(np.abs(w) + 1, 2)).astype(f32), keepdims=0,
         constants=(1,))
    exp = np.exp(w - w.max(1, keepdims=True))
    soft = exp / exp.sum(1, keepdims=True)
    case("Softmax", [x], soft.astype(f32), axis=1)
    case("LogSoftmax", [x], np.log(soft).astype(f32), axis=1)
    case("Hardmax", [x], (np.arange(4) == x.argmax(-1)[..., None]).astype(f32))
    case("ArgMax", [x], x.argmax(1)[:, None], axis=1)
    case("ArgMin", [x], x.argmin(2), axis=2, keepdims=0)
    order = np.argsort(-x, -1, kind="stable")[..., :2]
    case("TopK", [x, i64(2)], [np.take_along_axis(x, order, -1), order], constants=(1,))
    case("CumSum", [x, np.int32(1)], np.cumsum(x, 1), constants=(1,))
    case("CumSum", [x, np.int32(2)], np.cumsum(w[..., ::-1], 2)[..., ::-1].astype(f32), "reverse", reverse=1,
         constants=(1,))
    case("CumProd", [x, np.int32(1)], np.cumprod(x, 1), opset=26, constants=(1,))
    mean, var = w.mean(-1, keepdims=True), w.var(-1, keepdims=True)
    g, b = real(4), real(4)
    case("LayerNormalization", [x, g, b], ((w - mean) / np.sqrt(var + 1e-5) * g + b).astype(f32))
    case("RMSNormalization", [x, g], (w / np.sqrt((w * w).mean(-1, keepdims=True) + 1e-5) * g).astype(f32), opset=23)
    c = real(2, 4, 3)
    wc = c.astype(np.float64)
    s, h, m, v = real(4), real(4), real(4), np.abs(real(4)) + 0.5
    at = lambda a: a[:, None]
    case("BatchNormalization", [c, s, h, m, v], ((wc - at(m)) / np.sqrt(at(v) + 1e-5) * at(s) + at(h)).astype(f32))
    norm = (wc - wc.mean(2, keepdims=True)) / np.sqrt(wc.var(2, keepdims=True) + 1e-5)
    case("InstanceNormalization", [c, s, h], (norm * at(s) + at(h)).astype(f32))
    grouped = wc.reshape(2, 2, 6)
    grouped = ((grouped - grouped.mean(2, keepdims=True)) / np.sqrt(grouped.var(2, keepdims=True) + 1e-5))
    case("GroupNormalization", [c, s, h], (grouped.reshape(2, 4, 3) * at(s) + at(h)).astype(f32), num_groups=2)
    case("LpNormalization", [x], (w / np.sqrt((w * w).sum(1, keepdims=True))).astype(f32), axis=1)
    i = real(2, 3, 2, 2)
    wi = i.astype(np.float64)
    mvn = (wi - wi.mean((0, 2, 3), keepdims=True)) / (wi.std((0, 2, 3), keepdims=True) + 1e-9)
    case("MeanVarianceNormalization", [i], mvn.astype(f32))
    squares = np.zeros_like(wi)
    for k in range(3):
        squares[:, k] = (wi[:, max(0, k - 1):k + 2]**2).sum(1)
    case("LRN", [i], (wi / (1 + 1e-4 / 3 * squares)**0.75).astype(f32), size=3)


def windows():
    def columns(x, kernel, stride, pads, dilation=(1, 1), fill=0.0):
        """[N, C, P, Q, R, S]"""
        x = np.pad(x.astype(np.float64), [(0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])],
                   constant_values=fill)
        p = (x.shape[2] - dilation[0] * (kernel[0] - 1) - 1) // stride[0] + 1
        q = (x.shape[3] - dilation[1] * (kernel[1] - 1) - 1) // stride[1] + 1
        out = np.zeros(x.shape[:2] + (p, q) + tuple(kernel))
        for r in range(kernel[0]):
            for s in range(kernel[1]):
                out[..., r, s] = x[:, :, r * dilation[0]:r * dilation[0] + p * stride[0]:stride[0],
                                   s * dilation[1]:s * dilation[1] + q * stride[1]:stride[1]]
        return out

    x, w, b = real(2, 4, 6, 5), real(6, 4, 3, 2), real(6)
    made = np.einsum("ncpqrs,kcrs->nkpq", columns(x, (3, 2), (2, 1), (1, 0, 1, 1)), w) + b[:, None, None]
    case("Conv", [x, w, b], made.astype(f32), pads=[1, 0, 1, 1], strides=[2, 1])
    g = real(6, 2, 3, 3)
    made = np.concatenate([np.einsum("ncpqrs,kcrs->nkpq", columns(x[:, 2 * h:2 * h + 2], (3, 3), (1, 1), (2, 2, 2, 2),
                                                                  (2, 2)), g[3 * h:3 * h + 3]) for h in range(2)], 1)
    case("Conv", [x, g], made.astype(f32), "groups", group=2, pads=[2, 2, 2, 2], dilations=[2, 2])
    d = real(4, 1, 3, 3)
    made = np.einsum("ncpqrs,crs->ncpq", columns(x, (3, 3), (1, 1), (1, 1, 1, 1)), d[:, 0])
    case("Conv", [x, d], made.astype(f32), "depthwise", group=4, auto_pad="SAME_UPPER")
    t = real(4, 3, 3, 3)
    full = np.zeros((2, 3, 2 * 5 + 3, 2 * 4 + 3))
    for r in range(3):
        for s in range(3):
            full[:, :, r:r + 12:2, s:s + 10:2] += np.einsum("nchw,ck->nkhw", x.astype(np.float64), t[:, :, r, s])
    case("ConvTranspose", [x, t], full[:, :, 1:-1, 1:-1].astype(f32), strides=[2, 2], pads=[1, 1, 1, 1])
    low = columns(x, (3, 2), (2, 1), (1, 0, 1, 1), fill=-np.inf)
    case("MaxPool", [x], low.max((4, 5)).astype(f32), kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1])
    tiles = columns(x, (3, 2), (2, 1), (1, 0, 1, 1))
    count = columns(np.ones_like(x), (3, 2), (2, 1), (1, 0, 1, 1)).sum((4, 5))
    case("AveragePool", [x], (tiles.sum((4, 5)) / count).astype(f32), kernel_shape=[3, 2], strides=[2, 1],
         pads=[1, 0, 1, 1])
    case("AveragePool", [x], (tiles.mean((4, 5))).astype(f32), "padded", kernel_shape=[3, 2], strides=[2, 1],
         pads=[1, 0, 1, 1], count_include_pad=1)
    case("LpPool", [x], np.sqrt((columns(x, (2, 2), (2, 2), (0, 0, 0, 0))**2).sum((4, 5))).astype(f32),
         kernel_shape=[2, 2], strides=[2, 2])
    case("GlobalAveragePool", [x], x.astype(np.float64).mean((2, 3), keepdims=True).astype(f32))
    case("GlobalMaxPool", [x], x.max((2, 3), keepdims=True))
    case("GlobalLpPool", [x], np.sqrt((x.astype(np.float64)**2).sum((2, 3), keepdims=True)).astype(f32))
    u = x[:1, :2, :3, :3]
    case("Resize", [u, None, np.array([1, 1, 2, 2], f32)], u.repeat(2, 2).repeat(2, 3), "nearest", mode="nearest",
         coordinate_transformation_mode="asymmetric", nearest_mode="floor", constants=(2,))
    at = np.clip((np.arange(6) + 0.5) / 2 - 0.5, 0, 2)
    lerp = np.maximum(0, 1 - np.abs(at[:, None] - np.arange(3)))
    case("Resize", [u, None, None, i64(1, 2, 6, 6)], np.einsum("ncij,pi,qj->ncpq", u, lerp, lerp).astype(f32),
         "linear", mode="linear", constants=(3,))
    case("Upsample", [u, np.array([1, 1, 2, 3], f32)], u.repeat(2, 2).repeat(3, 3), opset=9, constants=(1,))


def products():
    a, b = real(2, 3, 4), real(4, 5)
    case("MatMul", [a, b], (a.astype(np.float64) @ b).astype(f32))
    v = real(4)
    case("MatMul", [v, b], (v.astype(np.float64) @ b).astype(f32), "vector")
    c = real(5)
    m, n = real(4, 3), real(5, 4)
    case("Gemm", [m, n, c], (0.5 * (m.T.astype(np.float64) @ n.T) + 2.0 * c).astype(f32), transA=1, transB=1,
         alpha=0.5, beta=2.0)
    q, k = real(2, 3, 4), real(2, 5, 4)
    case("Einsum", [q, k], np.einsum("bij,bkj->bik", q.astype(np.float64), k).astype(f32), equation="bij,bkj->bik")
    case("Einsum", [a], np.einsum("ijk->k", a.astype(np.float64)).astype(f32), "sum", equation="ijk->k")
    q, k, v = real(1, 2, 3, 4), real(1, 2, 5, 4), real(1, 2, 5, 6)
    score = q.astype(np.float64) @ k.transpose(0, 1, 3, 2) / 2
    e = np.exp(score - score.max(-1, keepdims=True))
    case("Attention", [q, k, v], (e / e.sum(-1, keepdims=True) @ v).astype(f32), opset=23)
    x, cos, sin = real(1, 2, 3, 4), real(1, 3, 2), real(1, 3, 2)
    left, right = x[..., :2], x[..., 2:]
    turned = np.concatenate([cos[:, None] * left - sin[:, None] * right, sin[:, None] * left + cos[:, None] * right],
                            -1)
    case("RotaryEmbedding", [x, cos, sin], turned.astype(f32), opset=23)


def quantised():
    x = real(3, 4) * 3
    scale, zero = f32(0.05), np.uint8(120)
    quantise = lambda v, s, z: np.clip(np.round(v / s) + z, 0, 255).astype(np.uint8)
    case("QuantizeLinear", [x, scale, zero], quantise(x, scale, zero))
    q = whole(3, 4, low=0, high=255, dtype=np.uint8)
    case("DequantizeLinear", [q, scale, zero], ((q.astype(np.int32) - zero) * scale).astype(f32))
    scales = np.array([0.5, 0.25, 2], f32)
    case("DequantizeLinear", [q.astype(np.int8), scales], (q.astype(np.int8) * scales[:, None]).astype(f32), "axis",
         axis=0)
    low, high = min(x.min(), 0), max(x.max(), 0)
    s = f32((high - low) / 255)
    z = np.uint8(np.round(-low / s))
    case("DynamicQuantizeLinear", [x], [quantise(x, s, z), s, z])
    a, b = whole(3, 4, low=0, high=255, dtype=np.uint8), whole(4, 5, low=-127, high=127, dtype=np.int8)
    exact = (a.astype(np.int32) - 7) @ (b.astype(np.int32) - 3)
    case("MatMulInteger", [a, b, np.uint8(7), np.int8(3)], exact.astype(np.int32))
    sa, sb, sy, zy = f32(0.02), f32(0.01), f32(0.1), np.uint8(90)
    case("QLinearMatMul", [a, sa, np.uint8(7), b, sb, np.int8(3), sy, zy],
         np.clip(np.rint(exact * np.float64(sa * sb / sy) + zy), 0, 255).astype(np.uint8))
    i, w = whole(1, 2, 4, 4, low=0, high=255, dtype=np.uint8), whole(3, 2, 3, 3, low=-127, high=127, dtype=np.int8)
    tiles = np.zeros((1, 2, 2, 2, 3, 3), np.int64)
    for r in range(3):
        for t in range(3):
            tiles[..., r, t] = i[:, :, r:r + 2, t:t + 2].astype(np.int64) - 100
    exact = np.einsum("ncpqrs,kcrs->nkpq", tiles, w.astype(np.int64))
    case("ConvInteger", [i, w, np.uint8(100)], exact.astype(np.int32))
    # Padding has the value of the zero point, which is an input here.
    inside = np.pad(i.astype(np.int64) - 100, ((0, 0), (0, 0), (1, 2), (0, 1)))
    made = sum(np.einsum("ncpq,kc->nkpq", inside[:, :, r:r + 5:2, t:t + 3], w[:, :, r, t].astype(np.int64) - 3)
               for r in range(3) for t in range(3))
    case("ConvInteger", [i, w, np.uint8(100), np.int8(3)], made.astype(np.int32), "padded", pads=[1, 0, 2, 1],
         strides=[2, 1])
    ws, bias = np.array([0.01, 0.02, 0.03], f32), whole(3, low=-500, high=500)
    y = (exact + bias[:, None, None]) * (sa * ws / sy).astype(np.float64)[:, None, None]
    case("QLinearConv", [i, sa, np.uint8(100), w, ws, np.zeros(3, np.int8), sy, zy, bias],
         np.clip(np.rint(y + zy), 0, 255).astype(np.uint8))


def sequences():
    sigmoid = lambda v: 1 / (1 + np.exp(-v))
    steps, batch, size, hidden = 3, 2, 4, 5
    x = real(steps, batch, size, low=-1, high=1)

    def weights(gates, directions=1):
        return [real(directions, gates * hidden, size, low=-0.5, high=0.5),
                real(directions, gates * hidden, hidden, low=-0.5, high=0.5),
                real(directions, 2 * gates * hidden, low=-0.5, high=0.5)]

    w, r, b = weights(1)
    h, ys = np.zeros((batch, hidden)), []
    for t in range(steps):
        h = np.tanh(x[t] @ w[0].T + h @ r[0].T + b[0, :hidden] + b[0, hidden:])
        ys.append(h)
    case("RNN", [x, w, r, b], [np.stack(ys)[:, None].astype(f32), h[None].astype(f32)], hidden_size=hidden)
    w, r, b = weights(4)
    h, c, ys = np.zeros((batch, hidden)), np.zeros((batch, hidden)), []
    for t in range(steps):
        i, o, f, g = np.split(x[t] @ w[0].T + h @ r[0].T + b[0, :4 * hidden] + b[0, 4 * hidden:], 4, 1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        ys.append(h)
    case("LSTM", [x, w, r, b], [np.stack(ys)[:, None].astype(f32), h[None].astype(f32), c[None].astype(f32)],
         hidden_size=hidden)
    w, r, b = weights(3)
    h, ys = np.zeros((batch, hidden)), []
    for t in reversed(range(steps)):
        z, u, g = np.split(x[t] @ w[0].T + b[0, :3 * hidden], 3, 1)
        rz, ru, rg = np.split(h @ r[0].T + b[0, 3 * hidden:], 3, 1)
        z, u = sigmoid(z + rz), sigmoid(u + ru)
        g = np.tanh(g + u * rg)
        h = (1 - z) * g + z * h
        ys.insert(0, h)
    case("GRU", [x, w, r, b], [np.stack(ys)[:, None].astype(f32), h[None].astype(f32)], "backward",
         hidden_size=hidden, direction="reverse", linear_before_reset=1)


def losses():
    x, target = real(3, 5), i64(1, 0, 4)
    log = x.astype(np.float64) - np.log(np.exp(x.astype(np.float64)).sum(1, keepdims=True))
    case("SoftmaxCrossEntropyLoss", [x, target], np.asarray(-log[np.arange(3), target].mean()).astype(f32))
    case("NegativeLogLikelihoodLoss", [x, target], (-x[np.arange(3), target]), reduction="none")


def sampling():
    x = real(2, 3, 4, 5)
    grid = real(2, 2, 3, 2, low=-1.3, high=1.3)

    def taps(places, size, cubic):
        """Weights of all elements of a dimension for each place; beyond it there are zeros."""
        d = places[..., None] - np.arange(size)
        if not cubic:
            return np.maximum(0, 1 - np.abs(d))
        d, a = np.abs(d), -0.75
        return np.where(d <= 1, ((a + 2) * d - (a + 3)) * d * d + 1,
                        np.where(d < 2, (((d - 5) * d + 8) * d - 4) * a, 0))

    place = [((grid[..., 1 - i].astype(np.float64) + 1) * n - 1) / 2 for i, n in enumerate((4, 5))]
    for mode in ("linear", "cubic"):
        wy, wx = (taps(p, n, mode == "cubic") for p, n in zip(place, (4, 5)))
        case("GridSample", [x, grid], np.einsum("ncij,npqi,npqj->ncpq", x, wy, wx).astype(f32), mode, mode=mode)
    corner = [np.round((grid[..., 1 - i].astype(np.float64) + 1) / 2 * (n - 1)).astype(int)
              for i, n in enumerate((4, 5))]
    y, z = np.clip(corner[0], 0, 3), np.clip(corner[1], 0, 4)
    case("GridSample", [x, grid], np.stack([x[n][:, y[n], z[n]] for n in range(2)]), "border", mode="nearest",
         padding_mode="border", align_corners=1)
    theta = real(2, 2, 3)
    h, w = np.meshgrid((2 * np.arange(3) + 1) / 3 - 1, (2 * np.arange(4) + 1) / 4 - 1, indexing="ij")
    case("AffineGrid", [theta, i64(2, 1, 3, 4)],
         np.einsum("nab,pqb->npqa", theta, np.stack([w, h, np.ones_like(h)], -1)).astype(f32), constants=(1,))
    signal = real(2, 6, 2)
    complex_signal = signal[..., 0] + 1j * signal[..., 1].astype(np.float64)
    parts = lambda c: np.stack([c.real, c.imag], -1).astype(f32)
    case("DFT", [signal], parts(np.fft.fft(complex_signal, axis=1)))
    case("DFT", [signal, i64(4)[0]], parts(np.fft.ifft(complex_signal, 4, axis=1)), "inverse", inverse=1,
         constants=(1,))
    case("DFT", [signal[..., :1]], parts(np.fft.rfft(signal[..., 0].astype(np.float64), axis=1)), "onesided",
         onesided=1)
    blocks = real(1, 2 * 4, 6)
    image = np.zeros((1, 2, 3, 4))
    for r in range(2):
        for t in range(2):
            image[:, :, r:r + 2, t:t + 3] += blocks.reshape(1, 2, 2, 2, 2, 3)[:, :, r, t]
    case("Col2Im", [blocks, i64(3, 4), i64(2, 2)], image.astype(f32), constants=(1, 2))
    data, index, updates = real(3, 4, 2), i64(0, 1, -1, 3, 0, 1).reshape(3, 2), real(3, 2)
    set_to, added = data.copy(), data.astype(np.float64)
    for (i, j), u in zip(index, updates):
        set_to[i, j] = u
        added[i, j] += u
    case("ScatterND", [data, index, updates], set_to)
    case("ScatterND", [data, index, updates], added.astype(f32), "add", reduction="add")
    a, b = real(2, 3), real(2, 3)
    case("SwiGLU", [a, b], (a / (1 + np.exp(-1.5 * a.astype(np.float64))) * b).astype(f32), opset=28, alpha=1.5)
    case("Pad", [a, i64(0, 1, 1, 0), f32(2)], np.pad(a, [(0, 1), (1, 0)], constant_values=2), "value", constants=(1,))


def steps():
    """Bodies that run a known number of times."""
    scalar, flag, state = np.zeros((), np.int64), np.zeros((), np.bool_), real(3)
    total, parts = state.copy(), []
    for k in range(4):
        total = total * state
        parts.append(total + k)
    body = graph([node("Identity", ["c"], ["d"], {}), node("Mul", ["s", "x1"], ["t"], {}),
                  node("Cast", ["k"], ["f"], {"to": 1}), node("Add", ["t", "f"], ["u"], {})],
                 [("k", scalar), ("c", flag), ("s", state)], [("d", flag), ("t", state), ("u", state)])
    inputs = [("n", np.asarray(np.int64(4))), ("x1", state)]
    made = [("y0", total), ("y1", np.stack(parts))]
    save("Loop", graph([node("Loop", ["n", "", "x1"], ["y0", "y1"], {"body": body})], inputs[1:], made, inputs[:1]),
         inputs[1:], made, 21)
    x, total, parts = real(2, 4), np.zeros(2, f32), []
    for k in reversed(range(4)):
        total = total + x[:, k]
        parts.append(total)
    body = graph([node("Add", ["s", "e"], ["t"], {}), node("Identity", ["t"], ["u"], {})],
                 [("s", total), ("e", total)], [("t", total), ("u", total)])
    inputs, made = [("x0", np.zeros(2, f32)), ("x1", x)], [("y0", total), ("y1", np.stack(parts, 1))]
    attributes = {"body": body, "num_scan_inputs": 1, "scan_input_axes": [1], "scan_input_directions": [1],
                  "scan_output_axes": [1]}
    save("Scan", graph([node("Scan", ["x0", "x1"], ["y0", "y1"], attributes)], inputs, made), inputs, made, 21)


def states():
    """What one call leaves for the next."""
    x, w, b, past = real(2, 3, 5), real(3, 1, 3), real(3), real(2, 3, 2)
    whole = np.concatenate([past, x], 2).astype(np.float64)
    made = sum(whole[:, :, r:r + 5] * w[:, :, r] for r in range(3)) + b[:, None]
    case("CausalConvWithState", [x, w, b, past], [(made / (1 + np.exp(-made))).astype(f32), whole[:, :, 5:].astype(f32)],
         opset=27, activation="silu")
    whole[:, :, :2] = 0
    case("CausalConvWithState", [x, w], [sum(whole[:, :, r:r + 5] * w[:, :, r] for r in range(3)).astype(f32),
                                         whole[:, :, 5:].astype(f32)], "first", opset=27)
    q, k, v, state = real(1, 3, 2 * 2 * 4), real(1, 3, 2 * 4), real(1, 3, 2 * 3), real(1, 2, 4, 3)
    decay, rate = -np.abs(real(1, 3, 2)), np.abs(real(1, 3, 2))
    s, out = state.astype(np.float64), np.zeros((1, 3, 4, 3))
    for t in range(3):
        key, value = k[:, t].reshape(1, 2, 4), v[:, t].reshape(1, 2, 3)
        s = s * np.exp(decay[:, t].astype(np.float64))[:, :, None, None]
        value = rate[:, t, :, None] * (value - np.einsum("bgde,bgd->bge", s, key))
        s = s + key[..., :, None] * value[..., None, :]
        out[:, t] = np.einsum("bgrd,bgde->bgre", q[:, t].reshape(1, 2, 2, 4), s).reshape(1, 4, 3) / 2
    case("LinearAttention", [q, k, v, state, decay, rate], [out.reshape(1, 3, 12).astype(f32), s.astype(f32)], opset=27,
         q_num_heads=4, kv_num_heads=2)
    cache, update, first = real(2, 3, 5, 2), real(2, 3, 2, 2), i64(4, 1)
    new = cache.copy()
    for n in range(2):
        for j in range(2):
            new[n, :, (first[n] + j) % 5] = update[n, :, j]
    case("TensorScatter", [cache, update, first], new, opset=24, mode="circular")
    new = cache.copy()
    new[:, :, :2] = update
    case("TensorScatter", [cache, update], new, "first", opset=24)


def regions():
    """Between the elements of an image."""
    x = real(2, 3, 6, 5)

    def sample(image, y, z):
        """An image [channels, H, W] at a place; beyond it is 0."""
        low_y, low_z = int(np.floor(y)), int(np.floor(z))
        made = np.zeros(image.shape[0])
        for a in (low_y, low_y + 1):
            for b in (low_z, low_z + 1):
                if 0 <= a < image.shape[1] and 0 <= b < image.shape[2]:
                    made += image[:, a, b] * (1 - abs(y - a)) * (1 - abs(z - b))
        return made

    rois, batch = np.array([[1, 2, 7, 9], [0, 0, 30, 4], [-6, 3, 5, 8]], f32), i64(1, 0, 1)
    samples = np.zeros((3, 3, 2, 3, 2, 2))
    for r in range(3):
        x1, y1, x2, y2 = rois[r].astype(np.float64) * 0.5 - 0.5
        for i, j, a, b in np.ndindex(2, 3, 2, 2):
            y, z = y1 + (i + (a + 0.5) / 2) * (y2 - y1) / 2, x1 + (j + (b + 0.5) / 2) * (x2 - x1) / 3
            if -1 <= y <= 6 and -1 <= z <= 5:
                samples[r, :, i, j, a, b] = sample(x[batch[r]], np.clip(y, 0, 5), np.clip(z, 0, 4))
    case("RoiAlign", [x, rois, batch], samples.mean((4, 5)).astype(f32), opset=22, output_height=2, output_width=3,
         sampling_ratio=2, spatial_scale=0.5)
    x, w, b = real(1, 4, 5, 4), real(2, 2, 3, 2), real(2)
    offsets, mask = real(1, 2 * 2 * 6, 3, 3), real(1, 2 * 6, 3, 3)
    made = np.zeros((1, 2, 3, 3)) + b[:, None, None]
    for k, p, q, r, s in np.ndindex(2, 3, 3, 3, 2):
        for c in range(2):
            channel = 2 * k + c  # of two groups, each with one output and offsets of its own
            e = k * 6 + r * 2 + s
            y, z = 2 * p + r - 1 + offsets[0, 2 * e, p, q], q + s + offsets[0, 2 * e + 1, p, q]
            made[0, k, p, q] += w[k, c, r, s] * mask[0, e, p, q] * sample(x[0, channel:channel + 1], y, z)[0]
    case("DeformConv", [x, w, offsets, b, mask], made.astype(f32), opset=22, group=2, offset_group=2, strides=[2, 1],
         pads=[1, 0, 1, 0])
    x, at = real(1, 2, 2, 2), i64(0, 3, 9, 14, 18, 18, 25, 31).reshape(1, 2, 2, 2)
    made = np.zeros(32, f32)
    made[at.ravel()] = x.ravel()
    case("MaxUnpool", [x, at], made.reshape(1, 2, 4, 4), opset=22, kernel_shape=[2, 2], strides=[2, 2])
    larger = np.zeros((1, 2, 5, 6), f32)
    larger[:, :, :4, :4] = made.reshape(1, 2, 4, 4)
    case("MaxUnpool", [x, at, i64(1, 2, 5, 6)], larger, "larger", opset=22, kernel_shape=[2, 2], strides=[2, 2],
         constants=(2,))


def later():
    """Operators that were added after the others: numbers are drawn behind theirs."""
    signal, window = real(2, 9, 1), real(4)
    frames = np.stack([signal[:, 2 * f:2 * f + 4, 0] * window for f in range(3)], 1).astype(np.float64)
    parts = lambda c: np.stack([c.real, c.imag], -1).astype(f32)
    case("STFT", [signal, i64(2)[0], window], parts(np.fft.rfft(frames, axis=2)), constants=(1,))
    mel = np.zeros((9, 3), f32)
    edges = 700 * (10**((np.arange(5) * (2595 * np.log10(1 + 3000 / 700)) / 5) / 2595) - 1)
    edges = np.floor(17 * edges / 8000).astype(int)
    for band in range(3):
        first, peak, last = edges[band:band + 3]
        mel[peak, band] = 1
        for j in range(first, peak):
            mel[j, band] = (j - first) / (peak - first)
        for j in range(peak, last):
            mel[j, band] = (last - j) / (last - peak)
    case("MelWeightMatrix", [i64(3)[0], i64(16)[0], i64(8000)[0], f32(0), f32(3000)], mel, constants=(0, 1, 2, 3, 4))
    x, holds = real(3, 4), np.array([True, False, True])
    case("Compress", [x, holds], x[holds], constants=(1,), axis=0)
    case("Compress", [x, np.array([0, 1, 1, 0, 0, 0, 1], bool)], x.ravel()[[1, 2, 6]], "flat", constants=(1,))
    numbers = whole(2, 3, low=-5, high=5)
    case("BitCast", [numbers], numbers.view(np.uint32), opset=26, to=12)
    a = real(2, 4, 4)
    case("Det", [a], np.linalg.det(a.astype(np.float64)).astype(f32))
    c, s, h, m, v = real(3, 4, 2), real(4), real(4), real(4), np.abs(real(4)) + 0.5
    wide = c.astype(np.float64)
    mean, var = wide.mean((0, 2)), wide.var((0, 2))
    made = (wide - mean[:, None]) / np.sqrt(var + 1e-5)[:, None] * s[:, None] + h[:, None]
    case("BatchNormalization", [c, s, h, m, v], [made.astype(f32), (0.8 * m + 0.2 * mean).astype(f32),
                                                 (0.8 * v + 0.2 * var).astype(f32)], "training", opset=15,
         training_mode=1, momentum=0.8)
    x = np.array([-9.5, -8, -3, -0.5, 0, 2.9, 7, 8, 15, 17], f32)
    low = np.trunc(x).astype(np.int64) & 15
    case("Cast", [x], np.where(low > 7, low - 16, low).astype(np.int8), "narrow", opset=21, to=22)
    q, k, v = real(1, 4, 3, 2), real(1, 2, 5, 2), real(1, 2, 5, 3)
    score = np.einsum("bgrid,bgjd->bgrij", q.reshape(1, 2, 2, 3, 2).astype(np.float64), k).reshape(1, 4, 3, 5) * 0.25
    e = np.exp(np.tanh(score) - 1)
    e = (e / e.sum(-1, keepdims=True)).reshape(1, 2, 2, 3, 5)
    body = graph([node("Tanh", ["s"], ["t"], {})], [("s", score.astype(f32))], [("t", score.astype(f32))])
    case("FlexAttention", [q, k, v], np.einsum("bgrij,bgje->bgrie", e, v).reshape(1, 4, 3, 3).astype(f32), opset=26,
         domain="ai.onnx.preview", score_mod=body, scale=0.25)


def bytes_lstm():
    """Onnxruntime's LSTM with weights of bytes: inputs and states become bytes in each call and step."""
    def quantise(v):
        low, high = f32(min(v.min(), 0)), f32(max(v.max(), 0))
        scale = f32((high - low) / f32(255)) if high > low else f32(1)
        zero = np.rint(-low / scale).astype(np.uint8)
        return np.clip(np.rint(v / scale) + zero, 0, 255).astype(np.int64) - int(zero), scale

    steps, batch, size, hidden = 3, 2, 5, 4
    x, b = real(steps, batch, size), real(1, 8 * hidden)
    w = whole(1, size, 4 * hidden, low=-127, high=127, dtype=np.int8)
    r = whole(1, hidden, 4 * hidden, low=-127, high=127, dtype=np.int8)
    scales, zeros = np.array([0.01], f32), np.array([3], np.int8)
    h, c, made = np.zeros((batch, hidden)), np.zeros((batch, hidden)), []
    data, scale = quantise(x)
    of_inputs = (data @ (w[0].astype(np.int64) - 3)) * (scale * scales[0])
    sigmoid = lambda v: 1 / (1 + np.exp(-v))
    for t in range(steps):
        data, scale = quantise(h.astype(f32))
        gates = of_inputs[t] + (data @ (r[0].astype(np.int64) - 3)) * (scale * scales[0])
        gates = gates + b[0, :4 * hidden] + b[0, 4 * hidden:]
        i, o, f, g = (gates[:, n * hidden:(n + 1) * hidden] for n in range(4))
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        made.append(h)
    case("DynamicQuantizeLSTM", [x, w, r, b, None, None, None, None, scales, zeros, scales, zeros],
         [np.stack(made)[:, None].astype(f32), h[None].astype(f32), c[None].astype(f32)], opset=12,
         domain="com.microsoft", constants=(1, 2, 3, 8, 9, 10, 11), hidden_size=hidden)


def long_rows():
    """Operators whose statements are others where rows are long."""
    x = whole(2, 100, 3, low=-9, high=9).astype(f32)  # with equal elements
    order = np.argsort(-x, 1, kind="stable")[:, :3]
    case("TopK", [x, i64(3)], [np.take_along_axis(x, order, 1), order], "blocks", constants=(1,), axis=1)
    order = np.argsort(x, 1, kind="stable")[:, :2]
    case("TopK", [x, i64(2)], [np.take_along_axis(x, order, 1), order], "blocks-smallest", constants=(1,), axis=1,
         largest=0)
    case("CumSum", [x, np.int32(1)], np.cumsum(x, 1), "long", constants=(1,))
    before = np.cumsum(x[:, ::-1], 1)[:, ::-1] - x
    case("CumSum", [x, np.int32(1)], before, "long-exclusive", exclusive=1, reverse=1, constants=(1,))
    signal = real(2, 64, 3, 2)
    complex_signal = signal[..., 0] + 1j * signal[..., 1].astype(np.float64)
    parts = lambda c: np.stack([c.real, c.imag], -1).astype(f32)
    case("DFT", [signal], parts(np.fft.fft(complex_signal, axis=1)), "long", opset=17)
    case("DFT", [signal, i64(72)[0]], parts(np.fft.ifft(complex_signal, 72, axis=1)), "inverse-long", opset=17,
         inverse=1, constants=(1,))
    case("DFT", [signal, i64(60)[0]], parts(np.fft.fft(complex_signal, 60, axis=1)), "shorter", opset=17,
         constants=(1,))
    rows = real(2, 160, 1)
    case("DFT", [rows], parts(np.fft.rfft(rows[..., 0].astype(np.float64), axis=1)), "onesided-long", opset=17,
         onesided=1)
    window = real(128)
    frames = np.stack([rows[:, 16 * f:16 * f + 128, 0] * window for f in range(3)], 1).astype(np.float64)
    case("STFT", [rows, i64(16)[0], window], parts(np.fft.rfft(frames, axis=2)), "long", constants=(1,))
    case("STFT", [rows, i64(16)[0], window], parts(np.fft.rfft(frames, axis=2)), "window", constants=(1, 2))


def phases():
    """Transposed windows whose phases have as many taps each."""
    for note, strides, taps, before, extra, groups in (("phases", (2, 3), (4, 3), (1, 2), (1, 0), 1),
                                                       ("phases-groups", (2, 1), (2, 3), (0, 1), (0, 0), 2),
                                                       ("phases-late", (3, 2), (6, 6), (4, 5), (0, 1), 1)):
        x, t, b = real(2, 4, 3, 5), real(4, 3, *taps), real(3 * groups)
        full = np.zeros((2, 3 * groups, *[s * (n - 1) + e + k for s, n, e, k in zip(strides, (3, 5), extra, taps)]))
        for c in range(4):
            g = c * groups // 4
            for i in range(3):
                for j in range(5):
                    p, q = strides[0] * i, strides[1] * j
                    full[:, 3 * g:3 * g + 3, p:p + taps[0], q:q + taps[1]] += x[:, c, i, j, None, None, None] * t[c]
        made = full[:, :, before[0]:, before[1]:] + b[:, None, None]
        case("ConvTranspose", [x, t, b], made.astype(f32), note, strides=list(strides), pads=[*before, 0, 0],
             output_padding=list(extra), group=groups, constants=(1, 2))


def packed_weights():
    """MatMulNBits: integers of 8, 4 and 2 bits in blocks along k, the lowest bits of a byte first; the last block is
    not whole."""
    for bits, zeros, flat, rank, bias in ((4, None, True, 2, False), (4, "packed", True, 3, True),
                                          (8, "packed", False, 2, False), (2, "real", False, 1, True)):
        rows, k, size = 5, 40, 16
        blocks, each = 3, 8 // bits
        pack = lambda q: sum(q[..., n::each].astype(np.int64) << bits * n for n in range(each)).astype(np.uint8)
        q = whole(rows, blocks * size, low=0, high=(1 << bits) - 1)
        scales = real(rows, blocks)
        zero, given = np.full((rows, blocks), 1 << bits - 1), None
        if zeros == "packed":
            padded = -(-blocks // each) * each
            packed = whole(rows, padded, low=0, high=(1 << bits) - 1)
            zero, given = packed[:, :blocks], pack(packed)
        elif zeros == "real":
            zero = given = real(rows, blocks)
        w = (q - np.repeat(zero, size, 1)) * np.repeat(scales, size, 1).astype(np.float64)
        x = real(*(2, 3, 4)[:rank - 1], k)
        y = x @ w[:, :k].T
        flatten = lambda a: a.reshape(-1) if flat else a
        inputs = [x, pack(q).reshape(rows, blocks, size // each), flatten(scales), None if given is None else flatten(given)]
        inputs = inputs[:3] if given is None else inputs
        if bias:
            inputs += [None, real(rows)]
            y = y + inputs[-1]
        case("MatMulNBits", inputs, y.astype(f32), f"{bits}-{zeros or 'middle'}", opset=17, domain="com.microsoft",
             constants=(1, 2) if rank == 3 else tuple(range(1, len(inputs))), N=rows, K=k, bits=bits, block_size=size)


def sorted_runs():
    """Rows whose runs are merged: 19 of 16 elements, the last one not whole, with many equal elements."""
    for largest, shape, axis in ((1, (2, 300), 1), (0, (300, 3), 0)):
        x = whole(*shape).astype(f32)
        if largest:
            x[0, 7], x[1, 299] = np.inf, -np.inf
        order = np.take(np.argsort(-x if largest else x, axis, kind="stable"), range(20), axis)
        case("TopK", [x, i64(20)], [np.take_along_axis(x, order, axis), order], "runs" if largest else "runs-smallest",
             constants=(1,), axis=axis, largest=largest)


def composed():
    """Operators of files that ONNX Runtime has optimised."""
    erf, f64 = np.vectorize(__import__("math").erf), np.float64
    foreign = dict(opset=17, domain="com.microsoft")
    gelu = lambda x: 0.5 * x * (1 + erf(x / np.sqrt(2)))
    fast = lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    x, b = real(2, 3, 6), real(6)
    case("Gelu", [x], gelu(x.astype(f64)).astype(f32), "com.microsoft", **foreign)
    case("BiasGelu", [x, b], gelu(f64(x) + b).astype(f32), constants=(1,), **foreign)
    case("FastGelu", [x], fast(x.astype(f64)).astype(f32), **foreign)
    case("FastGelu", [x, b], fast(f64(x) + b).astype(f32), "bias", constants=(1,), **foreign)
    case("QuickGelu", [x], (x / (1 + np.exp(-1.5 * x.astype(f64)))).astype(f32), alpha=1.5, **foreign)
    skip, g, c = real(2, 3, 6), real(6), real(6)
    s = x.astype(f64) + skip + c
    m, v = s.mean(-1, keepdims=True), s.var(-1, keepdims=True)
    y = (s - m) / np.sqrt(v + 1e-3) * g + b
    results = [r.astype(f32) for r in (y, m, 1 / np.sqrt(v + 1e-3), s)]
    case("SkipLayerNormalization", [x, skip, g, b, c], results, constants=(2, 3, 4), epsilon=1e-3, **foreign)
    rms = lambda s, e: (s / np.sqrt((s * s).mean(-1, keepdims=True) + e) * g).astype(f32)
    s = x.astype(f64) + skip
    y = (s - s.mean(-1, keepdims=True)) / np.sqrt(s.var(-1, keepdims=True) + 1e-12) * g
    case("SkipLayerNormalization", [x, skip, g], y.astype(f32), "short", **foreign)
    case("SkipSimplifiedLayerNormalization", [x, skip, g], rms(s, 1e-12), **foreign)
    case("SimplifiedLayerNormalization", [x, g], rms(x.astype(f64), 1e-3), opset=17, epsilon=1e-3)
    p, q = real(2, 5, 3), real(2, 4, 5)
    case("FusedMatMul", [p, q], (0.25 * np.swapaxes(p, 1, 2).astype(f64) @ np.swapaxes(q, 1, 2)).astype(f32), transA=1,
         transB=1, alpha=0.25, **foreign)
    image, w, z = real(1, 3, 5, 6), real(4, 3, 1, 1), real(1, 4, 5, 6)
    conv = np.einsum("nchw,kc->nkhw", image.astype(f64), w[:, :, 0, 0]) + b[:4].reshape(1, 4, 1, 1)
    case("FusedConv", [image, w, b[:4]], np.clip(conv, -0.5, 1).astype(f32), "clip", constants=(1, 2),
         activation="Clip", activation_params=[-0.5, 1.0], **foreign)
    case("FusedConv", [image, w, b[:4], z], np.maximum(conv + z, 0).astype(f32), "sum", constants=(1, 2),
         activation="Relu", **foreign)


def composed_integers():
    """Those of bytes: each value has a scale and a zero point."""
    f64, foreign = np.float64, dict(opset=17, domain="com.microsoft")
    given = lambda q, scale, zero: [q, f32(scale), q.dtype.type(zero)]
    reals = lambda q, scale, zero: (q.astype(f64) - zero) * f64(f32(scale))
    rounded = lambda x, scale, zero: np.clip(np.rint(x / f64(f32(scale))) + zero, 0, 255).astype(np.uint8)
    byte = lambda *shape: whole(*shape, low=0, high=255, dtype=np.uint8)
    a, b = byte(2, 3, 5), byte(2, 3, 5)
    x, y, to = reals(a, 0.0517, 120), reals(b, 0.0313, 100), [f32(0.0733), np.uint8(90)]
    two = given(a, 0.0517, 120) + given(b, 0.0313, 100)
    rest = tuple(range(1, 8))
    case("QLinearAdd", two + to, rounded(x + y, 0.0733, 90), constants=(1, 2, 4, 5, 6, 7), **foreign)
    case("QLinearMul", two + to, rounded(x * y, 0.0733, 90), constants=(1, 2, 4, 5, 6, 7), **foreign)
    case("QLinearConcat", to + two, rounded(np.concatenate([x, y], 1), 0.0733, 90), axis=1,
         constants=(0, 1, 3, 4, 6, 7), **foreign)
    one = given(a, 0.0517, 120)
    case("QLinearSigmoid", one + [f32(1 / 256), np.uint8(0)], rounded(1 / (1 + np.exp(-x)), 1 / 256, 0), constants=rest,
         **foreign)
    case("QLinearLeakyRelu", one + to, rounded(np.where(x < 0, 0.2 * x, x), 0.0733, 90), constants=rest,
         alpha=0.2, **foreign)
    image = byte(1, 3, 4, 5)
    mean = reals(image, 0.0517, 120).mean((2, 3), keepdims=True)
    case("QLinearGlobalAveragePool", given(image, 0.0517, 120) + [f32(0.0219), np.uint8(90)], rounded(mean, 0.0219, 90),
         constants=rest, **foreign)
    w, bias = whole(6, 4, low=-127, high=127, dtype=np.int8), real(4)
    scales, zeros = np.abs(real(4)) + f32(0.01), whole(4, low=-3, high=3, dtype=np.int8)
    q = byte(3, 6)
    product = (q.astype(f64) - 7) @ (w.astype(f64) - zeros) * f64(f32(0.0517)) * scales + bias
    case("MatMulIntegerToFloat", [q, w, f32(0.0517), scales, np.uint8(7), zeros, bias], product.astype(f32),
         constants=(1, 2, 3, 4, 5, 6), **foreign)
    p = real(3, 6)
    scale = (max(p.max(), 0) - min(p.min(), 0)) / f32(255)
    zero = np.rint(-min(p.min(), 0) / scale)
    q = np.clip(np.rint(p / scale) + zero, 0, 255)
    product = (q - zero).astype(f64) @ w.astype(f64) * f64(scale) * scales[0] + bias
    case("DynamicQuantizeMatMul", [p, w, scales[:1].reshape(()), None, bias], product.astype(f32), constants=(1, 2, 4),
         **foreign)
    m, n, zero = byte(5, 6), whole(4, 6, low=-127, high=127, dtype=np.int8), np.zeros(4, np.int8)
    unit, c = f64(f32(0.0517)) * scales, whole(4, low=-900, high=900)
    product = 0.5 * ((m.astype(f64) - 120) @ n.T + c) * unit
    quantised = given(m, 0.0517, 120) + [n, scales, zero, c]
    case("QGemm", quantised + [f32(9.17), np.uint8(90)], rounded(product, 9.17, 90), constants=(1, 2, 3, 4, 5, 6, 7, 8),
         alpha=0.5, transB=1, **foreign)
    case("QGemm", quantised, product.astype(f32), "real", constants=(1, 2, 3, 4, 5, 6), alpha=0.5, transB=1, **foreign)
    m, n = real(6, 3), real(4, 6)
    product = np.maximum(0.5 * (m.T.astype(f64) @ n.T) + 2.0 * bias, 0)
    case("FusedGemm", [m, n, bias], product.astype(f32), constants=(1, 2), alpha=0.5, beta=2.0,
         transA=1, transB=1, activation="Relu", **foreign)


def contributed_attention(q, k, v, bias=0, scale=None):
    """Of heads [batch, head, token, size]: the output [batch, token, head*size], and the scores."""
    f64 = np.float64
    scores = f64(q) @ np.swapaxes(f64(k), 2, 3) * (q.shape[3] ** -0.5 if scale is None else scale) + bias
    e = np.exp(scores - scores.max(-1, keepdims=True))
    y = e / e.sum(-1, keepdims=True) @ f64(v)
    return np.swapaxes(y, 1, 2).reshape(y.shape[0], y.shape[2], -1).astype(f32), scores.astype(f32)


def composed_attention():
    """MultiHeadAttention and Attention of com.microsoft: a masked key has a low score, not none."""
    foreign = dict(opset=17, domain="com.microsoft", num_heads=3)
    heads = lambda x: np.swapaxes(x.reshape(x.shape[0], x.shape[1], 3, -1), 1, 2)
    q, k, v, b = real(2, 3, 12), real(2, 5, 12), real(2, 5, 18), real(42)
    biased = [heads(q + b[:12]), heads(k + b[12:24]), heads(v + b[24:])]
    case("MultiHeadAttention", [q, k, v], contributed_attention(heads(q), heads(k), heads(v))[0], **foreign)
    seen = np.array([[1, 0, 1, 1, 0], [0, 0, 0, 0, 0]], np.int32)
    low = np.where(seen > 0, 0, -50)[:, None, None]
    case("MultiHeadAttention", [q, k, v, b, seen], contributed_attention(*biased, low, 0.3)[0], "mask",
         constants=(3,), scale=0.3, mask_filter_value=-50.0, **foreign)
    low = np.where(np.arange(5) < np.array([[4], [2]]), 0, -10000)[:, None, None]
    case("MultiHeadAttention", [q, k, v, b, np.array([4, 2], np.int32)], contributed_attention(*biased, low)[0],
         "lengths", **foreign)
    case("MultiHeadAttention", [q, heads(k), heads(v)], contributed_attention(heads(q), heads(k), heads(v))[0], "cross",
         **foreign)
    every = real(2, 4, 3, 3, 4)  # of batch, token, head, query or key or value
    parts = [np.swapaxes(every[:, :, :, n], 1, 2) for n in range(3)]
    case("MultiHeadAttention", [every], contributed_attention(*parts)[0], "packed", **foreign)
    case("MultiHeadAttention", [q, every[:, :, :, :2].copy()], contributed_attention(heads(q), *parts[:2])[0],
         "packed-keys", **foreign)
    past, added = [real(2, 3, 2, 4), real(2, 3, 2, 6)], real(1, 3, 3, 5)
    k, v = k[:, :3].copy(), v[:, :3].copy()
    present = [np.concatenate([past[0], heads(k)], 2), np.concatenate([past[1], heads(v)], 2)]
    later = np.where(np.arange(5) > 2 + np.arange(3)[:, None], -np.inf, 0)
    y = contributed_attention(heads(q), *present, added + later)[0]
    case("MultiHeadAttention", [q, k, v, None, None, added, *past], [y, *present], "past", unidirectional=1, **foreign)
    y, scores = contributed_attention(heads(q), *present, added)
    case("MultiHeadAttention", [q, k, v, None, None, added, *past], [y, *present, scores], "scores", **foreign)

    x, w, b = real(2, 3, 7), real(7, 42), real(42)
    split = lambda p: [heads(p[..., :12]), heads(p[..., 12:24]), heads(p[..., 24:])]
    sizes = dict(qkv_hidden_sizes=[12, 12, 18], **foreign)
    product = x.astype(np.float64) @ w
    case("Attention", [x, w], contributed_attention(*split(product))[0], "com.microsoft", constants=(1,), **sizes)
    seen = np.array([[[1, 0, 1], [0, 0, 0], [1, 1, 0]], [[0, 1, 1], [1, 1, 1], [0, 0, 1]]], np.int32)
    low = np.where(seen > 0, 0, -50)[:, None] + np.where(np.arange(3) > np.arange(3)[:, None], -np.inf, 0)
    case("Attention", [x, w, b, seen], contributed_attention(*split(product + b), low)[0], "com.microsoft-mask",
         constants=(1, 2), unidirectional=1, mask_filter_value=-50.0, **sizes)
    low = float(np.finfo(f32).min)  # scores are lost beside it
    far = np.where(np.arange(3) > np.arange(3)[:, None], low, np.where(seen > 0, 0, low))[:, None]
    q, k, v = split(product)
    case("Attention", [x, w, None, seen], contributed_attention(q, k, v, far)[0], "com.microsoft-lowest",
         constants=(1, 2), unidirectional=1, mask_filter_value=float(np.finfo(f32).min), **sizes)
    key = np.arange(3)
    low = np.where((key < np.array([[3], [2]])) & (key >= np.array([[1], [0]])), 0, -10000)[:, None, None]
    case("Attention", [x, w, b, np.array([3, 2, 1, 0], np.int32)], contributed_attention(*split(product + b), low)[0],
         "com.microsoft-ends", constants=(1, 2), **sizes)
    w, b, past, added = real(7, 36), real(36), real(2, 2, 3, 2, 4), real(2, 1, 3, 5)
    q, k, v = split(x.astype(np.float64) @ w + b)
    present = np.concatenate([past, np.stack([k, v])], 3)
    case("Attention", [x, w, b, None, past, added], [contributed_attention(q, *present, added)[0], present.astype(f32)],
         "com.microsoft-past", constants=(1, 2), **foreign)


def turned(x, cos, sin, at, interleaved=False):
    """The rotation of heads [batch, head, token, size] by cosines and sines of the places [batch, token]."""
    half = cos.shape[1]
    one, two = [slice(n, 2 * half, 2) if interleaved else slice(n * half, (n + 1) * half) for n in (0, 1)]
    c, s = (np.float64(table)[at][:, None] for table in (cos, sin))
    y = np.float64(x).copy()
    y[..., one], y[..., two] = c * x[..., one] - s * x[..., two], s * x[..., one] + c * x[..., two]
    return y.astype(f32)


def grouped_attention():
    """GroupQueryAttention: two heads of queries for each of keys; the new keys of a batch follow those it has."""
    foreign = dict(opset=17, domain="com.microsoft", num_heads=4, kv_num_heads=2)
    heads = lambda x, n: np.swapaxes(x.reshape(x.shape[0], x.shape[1], n, -1), 1, 2)
    each = lambda x: np.repeat(x, 2, 1)
    place = np.arange(3)
    q, k, v, cos, sin = real(2, 3, 24), real(2, 3, 12), real(2, 3, 12), real(9, 3), real(9, 3)
    three, behind = np.array([2, 2], np.int32), np.where(place > place[:, None], -np.inf, 0)
    y = contributed_attention(heads(q, 4), each(heads(k, 2)), each(heads(v, 2)), behind)[0]
    case("GroupQueryAttention", [q, k, v, None, None, three, np.int32(3)], [y, heads(k, 2), heads(v, 2)], **foreign)
    tq, tk = (turned(heads(x, n), cos, sin, np.stack([place, place])) for x, n in ((q, 4), (k, 2)))
    capped = 2 * np.tanh(contributed_attention(tq, each(tk), each(tk), 0, 0.3)[1] / 2)
    near = np.where((place > place[:, None]) | (place < place[:, None] - 1), -np.inf, 0)
    y = contributed_attention(0 * tq, each(tk), each(heads(v, 2)), capped + near)[0]
    case("GroupQueryAttention", [np.concatenate([q, k, v], 2), None, None, None, None, three, np.int32(3), cos, sin],
         [y, tk, heads(v, 2)], "packed", constants=(7, 8), do_rotary=1, softcap=2.0, scale=0.3, local_window_size=2,
         **foreign)
    for total, size in ((7, 4), (6, 8)):  # a past that grows, one in a longer buffer
        past, last = [real(2, 2, size, 6), real(2, 2, size, 6)], np.array([total - 1, total - 3], np.int32)
        at = last[:, None] - 2 + place
        tq, tk = (turned(heads(x, n), cos, sin, at, True) for x, n in ((q, 4), (k, 2)))
        present = [np.zeros((2, 2, max(total, size), 6), f32) for _ in past]
        for n, new in enumerate((tk, heads(v, 2))):
            present[n][:, :, :size] = past[n]
            for b in range(2):
                present[n][b, :, at[b]] = np.swapaxes(new[b], 0, 1)
        behind = np.where(np.arange(max(total, size)) > at[:, :, None], -np.inf, 0)[:, None]
        y = contributed_attention(tq, each(present[0]), each(present[1]), behind)[0]
        case("GroupQueryAttention", [q, k, v, *past, last, np.int32(total), cos, sin], [y, *present], f"past-{size}",
             constants=(6, 7, 8), do_rotary=1, rotary_interleaved=1, **foreign)


def transformer_parts():
    """Embeddings, rotations and norms of groups of com.microsoft, and attention of bytes."""
    f64, foreign = np.float64, dict(opset=17, domain="com.microsoft")
    words, kinds, at = whole(2, 4, low=0, high=6), whole(2, 4, low=0, high=1), whole(2, 4, low=0, high=8)
    tables, g, b = [real(7, 5), real(9, 5), real(2, 5)], real(5), real(5)
    seen = np.array([[1, 1, 0, 0], [1, 1, 1, 0]], np.int32)
    for note, placed, mask, kind in (("places", at, seen, kinds), ("short", None, None, None)):
        s = f64(tables[0])[words] + (tables[1][:4] if placed is None else tables[1][placed])
        s = s if kind is None else s + tables[2][kind]
        y = (s - s.mean(-1, keepdims=True)) / np.sqrt(s.var(-1, keepdims=True) + 1e-5) * g + b
        count = np.zeros(2, np.int32) if mask is None else mask.sum(1, dtype=np.int32)
        inputs = [words, kind, *tables[:2], None if kind is None else tables[2], g, b, mask, placed]
        case("EmbedLayerNormalization", inputs if placed is not None else inputs[:7],
             [y.astype(f32), count, s.astype(f32)], note, constants=(2, 3, 4, 5, 6), epsilon=1e-5, **foreign)
    bytes_of = [whole(*t.shape, low=0, high=255, dtype=np.uint8) for t in (*tables, g, b)]
    scales, zeros = [f32(0.01 + 0.002 * n) for n in range(5)], [np.uint8(100 + n) for n in range(5)]
    word, place, kind, norm, bias = ((q.astype(f64) - z) * f64(s) for q, s, z in zip(bytes_of, scales, zeros))
    s = word[words] + place[:4] + kind[kinds]
    y = (s - s.mean(-1, keepdims=True)) / np.sqrt(s.var(-1, keepdims=True) + 1e-5) * norm + bias
    case("QEmbedLayerNormalization", [words, kinds, *bytes_of, seen, *scales, *zeros],
         [y.astype(f32), seen.sum(1, dtype=np.int32)], constants=(*range(2, 7), *range(8, 18)), epsilon=1e-5, **foreign)
    x, cos, sin = real(2, 3, 4, 6), real(9, 3), real(9, 3)
    flat = lambda x: np.swapaxes(x, 1, 2).reshape(2, 4, -1)
    case("RotaryEmbedding", [x, i64(3), cos, sin], turned(x, cos, sin, 3 + np.arange(4) + np.zeros((2, 1), int)),
         "com.microsoft", constants=(2, 3), **foreign)
    case("RotaryEmbedding", [flat(x), i64(*at.flat).reshape(2, 4), cos, sin], flat(turned(x, cos, sin, at, True)),
         "com.microsoft-flat", constants=(2, 3), interleaved=1, **foreign)
    wide = real(2, 3, 4, 8)
    case("RotaryEmbedding", [flat(wide), i64(*at.flat).reshape(2, 4), cos, sin], flat(turned(wide, cos, sin, at)),
         "com.microsoft-part", constants=(2, 3), rotary_embedding_dim=6, num_heads=3, **foreign)

    image, skip, c, g, b = real(2, 3, 5, 6), real(2, 6), real(6), real(6), real(6)

    def normed(s):
        rows = f64(s).reshape(2, 15, 3, 2)
        m, v = rows.mean((1, 3), keepdims=True), rows.var((1, 3), keepdims=True)
        return ((rows - m) / np.sqrt(v + 1e-3)).reshape(2, 3, 5, 6) * g + b
    first, norm = lambda x: np.ascontiguousarray(np.moveaxis(x, 3, 1)).astype(f32), dict(groups=3, epsilon=1e-3)
    y, s = normed(image), image + skip[:, None, None] + c
    case("GroupNorm", [image, g, b], (y / (1 + np.exp(-y))).astype(f32), constants=(1, 2), activation=1, **norm,
         **foreign)
    case("GroupNorm", [first(image), g, b], first(y), "first", constants=(1, 2), activation=0, channels_last=0, **norm,
         **foreign)
    case("SkipGroupNorm", [image, g, b, skip, c], [normed(s).astype(f32), s], constants=(1, 2, 4), activation=0, **norm,
         **foreign)
    case("SkipGroupNorm", [first(image), g, b, skip, c], [first(normed(s)), first(s)], "first", constants=(1, 2, 4),
         activation=0, channels_last=0, **norm, **foreign)
    x, r = real(2, 4, 6), real(2, 4, 6)
    case("BiasAdd", [x, c, r], x + c + r, constants=(1,), **foreign)
    s, erf = f64(x) + c, np.vectorize(__import__("math").erf)
    case("BiasSplitGelu", [x, c], (s[..., :3] * 0.5 * s[..., 3:] * (1 + erf(s[..., 3:] / np.sqrt(2)))).astype(f32),
         constants=(1,), **foreign)

    x, w = whole(2, 3, 5, low=0, high=255, dtype=np.uint8), whole(5, 18, low=-127, high=127, dtype=np.int8)
    scales, b, past = np.abs(real(18)) / f32(90), real(18), real(2, 2, 3, 2, 2)
    q, k, v = np.split((x.astype(f64) - 120) @ w * f64(f32(0.01)) * scales + b, 3, 2)
    heads = lambda x: np.swapaxes(x.reshape(2, 3, 3, 2), 1, 2)
    present = np.concatenate([past, np.stack([heads(k), heads(v)])], 3).astype(f32)
    seen = np.array([[1, 0, 1, 1, 0], [0, 1, 1, 1, 1]], np.int32)
    low = np.where(seen > 0, 0, -10000)[:, None, None]
    case("QAttention", [x, w, b, f32(0.01), scales, seen, np.uint8(120), np.zeros(18, np.int8), past],
         [contributed_attention(heads(q), *present, low)[0], present], constants=(1, 2, 3, 4, 6, 7), num_heads=3,
         **foreign)


def channels_last_bytes():
    """Images of bytes whose channels are last, a choice between bytes, and rows of a table of 4 bits."""
    f64, foreign = np.float64, dict(opset=17, domain="com.microsoft")
    byte = lambda *shape: whole(*shape, low=0, high=255, dtype=np.uint8)
    reals = lambda q, scale, zero: (q.astype(f64) - zero) * f64(f32(scale))
    rounded = lambda x, scale, zero: np.clip(np.rint(x / f64(f32(scale))) + zero, 0, 255).astype(np.uint8)
    image, w, b = byte(2, 4, 5, 3), whole(4, 3, 2, 2, low=-127, high=127, dtype=np.int8), whole(4, low=-900, high=900)
    scales = real(4, low=0.01, high=0.02)
    sums = sum((image[:, i:i + 3, j:j + 4].astype(f64) - 120) @ w[:, :, i, j].T for i in (0, 1) for j in (0, 1))
    y = rounded((sums + b) * f64(f32(0.02)) * scales, 0.4, 100)
    case("QLinearConv", [image, f32(0.02), np.uint8(120), w, scales, np.zeros(4, np.int8), f32(0.4), np.uint8(100), b],
         y, "last", constants=tuple(range(1, 9)), channels_last=1, **foreign)
    x, bias = real(2, 4, 5, 3), real(4)
    sums = sum(x[:, i:i + 3, j:j + 4].astype(f64) @ w[:, :, i, j].T for i in (0, 1) for j in (0, 1))
    case("NhwcConv", [x, w.astype(f32), bias], (sums + bias).astype(f32), constants=(1, 2), **foreign)
    largest = np.max([image[:, i:i + 3, j:j + 4] for i in (0, 1) for j in (0, 1)], 0)
    case("NhwcMaxPool", [image], largest, kernel_shape=[2, 2], **foreign)
    to, given = [f32(0.0733), np.uint8(90)], [image, f32(0.0517), np.uint8(120)]
    mean = sum(reals(image[:, i:i + 3, j:j + 4], 0.0517, 120) for i in (0, 1) for j in (0, 1)) / 4
    case("QLinearAveragePool", given + to, rounded(mean, 0.0733, 90), constants=(1, 2, 3, 4), channels_last=1,
         kernel_shape=[2, 2], **foreign)
    mean = reals(image, 0.0517, 120).mean((1, 2), keepdims=True)
    case("QLinearGlobalAveragePool", given + to, rounded(mean, 0.0733, 90), "last", constants=(1, 2, 3, 4),
         channels_last=1, **foreign)
    other, holds = byte(5, 1), np.array([[True], [False], [True], [True]])[:, :, None]
    y = rounded(np.where(holds, reals(image, 0.0517, 120), reals(other, 0.0313, 100)), 0.0733, 90)
    case("QLinearWhere", [holds, *given, other, f32(0.0313), np.uint8(100), *to], y, constants=(2, 3, 5, 6, 7, 8),
         **foreign)
    for bits in (4, 8):  # the last block is not whole
        q, zero = whole(7, 40, low=0, high=15), whole(7, 4, low=0, high=15)
        scales, rows = real(7, 3), whole(2, 3, low=0, high=6)
        pack = lambda q: q.astype(np.uint8) if bits == 8 else (q[:, ::2] + 16 * q[:, 1::2]).astype(np.uint8)
        unit = lambda x: np.repeat(x, 16, 1)[:, :40]
        centre = unit(zero) if bits == 4 else 128
        y = ((q - centre) * f64(unit(scales)))[rows]
        case("GatherBlockQuantized", [pack(q), rows, scales] + ([pack(zero)] if bits == 4 else []), y.astype(f32),
             str(bits), constants=(0, 2, 3), bits=bits, block_size=16, gather_axis=0, quantize_axis=1, **foreign)


def main():
    for part in (elementwise, movement, rows, windows, products, quantised, sequences, losses, sampling,
                 steps, states, regions, later, bytes_lstm, long_rows, phases, packed_weights, sorted_runs,
                 composed, composed_integers, composed_attention, grouped_attention,
                 transformer_parts, channels_last_bytes):
        part()
    with zipfile.ZipFile(sys.argv[1], "w", zipfile.ZIP_STORED) as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data)
    print(sum(name.endswith("model.onnx") for name in files), "models")


if __name__ == "__main__":
    main()
