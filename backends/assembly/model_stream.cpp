// SPDX-License-Identifier: Apache-2.0
#include "backends/assembly/model_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "backends/assembly/printer.h"
#include "support/arithmetic.h"
#include "support/overloaded.h"

namespace isamap {
namespace {

constexpr std::string_view hash_of_weights = "weights have the hash ";

/// A local array of a part in the outermost memory.
bool is_workspace(const Buffer& buffer, const HardwareModel& machine) {
  return buffer.role == BufferRole::local && !buffer.ahead_of_time && buffer.slots < 0 &&
         buffer.memory == machine.home();
}

std::int64_t end_of(const Buffer& buffer) { return buffer.address + element_span(buffer) * bytes(buffer.dtype); }

/// First and last byte behind: local arrays keep their distances, as those that are never needed at once may share.
std::pair<std::int64_t, std::int64_t> workspace_span(const Program& part, const HardwareModel& machine) {
  std::int64_t low = 0, high = 0;
  for (const Buffer& buffer : part.buffers) {
    if (!is_workspace(buffer, machine) || element_span(buffer) == 0) continue;
    low = high == 0 ? buffer.address : std::min(low, buffer.address);
    high = std::max(high, end_of(buffer));
  }
  return {low, high};
}

std::int64_t workspace_align(const Program& part, const HardwareModel& machine) {
  std::int64_t align = place_align;
  for (const Buffer& buffer : part.buffers)
    if (buffer.slots < 0 && buffer.memory == machine.home()) align = std::max(align, buffer.align);
  return align;
}

class StreamJoiner {
 public:
  StreamJoiner(const ModelProgram& model, const HardwareModel& machine) : model_(model), machine_(machine) {
    made_.places = stream_places(model);
  }

  Result<ModelStream> join() {
    const Memory& memory = machine_.memory(machine_.home());
    if (memory.capacity > 0 && made_.places.bytes > memory.capacity)
      return error(fmt::format("the model needs {} bytes of {}, which has {}", made_.places.bytes, memory.name,
                               memory.capacity));
    Program& whole = made_.program;
    whole.name = model_.name;
    whole.kernel.name = model_.name;
    describe_blocks();
    for (std::size_t c = 0; c < model_.calls.size(); ++c) {
      const PartCall& call = model_.calls[c];
      whole.body.push_back({Comment{part_marker(c, call.name)}});
      for (const FilledTensor& fill : call.fill)
        if (auto problem = begin(fill, c)) return *problem;
      add(call, c);
    }
    return std::move(made_);
  }

 private:
  void say(const std::string& what, const std::string& name, std::int64_t at, std::int64_t bytes) {
    std::string text =
        fmt::format("{}{}: {} bytes at {} of {}", what, name, bytes, at, machine_.memory(machine_.home()).name);
    for (char& c : text)
      if (static_cast<unsigned char>(c) < ' ') c = ' ';
    made_.program.body.push_back({Comment{std::move(text)}});
  }
  void describe_blocks() {
    const StreamPlaces& places = made_.places;
    for (std::size_t i = 0; i < model_.inputs.size(); ++i)
      say("input ", model_.inputs[i].name, places.inputs[i], model_.inputs[i].bytes());
    for (std::size_t o = 0; o < model_.outputs.size(); ++o)
      say("output ", model_.outputs[o].name, places.outputs[o], model_.outputs[o].bytes());
    say("weights", "", places.weights, static_cast<std::int64_t>(model_.weights.size()));
    made_.program.body.push_back({Comment{fmt::format("{}{:016x}", hash_of_weights, weights_hash(model_))}});
    say("arena", "", places.arena, model_.arena_bytes);
  }

  BufferId add(Buffer buffer) {
    made_.program.buffers.push_back(std::move(buffer));
    return make_id<BufferId>(made_.program.buffers.size() - 1);
  }

  /// All are local: buffers of different parts are the same bytes, which only a full order of accesses respects.
  void add(const PartCall& call, std::size_t number) {
    const Program& part = model_.programs[call.program];
    const std::int64_t lowest = workspace_span(part, machine_).first;
    ids_.assign(part.buffers.size(), BufferId{});
    for (std::size_t b = 0; b < part.buffers.size(); ++b) {
      Buffer buffer = part.buffers[b];
      const bool placed = buffer.role == BufferRole::argument || buffer.ahead_of_time;
      if (placed && call.arguments[b].in == ModelPlace::In::nowhere) continue;
      if (placed)
        buffer.address = address_in(made_.places, call.arguments[b]);
      else if (is_workspace(buffer, machine_))
        buffer.address += address_in(made_.places, call.workspace) - lowest;
      buffer.name = fmt::format("p{}_{}", number, buffer.name);
      buffer.role = BufferRole::local;
      buffer.ahead_of_time = false;
      buffer.tensor = {};
      ids_[b] = add(std::move(buffer));
    }
    Program& whole = made_.program;
    for (const Node& node : part.body) whole.body.push_back(of_whole(node));
    for (const Assumption& assumption : part.assumptions)
      if (std::find(whole.assumptions.begin(), whole.assumptions.end(), assumption) == whole.assumptions.end())
        whole.assumptions.push_back(assumption);
    whole.sizes.insert(part.sizes.begin(), part.sizes.end());
  }

