# SPDX-License-Identifier: Apache-2.0
"""Runs an emitted model from Python by ctypes; nothing but Python is needed.

    isamap emit ../mobilenet_v1.onnx --target x86_avx512 --constant weights -o model
    g++ -std=c++17 -O3 -mavx512f -mfma -shared -fPIC model/mobilenet_v1.cpp -o model/mobilenet_v1.so
    python3 classify.py model/mobilenet_v1
"""
import array
import ctypes
import json
import sys


class Model:
    """NAME.so, NAME.weights and NAME.json side by side."""

    def __init__(self, path):
        with open(path + ".json", encoding="utf-8") as file:
            self.about = json.load(file)
        self.name = self.about["model"]
        self.library = ctypes.CDLL(path + ".so")
        self.model = ctypes.c_void_p()
        code = self.call("open", ctypes.byref(self.model), (path + ".weights").encode())
        if code != 0:
            raise OSError(f"the weights of {self.name} cannot be opened: error {code}")

    def call(self, what, *arguments):
        return getattr(self.library, f"{self.name}_{what}")(*arguments)

    def run(self, *inputs):
        """Buffers in, bytearrays out, each in the order of NAME.json."""
        places = []
        for given, port in zip(inputs, self.about["inputs"], strict=True):
            view = memoryview(given).cast("B")
            if len(view) != port["bytes"]:
                raise ValueError(f"{port['name']} holds {port['bytes']} bytes, found {len(view)}")
            places.append((ctypes.c_char * len(view)).from_buffer(view))
        outputs = [bytearray(port["bytes"]) for port in self.about["outputs"]]
        written = [(ctypes.c_char * len(o)).from_buffer(o) for o in outputs]
        pointers = (ctypes.c_void_p * len(places))(*map(ctypes.addressof, places))
        targets = (ctypes.c_void_p * len(written))(*map(ctypes.addressof, written))
        code = self.call("run", self.model, None, pointers, targets, None)
        if code != 0:
            raise RuntimeError(f"{self.name}_run: error {code}")
        return outputs

    def close(self):
        self.library[f"{self.name}_close"](self.model)


def main():
    model = Model(sys.argv[1])
    count = model.about["inputs"][0]["bytes"] // 4
    picture = array.array("f", ((i % 17) / 17 - 0.5 for i in range(count)))
    scores = array.array("f", bytes(model.run(picture)[0]))
    best = max(range(len(scores)), key=lambda i: scores[i])
    print(f"class {best} of {len(scores)}: {scores[best]:.6g}")
    model.close()


if __name__ == "__main__":
    main()
