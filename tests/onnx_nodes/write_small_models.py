#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the small models that tests run on accelerators into FOLDER: a convolutional network of floats, of quantised
operators between floats (QDQ), and of quantised operators (QLinear), with a batch of 1 or 3.

Needs the package onnx (1.14 or newer) and numpy. Usage: write_small_models.py tests/data/accelerators
Same program, same bytes: weights are drawn by seed.
"""

import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def saved(folder, name, nodes, inputs, outputs, weights):
    graph = helper.make_graph(nodes, name, inputs, outputs, [numpy_helper.from_array(w, n) for n, w in weights.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.checker.check_model(model)
    (folder / (name + ".onnx")).write_bytes(model.SerializeToString())


def floats(folder, name, batch):
    """conv 3x3, ReLU, max pool, conv 1x1, ReLU, fully connected; 13x13 divides by no tile."""
    draw = np.random.default_rng(7)
    weights = {"w0": draw.normal(size=(8, 3, 3, 3)), "b0": draw.normal(size=8), "w1": draw.normal(size=(20, 8, 1, 1)),
               "b1": draw.normal(size=20), "w2": draw.normal(size=(10, 720)) / 16, "b2": draw.normal(size=10)}
    nodes = [helper.make_node("Conv", ["x", "w0", "b0"], ["c0"], pads=[1, 1, 1, 1]), helper.make_node("Relu", ["c0"], ["r0"]),
             helper.make_node("MaxPool", ["r0"], ["p0"], kernel_shape=[2, 2], strides=[2, 2]),
             helper.make_node("Conv", ["p0", "w1", "b1"], ["c1"]), helper.make_node("Relu", ["c1"], ["r1"]),
             helper.make_node("Flatten", ["r1"], ["f"]), helper.make_node("Gemm", ["f", "w2", "b2"], ["y"], transB=1)]
    saved(folder, name, nodes, [helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, 3, 13, 13])],
          [helper.make_tensor_value_info("y", TensorProto.FLOAT, [batch, 10])],
          {n: w.astype(np.float32) for n, w in weights.items()})


def bytes_of(draw, shape):
    return draw.integers(-127, 128, shape).astype(np.int8)


def quantised_weights(draw):
    return {"w0": bytes_of(draw, (16, 3, 3, 3)), "w1": bytes_of(draw, (20, 16, 1, 1)), "w2": bytes_of(draw, (720, 10)),
            "b0": draw.integers(-900, 900, 16).astype(np.int32), "b1": draw.integers(-900, 900, 20).astype(np.int32),
            "zero": np.int8(0), "sx": np.float32(1 / 64), "sw": np.float32(1 / 256), "s0": np.float32(1 / 16),
            "s1": np.float32(1 / 8), "s2": np.float32(1 / 2), "sb0": np.float32(1 / 64 / 256), "sb1": np.float32(1 / 16 / 256)}


def qdq(folder, name, batch):
    """Quantised convolutions as exporters write them: DequantizeLinear of bytes, Conv, Relu, QuantizeLinear."""
    weights = quantised_weights(np.random.default_rng(8))
    nodes = [helper.make_node("QuantizeLinear", ["x", "sx", "zero"], ["xq"])]

    def layer(number, read, scale, out):
        node = [helper.make_node("DequantizeLinear", [read, scale, "zero"], [f"d{number}"]),
                helper.make_node("DequantizeLinear", [f"w{number}", "sw", "zero"], [f"dw{number}"]),
                helper.make_node("DequantizeLinear", [f"b{number}", f"sb{number}"], [f"db{number}"]),
                helper.make_node("Conv", [f"d{number}", f"dw{number}", f"db{number}"], [f"c{number}"],
                                 pads=[1, 1, 1, 1] if number == 0 else [0, 0, 0, 0]),
                helper.make_node("Relu", [f"c{number}"], [f"r{number}"]),
                helper.make_node("QuantizeLinear", [f"r{number}", f"s{number}", "zero"], [out])]
        nodes.extend(node)

    layer(0, "xq", "sx", "q0")
    nodes.append(helper.make_node("DequantizeLinear", ["q0", "s0", "zero"], ["e0"]))
    nodes.append(helper.make_node("MaxPool", ["e0"], ["m"], kernel_shape=[2, 2], strides=[2, 2]))
    nodes.append(helper.make_node("QuantizeLinear", ["m", "s0", "zero"], ["mq"]))
    layer(1, "mq", "s0", "q1")
    nodes += [helper.make_node("DequantizeLinear", ["q1", "s1", "zero"], ["e1"]), helper.make_node("Flatten", ["e1"], ["f"]),
              helper.make_node("DequantizeLinear", ["w2", "sw", "zero"], ["dw2"]), helper.make_node("MatMul", ["f", "dw2"], ["g"]),
              helper.make_node("QuantizeLinear", ["g", "s2", "zero"], ["gq"]),
              helper.make_node("DequantizeLinear", ["gq", "s2", "zero"], ["y"])]
    saved(folder, name, nodes, [helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, 3, 13, 13])],
          [helper.make_tensor_value_info("y", TensorProto.FLOAT, [batch, 10])], weights)


def qlinear(folder, name, batch):
    """Bytes from the first to the last: QLinearConv, QLinearConv, QLinearMatMul."""
    weights = quantised_weights(np.random.default_rng(9))
    nodes = [helper.make_node("QLinearConv", ["x", "sx", "zero", "w0", "sw", "zero", "s0", "zero", "b0"], ["q0"], pads=[1, 1, 1, 1],
                              strides=[2, 2]),
             helper.make_node("QLinearConv", ["q0", "s0", "zero", "w1", "sw", "zero", "s1", "zero", "b1"], ["q1"]),
             helper.make_node("Flatten", ["q1"], ["f"]),
             helper.make_node("QLinearMatMul", ["f", "s1", "zero", "w2", "sw", "zero", "s2", "zero"], ["y"])]
    weights["w2"] = bytes_of(np.random.default_rng(10), (980, 10))
    saved(folder, name, nodes, [helper.make_tensor_value_info("x", TensorProto.INT8, [batch, 3, 13, 13])],
          [helper.make_tensor_value_info("y", TensorProto.INT8, [batch, 10])], weights)


def main():
    folder = pathlib.Path(sys.argv[1])
    for batch in (1, 3):
        floats(folder, f"cnn_{batch}", batch)
        qdq(folder, f"cnn_qdq_{batch}", batch)
        qlinear(folder, f"cnn_qlinear_{batch}", batch)


main()
