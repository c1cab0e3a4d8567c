// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/device_program.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/common/process.h"
#include "backends/cuda/device_run.h"
#include "backends/cuda/translation_unit.h"
#include "isamap/program_on_machine.h"
#include "support/hash.h"

namespace isamap {
namespace {

bool put(const std::filesystem::path& file, const std::string& text) {
  return write_file(file, text.data(), text.size());
}

class DeviceWriter final : public Runner {
 public:
  DeviceWriter(const HardwareModel& model, std::filesystem::path folder) : model_(model), folder_(std::move(folder)) {}

  Result<RunOutcome> run(const Program& program, std::vector<TensorData>& data, const RunLimits&, double) override {
    const auto unit = print_cuda(program, model_);
    if (!unit) return unit.diagnostics();
    const RunPlan plan = make_run_plan(program, *unit, true);
    const auto folder = device_program_folder(folder_, unit->text);
    std::error_code failed;
    std::filesystem::create_directories(folder, failed);
    std::vector<TensorData> expected = data;
    if (auto made = interpret(program, model_, expected); !made) return made.diagnostics();
    bool written = write_inputs(plan, data, folder) && put(folder / "kernel.cu", unit->text) &&
                   put(folder / "program.cpp", "#define ISAMAP_HOST_PART\n" + unit->text +
                                                   device_driver_text(plan.arrays, plan.pack, plan.entry, model_)) &&
                   put(folder.parent_path() / device_header_name, device_header());
    for (std::size_t a = 0; a < plan.arrays.size(); ++a) {
      if (!plan.arrays[a].output) continue;
      const auto& bytes = expected[plan.tensors[a].index()].bytes;
      written = written && write_file(folder / fmt::format("{}.expected", a), bytes.data(), bytes.size());
    }
    if (!written) return error(fmt::format("cannot write to {}", folder.string()), "is the disk full?");
    RunOutcome outcome;
    outcome.executed = ExecutionMode::written;
    outcome.missing = "written for another machine";
    return outcome;
  }

 private:
  HardwareModel model_;
  std::filesystem::path folder_;
};

class DeviceReader final : public Runner {
 public:
  DeviceReader(const HardwareModel& model, std::filesystem::path folder) : model_(model), folder_(std::move(folder)) {}

  Result<RunOutcome> run(const Program& program, std::vector<TensorData>& data, const RunLimits&, double) override {
    const auto unit = print_cuda(program, model_);
    if (!unit) return unit.diagnostics();
    RunOutcome outcome;
    outcome.executed = ExecutionMode::native;
    const auto folder = device_program_folder(folder_, unit->text);
    std::error_code ignored;
    if (!std::filesystem::exists(folder, ignored)) {
      outcome.missing =
          fmt::format("{} has no such program: it was written from another description, or for other instructions",
                      folder_.string());
    } else if (!std::filesystem::exists(folder / "result", ignored)) {
      const std::string said = read_file(folder / "log", 4096);
      outcome.missing = said.empty() ? "it was not run there" : "it failed there: " + said;
    } else if (const auto problem = read_outputs(make_run_plan(program, *unit, true), program, data, folder)) {
      return *problem;
    }
    return outcome;
  }

 private:
  HardwareModel model_;
  std::filesystem::path folder_;
};

}  // namespace

std::filesystem::path device_program_folder(const std::filesystem::path& folder, const std::string& text) {
  return folder / fmt::format("p{:016x}", fnv1a(text));
}

std::unique_ptr<Runner> make_device_writer(const HardwareModel& model, const std::filesystem::path& folder) {
  return std::make_unique<DeviceWriter>(model, folder);
}

std::unique_ptr<Runner> make_device_reader(const HardwareModel& model, const std::filesystem::path& folder) {
  return std::make_unique<DeviceReader>(model, folder);
}

Result<std::int64_t> make_device_code(const HardwareModel& model, const std::filesystem::path& folder) {
  const std::vector<std::string> places{"nvcc", "/usr/local/cuda/bin/nvcc"};
  const auto nvcc = std::find_if(places.begin(), places.end(), command_exists);
  if (nvcc == places.end()) return error("nvcc is not installed: the kernels are compiled where they run");
  std::vector<std::string> flags;
  if (const auto found = model.program.flags.find("nvcc"); found != model.program.flags.end()) flags = found->second;
  std::int64_t made = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().filename() != "kernel.cu") continue;
    const auto code = entry.path().parent_path() / "kernel.cubin";
    std::vector<std::string> command{*nvcc, "-cubin", "-o", code.string(), entry.path().string()};
    command.insert(command.end(), flags.begin(), flags.end());
    const TemporaryDirectory log;
    const auto ran = run_process(command, {300, 0, 0}, log.path() / "log");
    if (ran.exit_code != 0) return error("nvcc refuses " + entry.path().string() + ": " + ran.output);
    ++made;
  }
  return made;
}

}  // namespace isamap
