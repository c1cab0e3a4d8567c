// SPDX-License-Identifier: Apache-2.0
#include "backends/simulator/simulate.h"

#include <fmt/format.h>

#include <chrono>
#include <cstring>

#include "backends/assembly/printer.h"
#include "backends/simulator/external.h"
#include "backends/simulator/host.h"
#include "backends/simulator/queues.h"
#include "ir/element_places.h"

namespace isamap {
namespace {

/// Values of a program's arguments into (`in`) or out of its memories.
void transfer(const Program& program, Machine& machine, std::vector<TensorData>& data, bool in) {
  for (const Buffer& buffer : program.buffers) {
    if (buffer.role != BufferRole::argument || buffer.ahead_of_time || buffer.slots >= 0) continue;
    const Role role = role_of(program.kernel, buffer.tensor);
    const bool inout = program.kernel.tensors[buffer.tensor.index()].inout;
    if (in ? role != Role::input && !inout : role != Role::output) continue;
    auto& dense = data[buffer.tensor.index()].bytes;
    auto& image = machine.image(buffer.memory);
    const auto width = static_cast<std::size_t>(bytes(buffer.dtype));
    for_each_place(buffer.extents, buffer.strides, [&](std::int64_t i, std::int64_t place) {
      const std::size_t own = static_cast<std::size_t>(i) * width;
      const std::size_t there = static_cast<std::size_t>(buffer.address) + static_cast<std::size_t>(place) * width;
      if (own + width > dense.size() || there + width > image.size()) return;
      if (in)
        std::memcpy(image.data() + there, dense.data() + own, width);
      else
        std::memcpy(dense.data() + own, image.data() + there, width);
    });
  }
}

class Simulation {
 public:
  Simulation(const std::string& text, const Program& program, const HardwareModel& model, double seconds)
      : text_(text),
        program_(program),
        model_(model),
        decoder_(model),
        machine_(program, model),
        slots_(program),
        queues_(model, machine_),
        host_(program, slots_, machine_),
        state_(reset_values(model)),
        sign_(model.program.comment.empty() ? "#" : model.program.comment),
        seconds_(seconds),
        deadline_(std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                                         std::chrono::duration<double>(seconds))) {}

  Result<SimulatedTime> run(const SimulationHooks& hooks) {
    hooks_ = &hooks;
    hooks.before(machine_);
    loop_line(program_, model_, slots_,
              {[](const CallSite&, const std::int64_t*) {},
               [this](const Node& nest, const std::int64_t* loops) { host(nest, loops); }, [](const std::string&) {},
               [this] { return ends(); }});
    if (!ends()) commands(-1);
    if (!ends()) run_externally();
    if (!ends()) part_ends();
    if (!ends()) drain();
    if (!ends())
      if (auto problem = queues_.leftover()) fail(*problem);
    if (problem_) return *problem_;
    hooks.after(machine_);
    return time();
  }

 private:
  bool ends() const { return problem_ || enough_; }

  SimulatedTime time() const {
    SimulatedTime time = machine_.time();
    if (external()) time.cycles = cycles_;
    time.missing = missing_;
    time.limit = limit_;
    time.scalar_cycles = host_.cycles();
    return time;
  }

  void part_begins(std::size_t part) {
    part_ends();
    part_ = part;
  }
  /// Its results are in the memories; the clock does not wait for them.
  void part_ends() {
    if (!part_ || ends()) return;
    int line = number_;
    if (auto problem = queues_.run_out(line, [this] { return too_late(); })) {
      number_ = line;
      return fail(*problem);
    }
    enough_ = hooks_->part_ended && !hooks_->part_ended(*part_, machine_, time());
  }

  bool external() const { return !model_.program.simulator.command.empty(); }

  /// Runs the commands since the last host nest in the external simulator. It loses its memories and state when it
  /// exits, so a program is given to it in one piece.
  void run_externally() {
    if (collected_.empty()) return;
    if (ran_externally_)
      return fail(error("the program has host nests between commands, which an external simulator cannot execute",
                        "choose another schedule, or leave out program.run.simulator"));
    ran_externally_ = true;
    const auto& text = model_.program;
    const auto line = [](const std::string& words) { return words.empty() ? "" : words + "\n"; };
    const auto done =
        run_external(line(text.begin) + collected_ + line(text.end), program_, model_, machine_, seconds_);
    collected_.clear();
    if (!done) {
      problem_ = done.diagnostics().front();
      return;
    }
    cycles_ = done->cycles;
    missing_ = done->missing;
    limit_ = done->limit;
  }

  void host(const Node& nest, const std::int64_t* loops) {
    commands(hosts_++);
    if (!ends()) run_externally();
    if (!ends()) drain();
    machine_.wait();
    if (!ends()) problem_ = host_.run(nest, loops);
  }

  std::optional<Diagnostic> too_late() const {
    if (std::chrono::steady_clock::now() <= deadline_) return std::nullopt;
    return error(fmt::format("the simulation took more than {} s", seconds_), "use a smaller kernel");
  }

