// SPDX-License-Identifier: Apache-2.0
#include "cli/unused_flags.h"

#include <fmt/format.h>

#include "cli/common.h"
#include "cli/models.h"

namespace isamap::cli {

bool has_unused(const Options& options, const std::vector<std::string>& flags, const std::string& why,
                const std::string& hint) {
  for (const std::string& flag : flags) {
    if (!options.given.contains(flag)) continue;
    fail(Exit::usage, flag + " " + why, hint);
    return true;
  }
  return false;
}

bool without_model_flags(const Options& options) {
  const std::string what = options.kernel_file.empty() ? "a formula" : "'" + options.kernel_file + "'";
  return !has_unused(options,
                     {"--plan", "--band-gain", "--profile", "--threads", "--inputs", "--outputs", "--interpret",
                      "--fix", "--until", "--constant"},
                     "is for models, and " + what + " is none", "name a .onnx file");
}

namespace {

const std::vector<std::string> of_searches = {"--instruction", "--rule",  "--objective", "--strategy",
                                              "--budget",      "--space", "--jobs",      "--band-gain"};

}  // namespace

bool without_program_flags(const Options& options) {
  const std::string why = "is for programs, and --interpret makes none";
  if (is_onnx(options.kernel_file) && has_unused(options, {"--plan"}, why, "leave out one of them")) return false;
  return !has_unused(options, of_searches, why, "leave out one of them") &&
         !has_unused(options, {"--target", "--set", "--no-reorder", "--threads", "--report", "--profile"}, why,
                     "leave out one of them");
}

bool without_compiler_flags(const Options& options) {
  const std::string why = "is for the compiler, and '" + options.kernel_file + "' is a program already";
  return !has_unused(options, of_searches, why, "leave it out") &&
         !has_unused(options,
                     {"--schedule", "--strict-float", "--no-reorder", "--sizes", "--fix", "--until", "--constant",
                      "--plan", "--threads", "--report", "--profile", "--dims", "--dtypes"},
                     why, "leave it out");
}

bool without_kernel_flags(const Options& options) {
  const std::string what = "'" + options.kernel_file + "' is planned as a model";
  if (has_unused(options, {"--schedule"}, "is for kernels, and " + what,
                 "isamap tune finds schedules of a model's parts, and --plan says which they are") ||
      has_unused(options, {"--program", "--check", "--header", "--test", "--workspace"}, "is for kernels, and " + what,
                 "isamap run compares the whole model; its header is always written") ||
      has_unused(options, {"--write"}, "is for kernels, and " + what,
                 "isamap import onnx writes the layers as kernels") ||
      has_unused(options, {"--store"}, "is for kernels, and " + what,
                 "schedules of parts are kept in the cache of programs"))
    return false;
  if (options.onnx.plan.empty() || options.onnx.plan == "search") return true;
  return !has_unused(options, {"--band-gain"}, "is for a search of plans; --plan replaces it", "leave out one of them");
}

}  // namespace isamap::cli
