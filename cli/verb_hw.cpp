// isamap hw check|show|graph|new: what a hardware file says, and whether it says it right.

#include <fmt/format.h>

#include <algorithm>

#include "cli/common.h"
#include "cli/json.h"
#include "cli/verbs.h"

namespace isamap::cli {
namespace {

std::string summary(const HardwareModel& model, std::size_t warnings) {
  return fmt::format("{}: {} units, {} memories, {} links, {} instructions{}\n", model.name, model.units().size(),
                     model.memories().size(), model.links().size(), model.instructions().size(),
                     warnings == 0 ? "" : fmt::format("; {} warnings", warnings));
}

/// A complete small machine to start from; hwdesc/README.md has every key.
constexpr const char* skeleton = R"(# {0}: say here what the machine is and which document the numbers come from.
hardware: {0}
clock: 1GHz
units:                                   # who executes, outermost first; each inside the one before
  - {{name: npu, count: 1}}
memories:                                # per: the unit that owns an instance
  - {{name: dram, per: npu, kind: dram, capacity: 1GiB}}
  - {{name: spad, per: npu, kind: scratchpad, capacity: 64KiB}}
  - {{name: acc, per: npu, kind: accumulator, capacity: 16KiB}}
links:                                   # which memory feeds which
  - {{name: dma_in, from: dram, to: spad, bandwidth: 16B/cycle, latency: 100cycles}}
  - {{name: dma_out, from: acc, to: dram, bandwidth: 16B/cycle, latency: 100cycles}}
instructions:
  - name: mac4x4                         # the compute instruction: what it computes, and where its operands live
    unit: npu
    compute: "C[i,j] += A[i,k] * B[k,j]"
    dims: {{i: 4, j: 4, k: 4}}
    operands:
      A: {{memory: spad, dtype: s8}}
      B: {{memory: spad, dtype: s8}}
      C: {{memory: acc, dtype: s32}}
    timing: {{latency: 8cycles, interval: 4cycles}}
    emit: "mac4x4 {{C}}, {{A}}, {{B}}"
  - name: clear                          # a fill: how an accumulator starts
    unit: npu
    compute: "D[i] = 0"
    dims: {{i: 16}}
    operands:
      D: {{memory: acc, dtype: s32}}
    emit: "clear {{D}}"
  - {{name: load, link: dma_in, compute: "D[i] = S[i]", dims: {{i: 16}}, emit: "ld {{D}}, {{S}}"}}    # moves are instructions too
  - {{name: store, link: dma_out, compute: "D[i] = S[i]", dims: {{i: 16}}, emit: "st {{D}}, {{S}}"}}
)";

bool is_a_name(const std::string& text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c) || c == '_'; });
}

}  // namespace

Exit verb_hw_check(const Options& options) {
  std::vector<CheckedFile> files;
  std::string text;
  Exit code = Exit::ok;
  for (const std::string& path : options.files) {
    auto loaded = load_hardware(path, model_folders(), {options.params});
    const Diagnostics diagnostics = loaded ? loaded->warnings : loaded.diagnostics();
    files.push_back({path, static_cast<bool>(loaded), diagnostics});
    if (!diagnostics.empty()) fail(Exit::wrong_input, diagnostics);
    if (loaded)
      text += summary(loaded->model, diagnostics.size());
    else
      code = Exit::wrong_input;
  }
  return deliver(options, options.json ? json_of_check(files) : text, code);
}

Exit verb_hw_show(const Options& options) {
  const auto model = load_target(options);
  if (!model) return Exit::wrong_input;
  return deliver(options, options.json ? json_of_hardware(*model) : describe(*model));
}

Exit verb_hw_graph(const Options& options) {
  const auto model = load_target(options);
  if (!model) return Exit::wrong_input;
  if (options.json) return deliver(options, json_of_hardware(*model));
  return deliver(options, options.graph_format == "svg" ? svg(*model) : graphviz(*model));
}

Exit verb_hw_new(const Options& options) {
  if (!is_a_name(options.new_name))
    return fail(Exit::usage, fmt::format("'{}' is no name of a machine", options.new_name), "letters, digits and _");
  const std::string text = fmt::format(skeleton, options.new_name);
  return deliver(options, options.json ? json_of_new_hardware(options.new_name, text) : text);
}

}  // namespace isamap::cli
