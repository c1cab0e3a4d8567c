// SPDX-License-Identifier: Apache-2.0
// Barriers, fences and the steps of asynchronous completion, as functions of a printed kernel.

#include <fmt/format.h>

#include <algorithm>

#include "backends/cuda/assembly_text.h"
#include "backends/cuda/wrappers.h"

namespace isamap {

std::string Wrappers::partial_barrier(const Barrier& barrier, UnitId unit) {
  const std::int64_t threads = threads_in(unit);
  const auto with = [&](const std::string& index) {
    std::string text;
    for (const auto& part : barrier.assembly.parts)
      if (const auto* s = std::get_if<std::string>(&part))
        add_assembly(text, *s);
      else
        text += std::get<Placeholder>(part).expr.reference.object == "index" ? index : std::to_string(threads);
    return text;
  };
  // Barrier numbers must be constants: for a number in a register ptxas reserves all barriers.
  std::string device;
  for (std::int64_t n = 1; n <= most_numbered && n < barrier.count; ++n)
    device += fmt::format("  {}if (index == {}) asm volatile(\"{}\" ::: \"memory\");\n", n > 1 ? "else " : "", n,
                          with(std::to_string(n)));
  if (device.empty() || most_numbered >= barrier.count)
    device = fmt::format("  asm volatile(\"{}\" :: \"r\"(index) : \"memory\");\n", with("%0"));
  const std::string name = add(barrier.name + "_" + model_.unit(unit).name, "int index", device,
                               fmt::format("  emulation::block_barrier(index, {});\n", threads));
  return fmt::format("{}(1 + {});", name, model_.unit(unit).index);
}

std::int64_t Wrappers::numbered(const Sync& sync, std::int64_t threads) const {
  if (!sync.object.empty() || sync.counter.buffer.valid()) return 0;
  const auto own = [&](const Barrier& b) { return b.unit == sync.unit && !b.partial && !b.emit.empty(); };
  const bool found = std::any_of(model_.barriers().begin(), model_.barriers().end(), own);
  return found || model_.unit(sync.unit).index.empty() ? 0 : threads / threads_in(sync.unit);
}

// ptxas reserves barriers up to the largest number used, so the lowest free one is allocated.
std::string Wrappers::barrier_of(std::int64_t threads, UnitId unit, Diagnostics& diagnostics) {
  std::string missing = fmt::format(
      "the machine has no partial barrier of '{}' (`partial`), which kernels with roles need", model_.unit(unit).name);
  for (const Barrier& barrier : model_.barriers()) {
    if (!barrier.partial || !(barrier.unit == unit) || barrier.assembly.empty()) continue;
    const std::int64_t number = 1 + most_numbered;  // 0 is the barrier of all threads
    if (number >= barrier.count) {
      missing = fmt::format("'{}' has {} barriers; {} are needed, one for each of {} parts of a block", barrier.name,
                            barrier.count, number + 1, most_numbered);
      continue;
    }
    std::string text;
    for (const auto& part : barrier.assembly.parts)
      if (const auto* s = std::get_if<std::string>(&part))
        add_assembly(text, *s);
      else
        text += std::to_string(std::get<Placeholder>(part).expr.reference.object == "index" ? number : threads);
    return add(fmt::format("{}_{}", barrier.name, threads), "",
               fmt::format("  asm volatile(\"{}\" ::: \"memory\");\n", text),
               fmt::format("  emulation::block_barrier({}, {});\n", number, threads)) +
           "();";
  }
  diagnostics.push_back(error(missing));
  return "";
}

std::string Wrappers::hold(const std::vector<Variable>& variables, const Program& program) {
  std::string text;
  for (const Variable& v : variables) {
    const Buffer& buffer = program.buffers[v.buffer.index()];
    const std::string constraint = constraint_of(model_.memory(buffer.memory), buffer.dtype, false);
    if (constraint.empty() || v.count < 1) continue;
    text += fmt::format(
        "{}({});\n",
        add("hold", fmt::format("{} (&registers)[{}]", v.type, v.count),
            fmt::format("  for (auto& part : registers) asm volatile(\"\" : \"+{}\"(part) :: \"memory\");\n",
                        constraint),
            "  (void)registers;\n"),
        v.name);
  }
  return text;
}

std::string Wrappers::counter_address(const Buffer& counter, const std::string& index) const {
  std::int64_t size = bytes(counter.dtype);
  const std::string offset =
      index == "0" ? std::to_string(counter.address) : fmt::format("{} + {}*({})", counter.address, size, index);
  return fmt::format("{}(__cvta_generic_to_shared(shared_memory + {}))", model_.memory(counter.memory).pointer_type,
                     offset);
}

namespace {

std::string filled_text(const AsyncObject& object, const std::string& key,
                        const std::map<std::string, std::string>& values, Diagnostics& diagnostics) {
  const auto found = object.texts.find(key);
  const auto parsed = found == object.texts.end() ? Result<Template>(error("")) : parse_template(found->second);
  if (!parsed) {
    diagnostics.push_back(
        error(fmt::format("completion object '{}' has no '{}' as an assembly line", object.name, key)));
    return "";
  }
  std::string text;
  for (const auto& part : parsed->parts)
    if (const auto* s = std::get_if<std::string>(&part))
      add_assembly(text, *s);
    else if (const auto value = values.find(std::get<Placeholder>(part).text); value != values.end())
      text += value->second;
  return text;
}

}  // namespace

std::string Wrappers::begin(const Buffer& counter, std::int64_t arrivals, Diagnostics& diagnostics) {
  const Memory& memory = model_.memory(counter.memory);
  for (const AsyncObject& object : model_.async_objects()) {
    if (!counter.counter || object.name != counter.counter->object) continue;
    const std::string constraint = constraint_of(memory, counter.dtype, true);
    std::string device =
        fmt::format("  asm volatile(\"{}\" :: \"{}\"(at), \"r\"(arrivals) : \"memory\");\n",
                    filled_text(object, "init.asm", {{"at", "%0"}, {"arrivals", "%1"}}, diagnostics), constraint);
    const std::string name = add(object.name + "_begin", memory.pointer_type + " at, int arrivals", device,
                                 fmt::format("  emulation::begin_counter(at, arrivals, \"{}\");\n", object.name));
    std::string text;
    for (std::int64_t i = 0; i < counter.extents[0]; ++i)
      text += fmt::format("{}({}, {});\n", name, counter_address(counter, std::to_string(i)), arrivals);
    if (object.texts.contains("init.then.asm"))
      text +=
          add(object.name + "_begun", "", assembly_line(filled_text(object, "init.then.asm", {}, diagnostics)), "") +
          "();\n";
    return text;
  }
  return "";
}

/// One wait, arrival or expected byte count.
std::string Wrappers::counter_step(const Sync& sync, const AsyncObject& object, const Program& program,
                                   const std::function<std::string(const AffineExpr&)>& index,
                                   Diagnostics& diagnostics) {
  const Buffer& counter = program.buffers[sync.counter.buffer.index()];
  const Memory& memory = model_.memory(counter.memory);
  const std::string constraint = constraint_of(memory, counter.dtype, true),
                    at = counter_address(counter, index(sync.counter.index[0])),
                    parameter = memory.pointer_type + " at";
  if (sync.step == Sync::Step::arrive)
    return fmt::format("{}({});",
                       add(object.name + "_arrive", parameter,
                           fmt::format("  asm volatile(\"{}\" :: \"{}\"(at) : \"memory\");\n",
                                       filled_text(object, "arrive.asm", {{"at", "%0"}}, diagnostics), constraint),
                           "  emulation::arrive(at);\n"),
                       at);
  if (sync.step == Sync::Step::expect)
    return fmt::format(
        "{}({}, {});",
        add(object.name + "_expect", parameter + ", int bytes",
            fmt::format("  asm volatile(\"{}\" :: \"{}\"(at), \"r\"(bytes) : \"memory\");\n",
                        filled_text(object, "expect.asm", {{"at", "%0"}, {"bytes", "%1"}}, diagnostics), constraint),
            "  emulation::expect(at, bytes);\n"),
        at, sync.bytes);
  const std::string test =
      filled_text(object, "test.asm", {{"done", "%0"}, {"at", "%1"}, {"parity", "%2"}}, diagnostics);
  return fmt::format("{}({}, int({}));",
                     add(object.name + "_until", parameter + ", int parity",
                         fmt::format("  int done;\n  do asm volatile(\"{}\" : \"=r\"(done) : \"{}\"(at), "
                                     "\"r\"(parity) : \"memory\");\n  while (!done);\n",
                                     test, constraint),
                         "  emulation::until(at, parity);\n"),
                     at, index(mod(sync.phase, 2)));
}

std::string Wrappers::sync(const Sync& sync, const Program& program,
                           const std::function<std::string(const AffineExpr&)>& index, Diagnostics& diagnostics) {
  if (sync.counter.buffer.valid()) {
    for (const AsyncObject& object : model_.async_objects())
      if (object.name == sync.object) return counter_step(sync, object, program, index, diagnostics);
    return "";
  }
  if (sync.object.empty()) {
    for (const Barrier& barrier : model_.barriers()) {
      if (barrier.unit != sync.unit || barrier.partial) continue;
      if (!barrier.emit.empty()) return fill(barrier.emit, [](const Placeholder&) { return std::string("0"); });
    }
    for (const Barrier& barrier : model_.barriers())  // each instance has its own barrier, selected by its index
      if (barrier.partial && barrier.unit != sync.unit && model_.inside(sync.unit, barrier.unit) &&
          !barrier.assembly.empty() && !model_.unit(sync.unit).index.empty())
        return partial_barrier(barrier, sync.unit);
    diagnostics.push_back(
        error(fmt::format("the machine has no barrier of '{}' with an `emit` text", model_.unit(sync.unit).name)));
    return "";
  }
  if (sync.step == Sync::Step::fence) return fence(sync.object, diagnostics);
  for (const AsyncObject& object : model_.async_objects()) {
    if (object.name != sync.object || object.kind != AsyncKind::groups) continue;
    const std::string step = sync.step == Sync::Step::commit ? "commit"
                             : sync.step == Sync::Step::open ? "open"
                                                             : "wait";
    const auto found = object.texts.find(step + ".asm");
    const auto parsed = found == object.texts.end() ? Result<Template>(error("")) : parse_template(found->second);
    if (!parsed) break;
    const std::string device =
        assembly_line(fill(*parsed, [&](const Placeholder&) { return std::to_string(sync.pending); }));
    const std::int64_t threads = threads_in(object.per);
    std::string host;
    if (sync.step == Sync::Step::commit) host = fmt::format("  emulation::commit(\"{}\");\n", object.name);
    if (sync.step == Sync::Step::wait)
      host = threads > 1 ? fmt::format("  emulation::wait_groups_together({}, \"{}\", {});\n", threads, object.name,
                                       sync.pending)
                         : fmt::format("  emulation::wait_groups(\"{}\", {});\n", object.name, sync.pending);
    const std::string wish =
        sync.step == Sync::Step::wait ? fmt::format("{}_wait_{}", object.name, sync.pending) : object.name + "_" + step;
    return add(wish, "", device, host) + "();";
  }
  diagnostics.push_back(
      error(fmt::format("completion object '{}' has no texts that a kernel could print", sync.object)));
  return "";
}

std::string Wrappers::set(const Instruction& setter, std::int64_t value) {
  const std::string text = fill(setter.assembly, [&](const Placeholder&) { return std::to_string(value); });
  return add(fmt::format("{}_{}", setter.name, value), "", assembly_line(text), "") + "();";
}

/// `object`: MEMORY.VIEW.
std::string Wrappers::fence(const std::string& object, Diagnostics& diagnostics) {
  for (const Memory& memory : model_.memories())
    for (const MemoryView& view : memory.views)
      if (memory.name + "." + view.name == object && !view.assembly.empty())
        return add("fence_" + memory.name + "_" + view.name, "",
                   assembly_line(fill(view.assembly, [](const Placeholder&) { return std::string(); })),
                   "  emulation::fence();\n") +
               "();";
  diagnostics.push_back(error(fmt::format("view '{}' has no fence that a kernel could print", object)));
  return "";
}

std::string Wrappers::first_of(UnitId unit) const {
  std::string text;
  for (std::size_t u = 0; u < model_.units().size(); ++u)
    if (const UnitId id = make_id<UnitId>(u);
        id != unit && model_.inside(id, unit) && !model_.unit(id).index.empty() && model_.unit(id).count > 1)
      text += fmt::format("{}{} == 0", text.empty() ? "" : " && ", model_.unit(id).index);
  return text.empty() ? "true" : text;
}

std::int64_t Wrappers::threads_in(UnitId unit) const {
  std::int64_t threads = 1;
  for (std::size_t u = 0; u < model_.units().size(); ++u)
    if (const UnitId id = make_id<UnitId>(u); id != unit && model_.inside(id, unit)) threads *= model_.unit(id).count;
  return threads;
}

}  // namespace isamap
