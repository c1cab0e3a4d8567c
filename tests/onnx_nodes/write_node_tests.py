#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the ONNX library's own node tests as folders: model.onnx, input_0.pb.., output_0.pb..

Needs the `onnx` wheel of PyPI (the tests of 1.23 are Python, not files). Usage: write_node_tests.py FOLDER
"""

import os
import sys
import warnings

from onnx import TensorProto, numpy_helper
from onnx.backend.test.case.node import collect_testcases


def plain(value, name):
    """Sequences, maps and optionals are no tensors: such a test gets no files of them, and is refused by its model."""
    try:
        tensor = TensorProto()
        tensor.CopyFrom(value if isinstance(value, TensorProto) else numpy_helper.from_array(value))
        tensor.name = name
        return tensor
    except Exception:
        return None


def main():
    warnings.simplefilter("ignore")
    folder = sys.argv[1]
    count = 0
    for case in collect_testcases(None):
        place = os.path.join(folder, case.name)
        os.makedirs(place, exist_ok=True)
        with open(os.path.join(place, "model.onnx"), "wb") as file:
            file.write(case.model.SerializeToString())
        with open(os.path.join(place, "tolerance"), "w") as file:
            file.write(f"{case.rtol} {case.atol}\n")
        graph = case.model.graph
        for kind, declared, values in zip(("input", "output"), (graph.input, graph.output), case.data_sets[0]):
            for position, value in enumerate(values):
                tensor = plain(value, declared[position].name)
                if tensor is None:
                    continue
                with open(os.path.join(place, f"{kind}_{position}.pb"), "wb") as file:
                    file.write(tensor.SerializeToString())
        count += 1
    print(count, "tests")


if __name__ == "__main__":
    main()
