// SPDX-License-Identifier: Apache-2.0
#include "backends/compiled_runner.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <deque>
#include <mutex>

#include "backends/common/memory_counts.h"
#include "backends/common/process.h"
#include "backends/cpp/compile.h"
#include "backends/cpp/compile/compiler.h"
#include "backends/cpp/compile/program_cache.h"
#include "backends/cpp/run_plan.h"
#include "backends/cpp/symbolic/symbolic_unit.h"
#include "backends/cpp/translation_unit.h"
#include "backends/cuda/device_run.h"
#include "backends/cuda/symbolic_unit.h"
#include "backends/cuda/translation_unit.h"
#include "hwdesc/model/program_language.h"
#include "isamap/backend.h"
#include "support/threads.h"

namespace isamap {
namespace {

namespace fs = std::filesystem;

/// One execution of a compiled program: its data, its limits, and the folder with its files.
struct CompiledRun {
  const Program& program;
  std::vector<TensorData>& data;
  RunLimits limits;
  double min_seconds = 0;
  std::filesystem::path folder;
  RunPlan plan;
  std::filesystem::path executable = {};  ///< empty: "program" in the folder
};

/// Execution of what is compiled, and what its end means.
class ExecutableRunner {
 public:
  explicit ExecutableRunner(const HardwareModel& model) : model_(model) {}

  Result<RunOutcome> execute(const CompiledRun& run, RunOutcome outcome) const {
    const auto& [program, data, limits, min_seconds, folder, plan, given] = run;
    const std::string executable = (given.empty() ? folder / "program" : given).string();
    std::vector<std::string> command = {executable};
    if (outcome.executed == ExecutionMode::emulated && !model_.program.run_emulated.empty()) {
      command = split_command(model_.program.run_emulated);
      for (std::string& word : command)
        if (word == "{exe}") word = executable;
    }
    command.insert(command.end(), {folder.string(), fmt::format("{}", min_seconds)});
    const auto result =
        run_process(command, {limits.seconds, limits.memory_bytes, limits.file_bytes}, folder / "run.log");
    if (!result.started) return error(fmt::format("'{}' cannot be executed", command[0]), result.output);
    if (result.signal == SIGILL || result.exit_code == 128 + SIGILL) {
      outcome.missing = fmt::format("this machine does not execute the instructions of '{}'", model_.name);
      outcome.executed = ExecutionMode::unavailable;
      return outcome;
    }
    if (result.timed_out || result.signal == SIGXCPU) {
      outcome.limit = fmt::format("the emitted program of '{}' ran longer than {} s", program.name, limits.seconds);
      return outcome;
    }
    if (result.exit_code == exit_missing && outcome.executed == ExecutionMode::native) {
      outcome.missing = result.output.substr(0, result.output.find_last_not_of('\n') + 1);
      outcome.executed = ExecutionMode::unavailable;
      return outcome;
    }
    if (const auto problem = failure(program, limits, result)) return *problem;
    if (const auto problem = read_outputs(plan, program, data, folder)) return *problem;
    MemoryCounts counts = counts_in(folder / "run.log");
    outcome.requests = std::move(counts.requests);
    outcome.banks = std::move(counts.banks);
    double seconds = 0;
    if (std::sscanf(read_file(folder / "result", 64).c_str(), "seconds %lf", &seconds) == 1) outcome.seconds = seconds;
    return outcome;
  }

  static std::optional<Diagnostic> failure(const Program& program, const RunLimits& limits,
                                           const ProcessResult& result) {
    if (result.exit_code == 0) return std::nullopt;
    std::string what;
    if (result.signal == SIGSEGV || result.signal == SIGBUS)
      what = "touched memory outside its tensors";
    else if (result.signal == SIGXFSZ)
      what = fmt::format("wrote more than {} bytes to a file", limits.file_bytes);
    else if (result.signal != 0)
      what = fmt::format("was ended by signal {} ({})", result.signal, strsignal(result.signal));
    else
      what = fmt::format("failed with exit code {}", result.exit_code);
    Diagnostic problem = error(fmt::format("the emitted program of '{}' {}", program.name, what));
    if (!result.output.empty()) problem.notes.push_back(result.output);
    return problem;
  }

  HardwareModel model_;
};

class CppRunner final : public Runner, ExecutableRunner {
 public:
  CppRunner(const HardwareModel& model, bool workspace) : ExecutableRunner(model), workspace_(workspace) {}

