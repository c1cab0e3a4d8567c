// SPDX-License-Identifier: Apache-2.0
#include "bench/gpu/bundle.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "backends/common/process.h"
#include "backends/cpp/translation_unit.h"
#include "backends/cuda/device_program.h"
#include "backends/cuda/device_run.h"
#include "backends/cuda/translation_unit.h"
#include "bench/gpu/cases.h"
#include "bench/gpu/renewal.h"
#include "isamap/frontends.h"
#include "isamap/mapper.h"
#include "isamap/scheduler.h"
#include "lab/run.h"
#include "scheduler/cost/learned_cost.h"

namespace isamap::bench {
namespace {

namespace fs = std::filesystem;
using OrderedJson = nlohmann::ordered_json;

const std::string source = ISAMAP_SOURCE_DIR;

/// One schedule of a kernel, with its prediction.
struct Chosen {
  Schedule schedule;
  double cycles = 0;
  std::vector<double> features;  ///< empty: several statements
};

/// The best, and legal ones of the search between it and the median, to compare differing predictions.
Result<std::vector<Chosen>> choose(const GpuKernel& wanted, const Kernel& kernel, const HardwareModel& model,
                                   bool small) {
  auto mapped = enumerate_mappings(kernel, model, {});
  if (!mapped) return mapped.diagnostics();
  struct Seen {
    double cycles;
    Nest nest;
    Cost cost;
  };
  std::vector<Seen> seen;
  ScheduleOptions options;
  options.objective = Objective::cycles;
  options.max_evaluations = small ? 200 : 1000;
  options.watch = [&](const Trial& trial) {
    if (trial.nest != nullptr && trial.cost != nullptr && trial.objective)
      seen.push_back({trial.cost->cycles, *trial.nest, *trial.cost});
  };
  auto scheduled = schedule(kernel, *mapped, model, options);
  if (!scheduled) return scheduled.diagnostics();
  const bool one = scheduled->schedule.nests.size() == 1;
  std::vector<Chosen> chosen{
      {scheduled->schedule, scheduled->cost.cycles,
       one ? nest_features(scheduled->schedule.nests[0], scheduled->cost) : std::vector<double>{}}};
  std::stable_sort(seen.begin(), seen.end(), [](const Seen& a, const Seen& b) { return a.cycles < b.cycles; });
  for (int s = 1; s < wanted.schedules && one; ++s) {
    for (std::size_t at = seen.size() * static_cast<std::size_t>(s) / (2 * static_cast<std::size_t>(wanted.schedules));
         at < seen.size(); ++at) {
      Chosen next{scheduled->schedule, seen[at].cycles, nest_features(seen[at].nest, seen[at].cost)};
      next.schedule.nests[0] = seen[at].nest;
      if (std::any_of(chosen.begin(), chosen.end(),
                      [&](const Chosen& c) { return c.schedule.nests[0] == seen[at].nest; }))
        continue;
      if (!lower(next.schedule, kernel, model)) continue;
      chosen.push_back(std::move(next));
      break;
    }
  }
  return chosen;
}

bool put(const fs::path& file, const std::string& text) { return write_file(file, text.data(), text.size()); }

/// The statements in float64 as plain C++: the reference of a case.
Result<std::string> reference_text(const GpuKernel& wanted) {
  auto kernel = parse_kernel_yaml(in_float64(wanted.yaml), wanted.name);
  if (!kernel) return kernel.diagnostics();
  kernel->name += "_reference";
  auto plain = load_hardware("scalar_c", {source + "/hardware_models"});
  if (!plain) return plain.diagnostics();
  auto mapped = enumerate_mappings(*kernel, plain->model, {});
  if (!mapped) return mapped.diagnostics();
  auto scheduled = schedule(*kernel, *mapped, plain->model, {});
  if (!scheduled) return scheduled.diagnostics();
  auto program = lower(scheduled->schedule, *kernel, plain->model);
  if (!program) return program.diagnostics();
  auto unit = print_cpp(*program, plain->model);
  if (!unit) return unit.diagnostics();
  std::string inputs, list;
  int input = 0;
  for (const EntryArgument& a : unit->arguments) {
    inputs += fmt::format("{}{}double*", inputs.empty() ? "" : ", ", a.written ? "" : "const ");
    list += (list.empty() ? "" : ", ") + (a.written ? std::string("out") : fmt::format("in[{}]", input++));
  }
  return unit->text + fmt::format(
                          "\n#include <vector>\nvoid bench_reference(const std::vector<const double*>& in, double* "
                          "out) {{ {}({}); }}\n",
                          unit->name, list);
}

/// The nests, one line each, in the format of a store.
std::string lines_of(const Schedule& schedule) {
  std::string text;
  for (const Nest& nest : schedule.nests)
    for (const Line& line : nest.lines) text += print(line) + "\n";
  return text;
}

double operations(const Kernel& kernel) {
  double sum = 0;
  for (const Computation& s : kernel.statements) sum += 2 * point_count(s);
  return sum;
}

std::string quoted_list(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += fmt::format("{}\"{}\"", text.empty() ? "" : ", ", word);
  return "{" + text + "}";
}

/// Glue between the host part of a kernel and runner.cpp.
std::string case_text(const std::string& name, const GpuKernel& wanted, const Kernel& kernel,
                      const TranslationUnit& unit, const Program& program, const HardwareModel& model, double seconds) {
  std::string arrays, call;
  double bytes = 0;
  for (std::size_t a = 0; a < unit.arguments.size(); ++a) {
    const EntryArgument& argument = unit.arguments[a];
    const std::string type(isamap::name(program.buffers[argument.buffer.index()].dtype));
    const auto size = argument.bytes / isamap::bytes(program.buffers[argument.buffer.index()].dtype);
    arrays +=
        fmt::format("{{\"{}\", \"{}\", bench::Type::{}, {}, {}}}, ", argument.name, type, type, size, argument.written);
    call += fmt::format("p[{}], ", a);
    bytes += static_cast<double>(argument.bytes);
  }
  const auto options = model.program.flags.find("nvrtc");
  const GpuProduct p = wanted.product.value_or(GpuProduct{});
  return fmt::format(
      "\n#include \"case.h\"\n\n{}namespace {{\n\nvoid launch(const std::vector<bench::Pointer>& p, device::Handle "
      "stream) "
      "{{ device::expect({}({}stream), \"{}\"); }}\n\nconst bench::Case the_case = {{\n    \"{}\", \"{}\", \"{}\", "
      "\"{}\", "
      "{}, {},\n    {{{}}},\n    {{{}, {}, {}, {}}}, {}, launch, {}, {}, {}}};\n\n}}  // namespace\n\n"
      "int main(int argc, char** argv) {{ return bench::main_of(the_case, argc, argv); }}\n",
      wanted.product ? "" : "void bench_reference(const std::vector<const double*>& in, double* out);\n\n", unit.name,
      call, unit.name, name, wanted.family, wanted.name, model.name, "\"" + wanted_arch(model) + "\"",
      quoted_list(options == model.program.flags.end() ? std::vector<std::string>{} : options->second), arrays, p.m,
      p.n, p.k, p.transposed, wanted.product ? "nullptr" : "bench_reference", operations(kernel), bytes, seconds);
}

class Bundle {
 public:
  Bundle(const LoadedHardware& target, const BundleOptions& options)
      : target_(target), options_(options), renewal_(options.folder) {}

