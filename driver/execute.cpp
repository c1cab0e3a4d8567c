// SPDX-License-Identifier: Apache-2.0
#include "driver/execute.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "backends/common/process.h"
#include "hwdesc/model/program_language.h"
#include "ir/scatter.h"

namespace isamap {

static_assert(exit_missing == static_cast<int>(Exit::missing));
namespace {

constexpr double max_points = 2e10;            // minutes in the interpreter and in scalar code
constexpr double max_bytes = 3.0 * (1 << 30);  // held twice: expected and found

double operations_at_a_point(const ScalarExpr& e) {
  const bool counts = std::holds_alternative<Unary>(e.op) || std::holds_alternative<Binary>(e.op);
  double sum = counts ? 1 : 0;
  for (const ScalarExpr& arg : e.args) sum += operations_at_a_point(arg);
  return sum;
}

/// The data of a run, and how long it is timed.
struct RunData {
  Fill fill;
  std::uint64_t seed;
  double min_seconds;
};

Result<Checked> run_once(const Program& program, Runner& runner, ExecutionMode how, const RunData& run,
                         const Tell& tell) {
  const Kernel& kernel = program.kernel;
  std::vector<TensorData> expected = random_data(kernel, run.fill, run.seed);
  std::vector<TensorData> found = expected;
  auto outcome = [&] {
    const SlowOperationNotice notice(
        how == ExecutionMode::simulator ? "simulating" : "compiling and running the emitted program", tell);
    return runner.run(program, found, RunLimits{}, run.min_seconds);
  }();
  if (!outcome) return outcome.diagnostics();
  Checked checked;
  checked.executed = outcome->executed;
  checked.compiler = outcome->compiler;
  checked.simulator = outcome->simulator;
  checked.simulator_seconds = outcome->simulator_seconds;
  checked.text = outcome->text;
  checked.missing = outcome->missing;
  checked.limit = outcome->limit;
  checked.environment = outcome->environment;
  if (!why_not_run(checked).empty()) return checked;
  {
    const SlowOperationNotice notice("interpreting the kernel, to compare", tell);
    interpret(kernel, expected);
  }
  const Comparison comparison = compare(kernel, expected, found);
  checked.correct = comparison.equal;
  checked.max_error = comparison.max_error;
  checked.first_difference = comparison.first_difference;
  checked.seconds = outcome->executed == ExecutionMode::emulated
                        ? 0
                        : outcome->seconds;  // not a measurement: its time is meaningless
  checked.cycles = outcome->cycles;
  checked.scalar_cycles = outcome->scalar_cycles;
  checked.requests = outcome->requests;
  checked.banks = outcome->banks;
  checked.gflops = checked.seconds > 0 ? operations(kernel) / checked.seconds * 1e-9 : 0;
  return checked;
}

}  // namespace

std::map<std::string, BankRequests> by_part(const std::vector<BankRequests>& all) {
  std::map<std::string, BankRequests> sums;
  for (const BankRequests& r : all) {
    BankRequests& sum = sums[r.part];
    sum.requests += r.requests;
    sum.passes += r.passes;
    sum.least += r.least;
    sum.banks = r.banks;
  }
  return sums;
}

std::string executed_text(ExecutionMode executed, const std::string& simulator, double seconds) {
  return simulator.empty() ? std::string(name(executed))
                           : fmt::format("{} {} (limit {:g} s)", name(executed), simulator, seconds);
}

std::string why_not_run(const Checked& checked) {
  if (!checked.missing.empty()) return checked.missing;
  return checked.limit.empty() ? checked.environment : checked.limit;
}

Exit exit_of(const Checked& checked) {
  if (!checked.missing.empty()) return Exit::missing;
  if (!checked.limit.empty()) return Exit::limit;
  if (!checked.environment.empty()) return Exit::wrong_input;
  return checked.correct ? Exit::ok : Exit::wrong_result;
}

double operations(const Kernel& kernel) {
  double sum = 0;
  for (const Computation& s : kernel.statements)
    sum += point_count(s) * (operations_at_a_point(s.body) + (s.reduction == Reduction::assign ? 0 : 1));
  return sum;
}

Diagnostics too_large_to_run(const Kernel& kernel) {
  const double sum = visited_points(kernel), space = total_bytes(kernel);
  if (sum > max_points)
    return {error(
        fmt::format("kernel '{}' has {:.3g} points; at most {:.3g} are run and compared", kernel.name, sum, max_points),
        "choose smaller sizes, or use `schedule` and `emit`, which have no such limit")};
  if (space > max_bytes)
    return {error(fmt::format("the tensors of kernel '{}' take {:.3g} bytes; at most {:.3g} are run and compared",
                              kernel.name, space, max_bytes),
                  "choose smaller sizes, or use `schedule` and `emit`")};
  return {};
}

Diagnostics too_large_to_hold(const Kernel& kernel) {
  const double most = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
  const double space = total_bytes(kernel);
  if (space <= most || kernel.tensors.empty()) return {};
  const auto largest = std::max_element(kernel.tensors.begin(), kernel.tensors.end(),
                                        [](const Tensor& a, const Tensor& b) { return byte_count(a) < byte_count(b); });
  return {error(fmt::format("the tensors of '{}' take {:.3g} bytes, {} alone {:.3g}; this machine has {:.3g}",
                            kernel.name, space, largest->name, static_cast<double>(byte_count(*largest)), most),
                "choose smaller sizes")};
}

Result<Checked> run_and_compare(const Program& program, const HardwareModel& model, std::uint64_t seed,
                                double min_seconds, const RunChoices& choices) {
  const Availability available = availability(model);
  if (available.how == ExecutionMode::unavailable) {
    Checked missing;
    missing.executed = available.how;
    missing.missing = available.why;
    return missing;
  }
  const auto runner = make_runner(model, choices.workspace);
  return run_and_compare(program, *runner, available.how, seed, min_seconds, choices.tell);
}

Result<Checked> run_and_compare(const Program& program, Runner& runner, ExecutionMode how, std::uint64_t seed,
                                double min_seconds, const Tell& tell) {
  const auto& tensors = program.kernel.tensors;
  const bool any_float = std::any_of(tensors.begin(), tensors.end(), [](const Tensor& t) { return is_float(t.dtype); });
  auto exact = run_once(program, runner, how, {Fill::integers, seed, any_float ? 0 : min_seconds}, tell);
  if (!exact || exit_of(*exact) != Exit::ok || !any_float) return exact;
  return run_once(program, runner, how, {Fill::real, seed, min_seconds}, tell);
}

std::function<std::unique_ptr<Runner>()> runners_side_by_side(const HardwareModel& model) {
  if (has_thread_blocks(model) && availability(model).how == ExecutionMode::native) return {};
  return [&model] { return make_runner(model); };
}

}  // namespace isamap