  /// Executables go to the cache, where `run` finds them.
  void prepare(const std::vector<const Program*>& programs, int jobs, const std::function<bool()>& stopped) override {
    const Availability available = availability(model_);
    if (available.how == ExecutionMode::unavailable || !has_cache()) return;
    const bool on_device = has_thread_blocks(model_) && available.how == ExecutionMode::native;
    const int at_once = std::min(jobs, static_cast<int>(programs.size()));
    for_each_in_parallel(programs.size(), jobs, [&](std::size_t p) {
      if ((stopped && stopped()) || !not_executed(*programs[p]).empty()) return;
      const TemporaryDirectory folder;
      const auto unit = text_of(*programs[p]);
      if (!unit || !folder.ok()) return;
      [[maybe_unused]] const auto made = made_in(folder.path(), *unit, make_run_plan(*programs[p], *unit, on_device),
                                                 on_device, std::max(1, jobs / std::max(1, at_once)));
    });
  }

  Result<RunOutcome> run(const Program& program, std::vector<TensorData>& data, const RunLimits& limits,
                         double min_seconds) override {
    RunOutcome outcome;
    const Availability available = availability(model_);
    outcome.executed = available.how;
    if (available.how == ExecutionMode::unavailable) {
      outcome.missing = available.why;
      return outcome;
    }
    if (const std::string why = not_executed(program); !why.empty()) {
      outcome.missing = why;
      outcome.executed = ExecutionMode::unavailable;
      return outcome;
    }
    const bool on_device = has_thread_blocks(model_) && available.how == ExecutionMode::native;
    const auto unit = text_of(program);
    if (!unit) return unit.diagnostics();
    outcome.text = unit->text;
    CompiledRun run{program, data, limits, min_seconds, {}, make_run_plan(program, *unit, on_device)};
    const bool again = min_seconds > 0 && !on_device;
    auto files = again ? kept_.take(unit->text, data) : nullptr;
    if (files == nullptr) {
      files = std::make_unique<RunFiles>(RunFiles{unit->text, "", again ? data : std::vector<TensorData>{}, {}});
      auto problems = set_up(*files, *unit, run.plan, data, outcome);
      if (has_errors(problems)) return problems;
      if (!outcome.environment.empty() || !outcome.missing.empty() || !outcome.limit.empty()) return outcome;
    }
    run.folder = files->folder->path();
    outcome.compiler = files->compiler;
    auto ran = on_device ? executed_on_device(run, *unit, std::move(outcome)) : execute(run, std::move(outcome));
    if (again && ran) kept_.keep(std::move(files));
    return ran;
  }

 private:
  /// What runs of one program read: the program, and its inputs.
  struct RunFiles {
    std::string text, compiler;
    std::vector<TensorData> data;  ///< empty: they are not kept
    std::unique_ptr<TemporaryDirectory> folder;
  };

  /// Files of programs that are timed several times on the same data.
  class KeptFiles {
   public:
    /// Null: there are none, or another run has them.
    std::unique_ptr<RunFiles> take(const std::string& text, const std::vector<TensorData>& data) {
      const auto same = [](const TensorData& a, const TensorData& b) { return a.bytes == b.bytes; };
      const std::lock_guard lock(mutex_);
      for (auto one = all_.begin(); one != all_.end(); ++one)
        if ((*one)->text == text &&
            std::equal(data.begin(), data.end(), (*one)->data.begin(), (*one)->data.end(), same)) {
          auto found = std::move(*one);
          bytes_ -= bytes_of(*found);
          all_.erase(one);
          return found;
        }
      return nullptr;
    }
    void keep(std::unique_ptr<RunFiles> files) {
      constexpr std::size_t most = 24;  // candidates of a statement, or its variants
      const std::size_t bytes = bytes_of(*files);
      if (bytes > most_bytes / 4) return;  // writing them again takes little of the time of such a run
      const std::lock_guard lock(mutex_);
      for (bytes_ += bytes; all_.size() == most || bytes_ > most_bytes; all_.pop_front())
        bytes_ -= bytes_of(*all_.front());
      all_.push_back(std::move(files));
    }

   private:
    static constexpr std::size_t most_bytes = std::size_t{64} << 20;  ///< of all inputs, here and as many in the files
    static std::size_t bytes_of(const RunFiles& files) {
      std::size_t bytes = 0;
      for (const TensorData& one : files.data) bytes += one.bytes.size();
      return bytes;
    }

