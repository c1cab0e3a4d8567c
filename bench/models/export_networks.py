#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exports networks of torchvision and transformers with drawn weights, for `bench_models.py --model FOLDER/NAME.onnx`.

Needs torch, torchvision, transformers and onnxscript. Files that are there already are kept.

  export_networks.py FOLDER [NAME ...]
"""

import argparse
import os

import torch
import torchvision.models
import transformers

SIDES = {"inception_v3": 299, "mobilevit": 64}
NAMES = ["shufflenet_v2_x1_0", "mobilenet_v3_large", "mnasnet1_0", "efficientnet_b0", "squeezenet1_1", "regnet_y_400mf",
         "resnet18", "googlenet", "inception_v3", "mobilevit", "convnext_tiny", "swin_t"]


class LastState(torch.nn.Module):
    """Of a model of transformers, the one output that is compared."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, pixels):
        return self.model(pixel_values=pixels)["last_hidden_state"]


def network(name):
    if name == "mobilevit":
        return LastState(transformers.MobileViTModel(transformers.MobileViTConfig(image_size=SIDES[name])))
    options = {"init_weights": True, "aux_logits": False} if name in ("googlenet", "inception_v3") else {}
    return getattr(torchvision.models, name)(weights=None, **options)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("names", nargs="*", default=NAMES)
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    for name in options.names:
        path, side = os.path.join(options.folder, name + ".onnx"), SIDES.get(name, 224)
        if os.path.exists(path):
            continue
        torch.manual_seed(0)
        pictures = torch.rand(1, 3, side, side)
        torch.onnx.export(network(name).eval(), (pictures,), path, dynamo=name == "mobilevit", external_data=False,
                          input_names=["x"], opset_version=20 if name == "mobilevit" else 17)
        print(path, flush=True)


if __name__ == "__main__":
    main()
