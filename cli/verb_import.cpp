// SPDX-License-Identifier: Apache-2.0
#include "cli/verb_import.h"

#include <fmt/format.h>

#include <filesystem>

#include "cli/json.h"
#include "frontends/timeloop/timeloop.h"

namespace isamap::cli {

Exit verb_import_timeloop(const Options& options) {
  const auto file = [&](ImportFile which) { return options.files[static_cast<std::size_t>(which)]; };
  if (options.output.empty()) return fail(Exit::usage, "the files are written to a folder", "-o FOLDER");
  const auto made = timeloop::import(
      {file(ImportFile::problem), file(ImportFile::architecture), file(ImportFile::mapping), file(ImportFile::energy)});
  if (!made) return fail(Exit::wrong_input, made.diagnostics());
  std::error_code problem;
  std::filesystem::create_directories(options.output, problem);
  if (problem)
    return fail(Exit::wrong_input, {error_at({options.output, 0, 0}, "cannot be made: " + problem.message())});
  for (const std::string& note : made->notes) fmt::print(stderr, "note: {}\n", note);
  const std::filesystem::path folder = options.output;
  std::string written;
  for (const auto& [name, text] : {std::pair("kernel.yaml", made->kernel), std::pair("hardware.yaml", made->hardware),
                                   std::pair("schedule.yaml", made->schedule)}) {
    if (text.empty()) continue;
    const std::string path = (folder / name).string();
    if (const auto result = write_file(path, text); !result) return fail(Exit::wrong_input, result.diagnostics());
    written += path + "\n";
  }
  Options to_stdout = options;  // -o names the folder
  to_stdout.output.clear();
  return deliver(to_stdout, options.json ? json_of_texts({{"files", written}}) : written);
}

}  // namespace isamap::cli
