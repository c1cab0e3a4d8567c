// SPDX-License-Identifier: Apache-2.0
#include "backends/simulator/model_simulation.h"

#include <fmt/format.h>

#include <cstring>

#include "backends/simulator/simulate.h"

namespace isamap {
namespace {

AccessedBytes operator-(const AccessedBytes& a, const AccessedBytes& b) {
  return {a.read - b.read, a.written - b.written};
}

/// Counters of `now` without those of `before`.
template <class Value>
std::map<std::string, Value> more(const std::map<std::string, Value>& now, const std::map<std::string, Value>& before) {
  std::map<std::string, Value> difference;
  for (const auto& [name, value] : now) {
    const auto known = before.find(name);
    difference[name] = known == before.end() ? value : value - known->second;
  }
  return difference;
}

SimulatedPart since(const SimulatedTime& now, const SimulatedTime& before) {
  return {now.cycles - before.cycles,
          now.scalar_cycles - before.scalar_cycles,
          now.commands - before.commands,
          more(now.link_bytes, before.link_bytes),
          more(now.port_busy, before.port_busy),
          more(now.memories, before.memories)};
}

class ModelMemory {
 public:
  ModelMemory(const ModelSimulation& run, Machine& machine)
      : image_(machine.image(run.machine.home())), places_(run.stream.places) {
    if (image_.size() <
        static_cast<std::size_t>(places_.bytes))  // outputs that nothing writes, inputs that nothing reads
      image_.resize(static_cast<std::size_t>(places_.bytes));
  }
  void put(std::int64_t address, const std::vector<std::uint8_t>& bytes) {
    if (!bytes.empty()) std::memcpy(image_.data() + address, bytes.data(), bytes.size());
  }
  std::vector<std::uint8_t> at(std::int64_t address, std::int64_t bytes) const {
    return {image_.begin() + address, image_.begin() + address + bytes};
  }

 private:
  std::vector<std::uint8_t>& image_;
  const StreamPlaces& places_;
};

}  // namespace

Result<SimulatedModel> simulate_model(const ModelSimulation& run,
                                      const std::vector<std::vector<std::uint8_t>>& inputs) {
  SimulatedModel made;
  SimulatedTime before;
  SimulationHooks hooks;
  const StreamPlaces& places = run.stream.places;
  hooks.before = [&](Machine& machine) {
    ModelMemory memory(run, machine);
    for (std::size_t i = 0; i < inputs.size(); ++i) memory.put(places.inputs[i], inputs[i]);
    memory.put(places.weights, run.model.weights);
  };
  hooks.after = [&](Machine& machine) {
    const ModelMemory memory(run, machine);
    for (std::size_t o = 0; o < places.outputs.size(); ++o)
      made.outputs.push_back(memory.at(places.outputs[o], run.model.outputs[o].bytes()));
  };
  hooks.part_ended = [&](std::size_t part, Machine& machine, const SimulatedTime& time) {
    made.parts.push_back(since(time, before));
    before = time;
    if (!run.read || part >= run.written.size()) return true;
    const ModelMemory memory(run, machine);
    std::vector<std::vector<std::uint8_t>> arrays;
    for (const WrittenBytes& one : run.written[part]) arrays.push_back(memory.at(one.address, one.bytes));
    return run.read(part, arrays);
  };
  const auto time = simulate(run.text, run.stream.program, run.machine, hooks, run.seconds);
  if (!time) return time.diagnostics();
  made.time = *time;
  return made;
}

}  // namespace isamap
