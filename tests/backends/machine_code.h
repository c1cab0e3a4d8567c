// SPDX-License-Identifier: Apache-2.0
#pragma once
// What compilers make of emitted programs, as objdump lists it. Seen in the machine code, so it holds on a busy
// machine.

#include <gtest/gtest.h>

#include <regex>

#include "backends/common/process.h"
#include "backends/cpp/compile/compiler.h"
#include "isamap/frontends.h"
#include "isamap/mapper.h"
#include "isamap/scheduler.h"
#include "scheduler/vectorized_reductions.h"
#include "tests/backends/support.h"

namespace isamap {

struct CodeLine {
  std::uint64_t address = 0, target = 0;  ///< target: of a jump, else 0
  std::string text;
};

inline std::vector<CodeLine> lines_of(const std::string& listing) {
  static const std::regex shape("^ *([0-9a-f]+):\t[^\t]*\t(.*)$"), jump("^j[a-z]+ +([0-9a-f]+)");
  std::vector<CodeLine> lines;
  for (std::size_t at = 0; at < listing.size();) {
    const std::size_t end = std::min(listing.find('\n', at), listing.size());
    const std::string text = listing.substr(at, end - at);
    at = end + 1;
    std::smatch m, to;
    if (!std::regex_match(text, m, shape)) continue;
    CodeLine line{std::stoull(m[1], nullptr, 16), 0, m[2]};
    if (std::regex_search(line.text, to, jump)) line.target = std::stoull(to[1], nullptr, 16);
    lines.push_back(line);
  }
  return lines;
}

inline const std::regex multiply_adds("^v(fmadd|dpbf16|pdp)[a-z0-9]* ");

/// Lines of every loop that has none inside and works on vectors by what `multiplies`.
inline std::vector<std::vector<CodeLine>> innermost_loops(const std::vector<CodeLine>& lines,
                                                          const std::regex& multiplies) {
  std::vector<std::vector<CodeLine>> loops;
  for (std::size_t end = 0; end < lines.size(); ++end) {
    if (lines[end].target == 0 || lines[end].target > lines[end].address) continue;
    std::vector<CodeLine> body;
    bool innermost = true;
    for (std::size_t i = 0; i <= end; ++i) {
      if (lines[i].address < lines[end].target) continue;
      body.push_back(lines[i]);
      innermost &= i == end || lines[i].target == 0 || lines[i].target > lines[i].address;
    }
    const auto products = std::count_if(body.begin(), body.end(),
                                        [&](const CodeLine& l) { return std::regex_search(l.text, multiplies); });
    if (innermost && products >= 4) loops.push_back(std::move(body));
  }
  return loops;
}

/// With the schedule of the default search.
inline Program default_program(const Kernel& kernel, const HardwareModel& model) {
  const auto mapped = enumerate_mappings(kernel, model, MapOptions{});
  const auto found = schedule_or_in_lanes(kernel, *mapped, model, ScheduleOptions{}, MapOptions{});
  EXPECT_TRUE(found) << render(found.diagnostics());
  auto program = lower(found->scheduled.schedule, kernel, model);
  EXPECT_TRUE(program) << render(program.diagnostics());
  return *program;
}

inline std::string machine_code(const Program& program, const HardwareModel& model,
                                const std::filesystem::path& folder) {
  const std::string text = emit(program, model)->front().text;
  const auto source = folder / "kernel.cpp", object = folder / "kernel.o";
  EXPECT_TRUE(write_file(source, text.data(), text.size()));
  auto command = compile_command(model, {source.string()}, object.string());
  command.push_back("-c");
  const auto compiled = run_process(command, {120, 0, 0}, folder / "log");
  EXPECT_EQ(compiled.exit_code, 0) << compiled.output;
  const auto shell = std::vector<std::string>{"sh", "-c",
                                              "objdump -d --no-show-raw-insn '" + object.string() +
                                                  "' | sed 's/:\t/:\t\t/' > '" + (folder / "listing").string() + "'"};
  EXPECT_EQ(run_process(shell, {60, 0, 0}, folder / "log").exit_code, 0);
  return read_file(folder / "listing", 64 << 20);
}

/// Empty: the machine code for the model can be made and seen here.
inline std::string why_not_seen(const HardwareModel& model) {
#ifndef __x86_64__
  return "this machine's compiler makes other code";
#endif
  if (!command_exists("objdump")) return "objdump is missing (Debian: binutils)";
  if (needs_emulator(model) || compiler_for(model).command.empty()) return compiler_for(model).why + " ";
  return "";
}

}  // namespace isamap
