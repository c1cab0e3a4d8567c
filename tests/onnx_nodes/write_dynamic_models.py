# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/dynamic_*.onnx: small models whose sizes are symbols, as exporters write them.

  python3 tests/onnx_nodes/write_dynamic_models.py FOLDER
"""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

rng = np.random.default_rng(7)


class Graph:
    def __init__(self):
        self.nodes, self.constants, self.count = [], [], 0

    def constant(self, value):
        self.count += 1
        name = f"c{self.count}"
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def weight(self, *shape):
        return self.constant((rng.standard_normal(shape) / np.sqrt(shape[-2] if len(shape) > 1 else 4)).astype(np.float32))

    def filters(self, *shape):
        return self.constant((rng.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32))

    def ints(self, *values):
        return self.constant(np.array(values, np.int64))

    def __call__(self, op, *inputs, **attributes):
        self.count += 1
        name = f"v{self.count}"
        self.nodes.append(helper.make_node(op, list(inputs), [name], **attributes))
        return name

    def save(self, path, inputs, outputs):
        graph = helper.make_graph(
            self.nodes, "g",
            [helper.make_tensor_value_info(n, t, s) for n, t, s in inputs],
            [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in outputs], self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
        model.ir_version = 8
        onnx.checker.check_model(model)
        onnx.save(model, path)


def transformer(path, layers=2, width=32, heads=4, most=64):
    g = Graph()
    shape = g("Shape", "ids")
    batch, seq = g("Gather", shape, g.ints(0)), g("Gather", shape, g.ints(1))
    positions = g("Slice", g.weight(most, width), g.ints(0), seq, g.ints(0))
    x = g("Add", g("Gather", g.weight(50, width), "ids"), positions)
    split = g("Concat", batch, seq, g.ints(heads), g.ints(width // heads), axis=0)
    merged = g("Concat", batch, seq, g.ints(width), axis=0)

    def norm(v):
        return g("LayerNormalization", v, g.constant(np.ones(width, np.float32)), g.weight(width), axis=-1)

    def dense(v, n, m):
        return g("Add", g("MatMul", v, g.weight(n, m)), g.weight(m))

    for _ in range(layers):
        y = norm(x)
        q, k, v = (g("Transpose", g("Reshape", dense(y, width, width), split), perm=p)
                   for p in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]))
        scores = g("Div", g("MatMul", q, k), g.constant(np.float32(np.sqrt(width // heads))))
        values = g("Transpose", g("MatMul", g("Softmax", scores, axis=-1), v), perm=[0, 2, 1, 3])
        x = g("Add", x, dense(g("Reshape", values, merged), width, width))
        h = dense(norm(x), width, 2 * width)
        gelu = g("Mul", h, g("Add", g("Erf", g("Mul", h, g.constant(np.float32(0.70710678)))), g.constant(np.float32(1))))
        x = g("Add", x, dense(g("Mul", gelu, g.constant(np.float32(0.5))), 2 * width, width))
    pooled = g("ReduceMean", norm(x), axes=[1], keepdims=0)
    g.save(path, [("ids", TensorProto.INT64, ["batch", "seq"])], [(x, ["batch", "seq", width]), (pooled, ["batch", width])])


def cnn(path):
    g = Graph()
    x = g("Relu", g("Conv", "x", g.filters(8, 3, 3, 3), g.weight(8), strides=[2, 2], pads=[1, 1, 1, 1]))
    x = g("Clip", g("Conv", x, g.filters(8, 1, 3, 3), g.weight(8), group=8, pads=[1, 1, 1, 1]),
          g.constant(np.float32(0)), g.constant(np.float32(6)))
    y = g("Add", x, g("Conv", x, g.filters(8, 8, 1, 1), g.weight(8)))
    y = g("Flatten", g("GlobalAveragePool", y))
    y = g("Gemm", y, g.weight(8, 10), g.weight(10))
    g.save(path, [("x", TensorProto.FLOAT, ["batch", 3, 16, 16])], [(y, ["batch", 10])])


def fcn(path):
    g = Graph()
    a = g("Relu", g("Conv", "x", g.filters(8, 3, 3, 3), g.weight(8), strides=[2, 2], pads=[1, 1, 1, 1]))
    b = g("Relu", g("Conv", a, g.filters(16, 8, 3, 3), g.weight(16), strides=[2, 2], pads=[1, 1, 1, 1]))
    gate = g("Sigmoid", g("Conv", g("GlobalAveragePool", b), g.filters(16, 16, 1, 1), g.weight(16)))
    b = g("Conv", g("Mul", b, gate), g.filters(8, 16, 1, 1), g.weight(8))
    up = g("Resize", b, "", g.constant(np.array([1, 1, 2, 2], np.float32)), mode="nearest",
           coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    c = g("Concat", g("Add", up, a), a, axis=1)
    c = g("Conv", c, g.filters(4, 16, 3, 3), g.weight(4), pads=[1, 1, 1, 1])
    y = g("Sigmoid", g("ConvTranspose", c, g.filters(4, 1, 2, 2), g.weight(1), strides=[2, 2]))
    g.save(path, [("x", TensorProto.FLOAT, [1, 3, "H", "W"])], [(y, [1, 1, "H", "W"])])


if __name__ == "__main__":
    folder = sys.argv[1]
    transformer(f"{folder}/dynamic_transformer.onnx")
    cnn(f"{folder}/dynamic_cnn.onnx")
    fcn(f"{folder}/dynamic_fcn.onnx")
