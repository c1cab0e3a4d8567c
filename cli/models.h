// SPDX-License-Identifier: Apache-2.0
#pragma once
// Whole models (.onnx) on the command line.

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/common.h"
#include "cli/model_files.h"
#include "frontends/model.h"
#include "isamap/hardware.h"

namespace isamap::cli {

/// Of a list "a,b,c"; empty words are left out.
std::vector<std::string> words_of(const std::string& list);

bool is_onnx(const std::string& path);
/// An .onnx file, or a kernel whose statements are the parts of a plan (--plan).
bool is_model(const Options& options);

// Flags that would do nothing: what a verb reads of models only, or of kernels only, is refused for the other.

/// Does the command line have one of these flags? It is reported as wrong usage: "--plan " + `why`.
bool has_unused(const Options& options, const std::vector<std::string>& flags, const std::string& why,
                const std::string& hint);

/// Of a kernel: --threads has set a parameter of the machine. Nothing: an option that only models have was given, or
/// the machine has fewer threads, which is reported.
std::optional<Options> kernel_options(const Options& options, Exit& code);
/// False: an option of a program was given with --interpret and no machine, which makes none, and is reported.
bool without_program_flags(const Options& options);
/// False: an option of the compiler was given for a program that is there already, and is reported.
bool without_compiler_flags(const Options& options);
/// False: an option that only kernels have was given with a model, or one that another replaces, and is reported.
bool without_kernel_flags(const Options& options);

/// The model with the options of the command line; empty: `code` is set and the problems are reported.
std::optional<Model> load_model(const Options& options, Exit& code);

/// A model that can be executed, without copies between its statements and what only constants need, and a value for
/// each of its tensors.
struct Prepared {
  Model model;
  std::vector<TensorData> data;
  ModelFiles files;
};
/// To a machine (driver/fit_model.h, driver/bias_placement.h).
using Fit = std::function<Model(const Model&)>;
/// For a machine, or for the interpreter. Empty: what is wrong or refused is reported, and `code` set.
std::optional<Prepared> prepare(const Options& options, Exit& code, const HardwareModel* machine = nullptr,
                                const Fit& fit = nullptr);

/// The model at these sizes as the file says it; nothing is printed.
Result<Model> imported_at(const Options& options, const Bindings& sizes);
/// The model at these sizes, ready to be executed by a machine or by the interpreter; nothing is printed. Errors: those
/// of the import, and refused nodes.
Result<Model> model_at(const Options& options, const Bindings& sizes, const HardwareModel* machine = nullptr);

/// A line for each output.
std::string shapes_of(const Model& model);
std::string printed(const nlohmann::ordered_json& json);

/// import onnx MODEL -o FOLDER: a kernel file for each layer that multiplies and sums.
Exit verb_import_onnx(const Options& options);

/// A file of a kernel that was cut from a model, or why there is none.
struct KernelFile {
  std::string name;  ///< of the file, without ".yaml"
  std::string head;  ///< comments; empty, or whole lines
  Result<std::string> text;
};
/// Writes them to the folder of -o and their paths to stdout, a note for each that has no text. `none`: what is said if
/// there is no file.
Exit write_kernels(const Options& options, const std::vector<KernelFile>& files, const std::string& none);

/// run MODEL.onnx --interpret: the whole model by the interpreter, compared with the outputs of --inputs.
Exit interpret_model(const Options& options);
bool is_stream_file(const std::string& path);
/// run NAME.s --target HW: a model that `emit` wrote as commands, by the simulator, from its files.
Exit run_stream(const Options& options);
/// run MODEL.onnx --target HW: the model in parts as one program, each compared with the interpreter.
Exit compile_and_run_model(const Options& options);
/// emit MODEL.onnx --target HW -o FOLDER: NAME.h, NAME.cpp, NAME.weights, NAME.json.
Exit emit_model(const Options& options);
/// tune MODEL.onnx --target HW: measures schedules for the parts that take longest, and keeps those that are faster for
/// run and emit.
Exit tune_model(const Options& options);
/// explain MODEL.onnx --target HW: every refused node, or the plan and the joins that it does not make.
Exit explain_model(const Options& options);
/// --threads: sets the parameter of the machine's file that is their number. False: it has none, or fewer, which is
/// reported.
bool set_threads(Options& options, Exit& code);
/// Adds the plan to both.
Exit explain_plan(const Options& options, std::string& text, nlohmann::ordered_json& json);

}  // namespace isamap::cli