    std::mutex mutex_;
    std::size_t bytes_ = 0;  ///< of all; this and the following are guarded
    std::deque<std::unique_ptr<RunFiles>> all_;
  };

  /// Compiles the program and writes its inputs, or says in the outcome what is missing here.
  Diagnostics set_up(RunFiles& files, const TranslationUnit& unit, const RunPlan& plan,
                     const std::vector<TensorData>& data, RunOutcome& outcome) const {
    files.folder = std::make_unique<TemporaryDirectory>();
    const TemporaryDirectory& folder = *files.folder;
    if (!folder.ok()) {
      outcome.environment = fmt::format(
          "cannot create a temporary folder in {}: set TMPDIR to a folder that exists "
          "and is writable",
          TemporaryDirectory::parent());
      return {};
    }
    const bool on_device = has_thread_blocks(model_) && outcome.executed == ExecutionMode::native;
    const auto made = made_in(folder.path(), unit, plan, on_device);
    if (!made) {
      // If the compiler fails on an empty program, ours is not at fault.
      outcome.missing = why_compiler_fails(model_, folder.path());
      if (outcome.missing.empty()) return made.diagnostics();
      outcome.executed = ExecutionMode::unavailable;
      return {};
    }
    outcome.limit = made->limit;
    if (!outcome.limit.empty()) return {};
    files.compiler = listed_command(made->compiler);
    if (!write_inputs(plan, data, folder.path()))
      return {error("cannot write the input files of a run", "is the disk full?")};
    return {};
  }

  /// The driver compiles the kernels and stores the code for the next run.
  Result<RunOutcome> executed_on_device(CompiledRun& run, const TranslationUnit& unit, RunOutcome outcome) const {
    const std::string key = device_code_key(model_, unit.text);
    const fs::path code = run.folder / device_code_name;
    const bool known = take_from_cache(key, code);
    if (!known) write_file(run.folder / device_text_name, unit.text.data(), unit.text.size());
    run.limits.memory_bytes = 0;  // GPU drivers reserve address space for all memory
    auto ran = execute(run, std::move(outcome));
    if (ran && !known && fs::exists(code)) put_into_cache(key, code);
    return ran;
  }

  Result<TranslationUnit> text_of(const Program& program) const {
    return has_thread_blocks(model_) ? print_cuda(program, model_) : print_cpp(program, model_, workspace_);
  }

  /// The executable `program` in the folder. `compilers`: of its sources at a time; 0: one for each processor.
  Result<MadeProgram> made_in(const fs::path& folder, const TranslationUnit& unit, const RunPlan& plan, bool on_device,
                              int compilers = 0) const {
    KernelText text = unit.text;
    text.jobs = compilers;
    if (on_device) {
      text.text =
          "#define ISAMAP_HOST_PART\n" + unit.text + device_driver_text(plan.arrays, plan.pack, plan.entry, model_);
      return compile(model_, text, "", {{device_header_name, device_header()}}, folder / "program");
    }
    const bool kernels = has_thread_blocks(model_);
    return compile(model_, text, driver_text(plan.arrays, plan.pack, plan.entry),
                   kernels ? TextFiles{{emulation_header_name, emulation_header()}} : TextFiles{}, folder / "program",
                   kernels ? emulation_part() : SharedPart{});
  }

  /// Why an instruction of the program, or of one of its versions, cannot be executed here.
  std::string not_executed(const std::vector<Node>& nodes) const {
    std::string why;
    for (const Node& node : nodes) {
      if (!why.empty()) break;
      if (const auto* loop = std::get_if<Loop>(&node.is)) why = not_executed(loop->body);
      if (const auto* guard = std::get_if<Guard>(&node.is)) {
        why = not_executed(guard->then);
        if (why.empty()) why = not_executed(guard->otherwise);
      }
      if (const auto* call = std::get_if<Call>(&node.is))
        why = isamap::not_executed(model_.instruction(call->instruction), model_);
    }
    return why;
  }
  std::string not_executed(const Program& program) const {
    std::string why = not_executed(program.prepack);
    if (why.empty()) why = not_executed(program.body);
    for (const Program& version : program.versions)
      if (why.empty()) why = not_executed(version);
    return why;
  }

  bool workspace_;
  KeptFiles kept_;
};

class SymbolicCppRunner final : public SymbolicRunner, ExecutableRunner {
 public:
  SymbolicCppRunner(const SymbolicProgram& program, const HardwareModel& model)
      : ExecutableRunner(model), symbolic_(program) {}

