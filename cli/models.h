// SPDX-License-Identifier: Apache-2.0
#pragma once
// Whole models (.onnx) on the command line.

#include <optional>

#include "cli/common.h"
#include "frontends/model.h"

namespace isamap::cli {

bool is_onnx(const std::string& path);

/// The model with the options of the command line; empty: `code` is set and the problems are reported.
std::optional<Model> load_model(const Options& options, Exit& code);

/// import onnx MODEL -o FOLDER: a kernel file for each layer that multiplies and sums.
Exit verb_import_onnx(const Options& options);
/// run MODEL.onnx --interpret: the whole model by the interpreter, compared with the outputs of --inputs.
Exit interpret_model(const Options& options);
/// run MODEL.onnx --target HW: the model in parts, each compiled, executed and compared with the interpreter.
Exit compile_and_run_model(const Options& options);
/// explain MODEL.onnx: every refused node.
Exit explain_model(const Options& options);

}  // namespace isamap::cli