  void drain() {
    int line = number_;
    if (auto problem = queues_.drain(line, [this] { return too_late(); })) {
      number_ = line;
      fail(*problem);
    }
  }

  /// Executes lines up to the marker of host nest `stop`, or to the end (-1).
  void commands(std::int64_t stop) {
    while (at_ < text_.size()) {
      const std::size_t end = std::min(text_.find('\n', at_), text_.size());
      const std::string_view line = std::string_view(text_).substr(at_, end - at_);
      at_ = end + 1;
      ++number_;
      if (line.empty() || line == model_.program.begin || line == model_.program.end) continue;
      if (line.starts_with(sign_)) {
        const std::string_view rest = line.substr(sign_.size());
        const auto part = rest.empty() ? std::nullopt : marked_part(rest.substr(1));
        if (part) part_begins(*part);
        if (ends()) return;
        if (part || !rest.starts_with(" host ")) continue;
        if (stop >= 0 && rest.substr(1) == host_marker(stop)) return;
        return fail(error(fmt::format("expected {1}, found '{0}'", rest.substr(1, 80),
                                      stop < 0 ? "no host nest" : "'" + host_marker(stop) + "'")));
      }
      if (external()) {
        collected_ += std::string(line) + "\n";
        continue;
      }
      if (queues_.add_token(line, number_)) continue;
      auto command = decoder_.decode(line, state_);
      if (!command) return fail(command.diagnostics().front());
      const bool queued = queues_.takes(*command->instruction) && !command->instruction->timing.port.empty();
      if (queued)
        queues_.add(*command, number_);
      else if (auto problem = machine_.execute(*command))
        return fail(*problem);
      if (++executed_ % 64 == 0)
        if (auto problem = too_late()) return fail(*problem);
    }
    if (stop >= 0) fail(error("the text ends before '" + host_marker(stop) + "'"));
  }

  void fail(Diagnostic problem) {
    problem.where = {program_.name + ".s", number_, 0};
    problem_ = std::move(problem);
  }

  const std::string& text_;
  const Program& program_;
  const HardwareModel& model_;
  Decoder decoder_;
  Machine machine_;
  LoopSlots slots_;
  Queues queues_;
  Host host_;
  KnownState state_;
  std::string sign_;
  double seconds_;
  std::chrono::steady_clock::time_point deadline_;
  std::size_t at_ = 0;
  int number_ = 0;
  std::int64_t hosts_ = 0, executed_ = 0, cycles_ = 0;
  std::string collected_;  ///< commands for the external simulator
  std::string missing_, limit_;
  bool ran_externally_ = false;
  const SimulationHooks* hooks_ = nullptr;
  std::optional<std::size_t> part_;  ///< of a model, since its marker
  bool enough_ = false;
  std::optional<Diagnostic> problem_;
};

class SimulatorRunner final : public Runner {
 public:
  explicit SimulatorRunner(const HardwareModel& model) : model_(model) {}

  Result<RunOutcome> run(const Program& program, std::vector<TensorData>& data, const RunLimits& limits,
                         double) override {
    RunOutcome outcome;
    outcome.executed = ExecutionMode::simulator;
    const ExternalSimulator& theirs = model_.program.simulator;
    const double seconds = theirs.seconds > 0 ? theirs.seconds : limits.seconds;
    outcome.simulator = theirs.name;
    if (!theirs.command.empty()) outcome.simulator_seconds = seconds;
    if (const auto problem = too_many_commands(program)) {
      outcome.limit = problem->message;
      return outcome;
    }
    auto text = print_assembly(program, model_);
    if (!text) return text.diagnostics();
    const auto start = std::chrono::steady_clock::now();
    const auto time = simulate(*text, program, model_, data, seconds);
    if (!time && std::chrono::steady_clock::now() - start >= std::chrono::duration<double>(seconds)) {
      outcome.limit = time.diagnostics().front().message;
      return outcome;
    }
    if (!time) return time.diagnostics();
    outcome.text = std::move(*text);
    outcome.missing = time->missing;
    outcome.limit = time->limit;
    outcome.cycles = time->cycles;
    outcome.scalar_cycles = time->scalar_cycles;
    return outcome;
  }

 private:
  HardwareModel model_;
};

}  // namespace

Result<SimulatedTime> simulate(const std::string& text, const Program& program, const HardwareModel& model,
                               std::vector<TensorData>& data, double seconds) {
  return Simulation(text, program, model, seconds)
      .run({[&](Machine& machine) { transfer(program, machine, data, true); },
            [&](Machine& machine) { transfer(program, machine, data, false); },
            {}});
}

Result<SimulatedTime> simulate(const std::string& text, const Program& program, const HardwareModel& model,
                               const SimulationHooks& hooks, double seconds) {
  return Simulation(text, program, model, seconds).run(hooks);
}

std::unique_ptr<Runner> make_simulator(const HardwareModel& model) { return std::make_unique<SimulatorRunner>(model); }

}  // namespace isamap