  void set_sizes(const Bindings& sizes) override { sizes_ = sizes; }
  int compilations() const override { return compilations_; }

  Result<RunOutcome> run(const Program& program, std::vector<TensorData>& data, const RunLimits& limits,
                         double min_seconds) override {
    RunOutcome outcome;
    const Availability available = availability(model_);
    outcome.executed = kernels() ? ExecutionMode::emulated : available.how;  // also where there is a GPU
    if (available.how == ExecutionMode::unavailable) {
      outcome.missing = available.why;
      return outcome;
    }
    const TemporaryDirectory folder;
    if (!folder.ok() || !home_.ok()) {
      outcome.environment = fmt::format("cannot create a temporary folder in {}", TemporaryDirectory::parent());
      return outcome;
    }
    if (compilations_ == 0 && limit_.empty())
      if (const Diagnostics problems = compile_once(); !problems.empty()) return problems;
    outcome.limit = limit_;
    if (!outcome.limit.empty()) return outcome;
    outcome.compiler = compiler_;
    outcome.text = unit_.text;
    CompiledRun run{program, data, limits, min_seconds, folder.path(), plan_at(program), home_.path() / "program"};
    if (!write_inputs(run.plan, data, folder.path()) || !write_sizes(run.plan, folder.path()))
      return error("cannot write the input files of a run", "is the disk full?");
    return execute(run, std::move(outcome));
  }

 private:
  bool kernels() const { return has_thread_blocks(model_); }
  const Program& first() const {
    return symbolic_.versions[0].parts.empty() ? symbolic_.arguments : symbolic_.versions[0].parts[0].program;
  }

  Diagnostics compile_once() {
    auto unit = kernels() ? print_symbolic_cuda(symbolic_, model_) : print_symbolic_cpp(symbolic_, model_);
    if (!unit) return unit.diagnostics();
    unit_ = std::move(*unit);
    const RunPlan plan = make_run_plan(first(), unit_, !kernels());
    const auto made =
        compile(model_, unit_.text,
                symbolic_driver_text(plan.arrays, plan.pack, plan.entry, symbolic_.kernel.facts.sizes.size()),
                kernels() ? TextFiles{{emulation_header_name, emulation_header()}} : TextFiles{},
                home_.path() / "program", kernels() ? emulation_part() : SharedPart{});
    if (!made) return made.diagnostics();
    limit_ = made->limit;
    if (!limit_.empty()) return {};
    compiler_ = listed_command(made->compiler);
    ++compilations_;
    return {};
  }

  /// The arrays at the sizes of a run; packed ones have one size.
  RunPlan plan_at(const Program& bound) const {
    RunPlan plan = make_run_plan(first(), unit_, !kernels());
    for (std::size_t a = 0; a < plan.arrays.size(); ++a) {
      if (!plan.tensors[a].valid()) continue;
      Buffer buffer;
      const Tensor& tensor = bound.kernel.tensors[plan.tensors[a].index()];
      buffer.extents = tensor.shape;
      buffer.strides = strides_of(tensor);
      plan.strides[a] = buffer.strides;
      plan.arrays[a].bytes = element_span(buffer) * bytes(tensor.dtype);
    }
    return plan;
  }

  bool write_sizes(const RunPlan& plan, const fs::path& folder) const {
    std::string text;
    for (const SymbolicSize& size : symbolic_.kernel.facts.sizes) text += fmt::format("{}\n", sizes_.at(size.name));
    for (const RunArray& array : plan.arrays) text += fmt::format("{}\n", array.bytes);
    return write_file(folder / "sizes", text.data(), text.size());
  }

  SymbolicProgram symbolic_;
  Bindings sizes_;
  TemporaryDirectory home_;
  TranslationUnit unit_;
  std::string compiler_;
  std::string limit_;  ///< of the compiler, which is not asked again
  int compilations_ = 0;
};

}  // namespace

std::unique_ptr<SymbolicRunner> make_symbolic_runner(const SymbolicProgram& program, const HardwareModel& model) {
  return std::make_unique<SymbolicCppRunner>(program, model);
}

std::unique_ptr<Runner> make_cpp_runner(const HardwareModel& model, bool workspace) {
  return std::make_unique<CppRunner>(model, workspace);
}

}  // namespace isamap