  Diagnostics write() {
    std::vector<GpuKernel> kernels;
    std::set<std::string> families;
    for (GpuKernel& kernel : gpu_kernels(options_.small)) {
      families.insert(kernel.family);
      if (kernel.family.starts_with(options_.family) && has_types(kernel)) kernels.push_back(std::move(kernel));
    }
    if (kernels.empty())
      return {error(fmt::format("no family of kernels begins with '{}'", options_.family),
                    fmt::format("the families: {}", fmt::join(families, ", ")))};
    std::error_code failed;
    bool written = renewal_.begin() && put(options_.folder / "target.yaml", target_.resolved) &&
                   renewal_.put_place(fs::path("place") / device_header_name, device_header());
    for (const char* file :
         {"values.h", "reference.h", "case.h", "runner.cpp", "peers.h", "peers.cpp", "probe.cpp", "run.sh"}) {
      const std::string text = read_file(source + "/bench/gpu/place/" + file, 1 << 20);
      written = written && !text.empty() &&
                renewal_.put_place(file == std::string("run.sh") ? fs::path(file) : fs::path("place") / file, text);
    }
    fs::permissions(options_.folder / "run.sh", fs::perms::owner_exec, fs::perm_options::add, failed);
    if (!written || failed)
      return {error(fmt::format("cannot write to {}", options_.folder.string()), "is the disk full?")};
    for (const GpuKernel& wanted : kernels)
      if (const Diagnostics problems = add(wanted); has_errors(problems)) return problems;
    renewal_.forget_others();
    if (!put(options_.folder / "manifest.jsonl", manifest_)) return {error("cannot write the manifest")};
    return {};
  }