  Node of_whole(Node node) const {
    std::visit(overloaded{[&](Loop& loop) { all_of_whole(loop.body); },
                          [&](Guard& guard) {
                            all_of_whole(guard.then);
                            all_of_whole(guard.otherwise);
                          },
                          [&](Call& call) {
                            for (Ref& ref : call.operands) rename(ref);
                            for (Ref& ref : call.masks) rename(ref);
                            rename(call.counter);
                          },
                          [&](Element& element) {
                            rename(element.write);
                            for (Ref& ref : element.reads) rename(ref);
                          },
                          [&](Sync& sync) { rename(sync.counter); }, [](Comment&) {}},
               node.is);
    return node;
  }
  void all_of_whole(std::vector<Node>& nodes) const {
    for (Node& node : nodes) node = of_whole(std::move(node));
  }
  void rename(Ref& ref) const {
    if (ref.buffer.valid()) ref.buffer = ids_[ref.buffer.index()];
  }

  /// A tensor that several parts write: its elements one by one, by the host.
  std::optional<Diagnostic> begin(const FilledTensor& fill, std::size_t number) {
    const auto unit = machine_.scalar_unit_for(machine_.home());
    if (!unit)
      return error(fmt::format("'{}': several parts write a tensor, which no unit can set to its first value",
                               model_.calls[number].name),
                   "describe a unit with 'scalar: true' that reaches " + machine_.memory(machine_.home()).name);
    Buffer buffer;
    buffer.name = fmt::format("p{}_begun{}", number, made_.program.buffers.size());
    buffer.memory = machine_.home();
    buffer.dtype = fill.dtype;
    buffer.extents = {fill.count};
    buffer.strides = {1};
    buffer.address = address_in(made_.places, fill.place);
    const std::string variable = "begun";
    Element element;
    element.unit = *unit;
    element.write = {add(std::move(buffer)), {AffineExpr::dim(variable)}};
    element.body = constant(as_double(fill.dtype, fill.value), fill.dtype);
    Loop loop;
    loop.variable = variable;
    loop.trip = fill.count;
    loop.body = {{std::move(element)}};
    made_.program.body.push_back({std::move(loop)});
    return std::nullopt;
  }

  const ModelProgram& model_;
  const HardwareModel& machine_;
  ModelStream made_;
  std::vector<BufferId> ids_;  ///< by buffer of the part that is added
};

}  // namespace

StreamPlaces stream_places(const ModelProgram& model) {
  StreamPlaces places;
  const auto take = [&](std::int64_t bytes) {
    const std::int64_t at = places.bytes;
    places.bytes = round_up(at + bytes, model.arena_align);
    return at;
  };
  for (const Port& port : model.inputs) places.inputs.push_back(take(port.bytes()));
  for (const Port& port : model.outputs) places.outputs.push_back(take(port.bytes()));
  places.weights = take(static_cast<std::int64_t>(model.weights.size()));
  places.arena = take(model.arena_bytes);
  return places;
}

std::int64_t address_in(const StreamPlaces& places, const ModelPlace& place) {
  const auto port = static_cast<std::size_t>(place.at);
  switch (place.in) {
    case ModelPlace::In::input:
      return places.inputs[port] + place.offset;
    case ModelPlace::In::output:
      return places.outputs[port] + place.offset;
    case ModelPlace::In::weights:
      return places.weights + place.at + place.offset;
    default:
      return places.arena + place.at + place.offset;
  }
}

StreamWorkspace stream_workspace(const Program& part, const HardwareModel& machine) {
  const auto [low, high] = workspace_span(part, machine);
  return {high - low, workspace_align(part, machine)};
}

std::optional<std::uint64_t> weights_of_comment(const std::string& comment) {
  if (!comment.starts_with(hash_of_weights)) return std::nullopt;
  std::uint64_t hash = 0;
  const char* const end = comment.data() + comment.size();
  const auto [stop, problem] = std::from_chars(comment.data() + hash_of_weights.size(), end, hash, 16);
  return problem == std::errc() && stop == end ? std::optional(hash) : std::nullopt;
}

Result<ModelStream> model_stream(const ModelProgram& model, const HardwareModel& machine) {
  return StreamJoiner(model, machine).join();
}

}  // namespace isamap