 private:
  /// Does the machine's language have types for the kernel's dtypes?
  bool has_types(const GpuKernel& wanted) const {
    const auto kernel = parse_kernel_yaml(wanted.yaml, wanted.name);
    return !kernel || std::all_of(kernel->tensors.begin(), kernel->tensors.end(), [&](const Tensor& tensor) {
      return target_.model.program.types.contains(std::string(name(tensor.dtype)));
    });
  }

  Diagnostics add(const GpuKernel& wanted) {
    const HardwareModel& model = target_.model;
    auto kernel = parse_kernel_yaml(wanted.yaml, wanted.name);
    if (!kernel) return kernel.diagnostics();
    auto chosen = choose(wanted, *kernel, model, options_.small);
    if (!chosen) return chosen.diagnostics();
    for (std::size_t s = 0; s < chosen->size(); ++s) {
      const std::string name = fmt::format("{}_s{}", wanted.name, s);
      auto program = lower((*chosen)[s].schedule, *kernel, model);
      if (!program) return program.diagnostics();
      auto unit = print_cuda(*program, model);
      if (!unit) return unit.diagnostics();
      const double seconds = (*chosen)[s].cycles / model.clock_hz;
      bool written = renewal_.put_case(name, "kernel.cu", unit->text) &&
                     renewal_.put_case(name, "case", wanted.name + "\n") &&
                     renewal_.put_case(name, "program.cpp",
                                       "#define ISAMAP_HOST_PART\n" + unit->text +
                                           case_text(name, wanted, *kernel, *unit, *program, model, seconds));
      if (!wanted.product) {
        const auto reference = reference_text(wanted);
        if (!reference) return reference.diagnostics();
        written = written && renewal_.put_case(name, "reference.cpp", *reference);
      }
      if (!written)
        return {error(fmt::format("cannot write to {}/cases/{}", options_.folder.string(), name), "is the disk full?")};
      manifest_ += OrderedJson{{"case", name},
                               {"kernel", wanted.name},
                               {"family", wanted.family},
                               {"yaml", wanted.yaml},
                               {"target", model.name},
                               {"clock_hz", model.clock_hz},
                               {"target_hash", lab::hash_of(target_.resolved)},
                               {"kernel_hash", lab::hash_of(print(*kernel))},
                               {"schedule", print((*chosen)[s].schedule)},
                               {"nest", lines_of((*chosen)[s].schedule)},
                               {"predicted_cycles", (*chosen)[s].cycles},
                               {"features", (*chosen)[s].features}}
                       .dump() +
                   "\n";
    }
    fmt::print(stderr, "{}: {} schedules\n", wanted.name, chosen->size());
    return {};
  }

  const LoadedHardware& target_;
  const BundleOptions& options_;
  std::string manifest_;
  Renewal renewal_;
};

}  // namespace

Diagnostics write_bundle(const LoadedHardware& target, const BundleOptions& options) {
  if (const Diagnostics problems = Bundle(target, options).write(); has_errors(problems)) return problems;
  if (!options.code) return {};
  const auto made = make_device_code(target.model, options.folder / "cases");
  fmt::print(stderr, "{}\n",
             made ? fmt::format("{} kernels were compiled for the GPU", *made) : made.diagnostics().front().message);
  return {};
}

}  // namespace isamap::bench
