// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/model_unit.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/cpp/compile/compiler.h"
#include "backends/cpp/emit_functions.h"
#include "backends/cpp/model/fixed_text.h"
#include "backends/cpp/text/names.h"
#include "backends/cpp/text/types.h"
#include "backends/cuda/device_file.h"
#include "backends/cuda/thread_binding.h"
#include "backends/cuda/translation_unit.h"
#include "isamap/interpret.h"
#include "support/arithmetic.h"

namespace isamap {
namespace {

constexpr std::int64_t device_align = 256;  // what allocators of devices give

const char* const device_run_text = R"(
extern "C" int NAME_run(NAME* model, const std::int64_t* sizes, const void* const* inputs, void* const* outputs,
                        void* own_arena) {
  if (model == nullptr || sizes != nullptr || inputs == nullptr || outputs == nullptr) return NAME_bad_argument;
CHECKS  unsigned char* const arena = static_cast<unsigned char*>(own_arena == nullptr ? model->arena : own_arena);
  const unsigned char* const weights = model->weights;
  const cudaStream_t stream = model->stream;
  static_cast<void>(weights);
#ifdef NAME_PROFILE
  double begun = isamap_now();
#endif
// What is on the stream ends before the caller's memory is given back.
#define NAME_DO(call) \
  if (call != cudaSuccess) { \
    cudaStreamSynchronize(stream); \
    return NAME_device_failed; \
  }
#ifdef NAME_PROFILE
#define NAME_AFTER(part) \
  NAME_DO(cudaStreamSynchronize(stream)) \
  model->seconds[part] += isamap_now() - begun; \
  if (model->after != nullptr) model->after(model->user, part, arena); \
  begun = isamap_now();
#else
#define NAME_AFTER(part)
#endif
CALLS  return cudaStreamSynchronize(stream) == cudaSuccess ? NAME_ok : NAME_device_failed;
}
)";

std::int64_t place_of_ports(const ModelProgram& model, std::size_t port) {
  std::int64_t at = round_up(model.arena_bytes, device_align);
  std::size_t number = 0;
  for (const auto* ports : {&model.inputs, &model.outputs})
    for (const Port& one : *ports) {
      if (number++ == port) return at;
      at += round_up(one.bytes(), device_align);
    }
  return at;
}

std::int64_t device_arena_bytes(const ModelProgram& model) {
  return place_of_ports(model, model.inputs.size() + model.outputs.size());
}

class DeviceModelPrinter {
 public:
  DeviceModelPrinter(const ModelProgram& model, const HardwareModel& machine, UnitId grid)
      : model_(model),
        machine_(machine),
        name_(model_name(model.name)),
        file_(machine, grid, std::any_of(model.programs.begin(), model.programs.end(), [](const Program& program) {
                return program.library_functions;
              })) {
    for (const char* own : {"model", "arena", "weights", "workspace", "inputs", "outputs"}) file_.names.unique(own);
  }

  Result<ModelUnit> print() {
    if (!model_.bands.empty())
      return error(fmt::format("'{}': bands are for machines whose programs are C++", model_.name),
                   "remove `bands` from the plan");
    for (std::size_t p = 0; p < model_.programs.size(); ++p) {
      auto part = part_entry(model_.programs[p], file_, fmt::format("{}_part_{}", name_, p));
      if (!part) return part.diagnostics();
      parts_.push_back(std::move(*part));
    }
    ModelUnit unit;
    unit.name = name_;
    unit.extension = ".cu";
    unit.others = {{emulation_header_name, emulation_header()}};
    unit.arena_bytes = device_arena_bytes(model_);
    unit.launches = 0;
    for (const PartCall& call : model_.calls)
      unit.launches += parts_[call.program].launches + static_cast<std::int64_t>(call.fill.size());
    const PointerAlignments aligns{std::vector<std::int64_t>(model_.inputs.size(), 1),
                                   std::vector<std::int64_t>(model_.outputs.size(), 1), device_align};
    unit.header = fixed_header(model_, machine_.name, ModelKind::device, aligns);
    unit.text = first_comment() + file_.text(host_text(aligns));
    return unit;
  }

 private:
  std::string first_comment() const {
    std::vector<std::string> assumed;
    for (const Program& program : model_.programs)
      for (const Assumption& one : program.assumptions)
        if (std::find(assumed.begin(), assumed.end(), one.text) == assumed.end()) assumed.push_back(one.text);
    std::string text = fmt::format(
        "{}: printed by isamap for {}; belongs to whoever ran it\n\nassumptions:\ninputs, outputs and the arena do not "
        "overlap\n",
        name_, machine_.name);
    for (const std::string& one : assumed) text += one + "\n";
    return comment(text, " ") + "\n";
  }

  /// Everything on the host.
  std::string host_text(const PointerAlignments& aligns) {
    std::string text = "#include \"" + name_ +
                       ".h\"\n\n#include <fcntl.h>\n#include <sys/mman.h>\n#include <sys/stat.h>\n#include <time.h>\n"
                       "#include <unistd.h>\n\n#include <cstdlib>\n\n";
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      const Program& program = model_.programs[p];
      text += comment("\n" + isamap::print(program.kernel) + "\n" + program.schedule_text, " ") + parts_[p].text + "\n";
    }
    text += fixed_opening(model_, ModelKind::device, device_arena_bytes(model_), 0) + device_run_text;
    replace_all(text, "CALLS", calls());
    replace_all(text, "CHECKS", pointer_checks(aligns.inputs, aligns.outputs, device_align));
    replace_all(text, "NAME", name_);
    return text;
  }

  std::string pointer(const ModelPlace& given) const {
    const ModelPlace place = in_device_memory(model_, given);
    if (place.in == ModelPlace::In::nowhere) return "nullptr";
    return fmt::format("{} + {}", place.in == ModelPlace::In::weights ? "weights" : "arena", place.at + place.offset);
  }

  std::string call_text(const PartCall& call) const {
    std::string list;
    for (const EntryArgument& a : parts_[call.program].arguments) {
      const ModelPlace& place = call.arguments[a.buffer.index()];
      const std::string type = fmt::format("{}{}*", a.written ? "" : "const ", a.type);
      list += place.in == ModelPlace::In::nowhere ? fmt::format("static_cast<{}>(nullptr), ", type)
                                                  : fmt::format("({})({}), ", type, pointer(place));
    }
    return fmt::format("{}_part_{}({}{}, stream)", name_, call.program, list, pointer(call.workspace));
  }

  /// Values whose bytes are equal are set by the runtime, others by the runtime's two-dimensional form: no kernel of
  /// ours.
  std::string fill_text(const FilledTensor& fill) const {
    TensorData one{fill.dtype, {1}, {}};
    one.bytes.resize(static_cast<std::size_t>(bytes(fill.dtype)));
    one.set(0, fill.value);
    const bool equal = std::adjacent_find(one.bytes.begin(), one.bytes.end(), std::not_equal_to<>()) == one.bytes.end();
    if (equal)
      return fmt::format("  NAME_DO(cudaMemsetAsync({}, {}, {}, stream))\n", pointer(fill.place), one.bytes[0],
                         fill.count * bytes(fill.dtype));
    std::string text;
    for (std::size_t b = 0; b < one.bytes.size(); ++b)
      text += fmt::format("  NAME_DO(cudaMemset2DAsync({} + {}, {}, {}, 1, {}, stream))\n", pointer(fill.place), b,
                          bytes(fill.dtype), one.bytes[b], fill.count);
    return text;
  }

  std::string copies(const std::vector<Port>& ports, bool in) const {
    std::string text;
    for (std::size_t i = 0; i < ports.size(); ++i) {
      const std::string device =
          pointer({in ? ModelPlace::In::input : ModelPlace::In::output, static_cast<std::int64_t>(i)});
      const std::string host = fmt::format("{}puts[{}]", in ? "in" : "out", i);
      text += fmt::format("  NAME_DO(cudaMemcpyAsync({}, {}, {}, cudaMemcpyDefault, stream))\n", in ? device : host,
                          in ? host : device, ports[i].bytes());
    }
    return text;
  }

  std::string calls() const {
    std::string text = copies(model_.inputs, true);
    for (std::size_t c = 0; c < model_.calls.size(); ++c) {
      for (const FilledTensor& fill : model_.calls[c].fill) text += fill_text(fill);
      text += fmt::format("  NAME_DO({})  // {}\n  NAME_AFTER({})\n", call_text(model_.calls[c]),
                          comment_text(model_.calls[c].name), c);
    }
    return text + copies(model_.outputs, false);
  }

  const ModelProgram& model_;
  const HardwareModel& machine_;
  std::string name_;
  DeviceFile file_;
  std::vector<ProgramEntries> parts_;  ///< by program
};

Result<UnitId> blocks_of(const HardwareModel& machine) {
  if (const auto grid = grid_unit(machine)) return *grid;
  return error(fmt::format("no unit of '{}' has an index, which a program in its language needs", machine.name),
               "give an `index` to the unit of thread blocks and to the units inside it");
}

Result<ProgramEntries> alone(const Program& part, const HardwareModel& machine) {
  const auto grid = blocks_of(machine);
  if (!grid) return grid.diagnostics();
  DeviceFile file(machine, *grid, part.library_functions);
  return part_entry(part, file, "part");
}

}  // namespace

ModelPlace in_device_memory(const ModelProgram& model, ModelPlace place) {
  const bool input = place.in == ModelPlace::In::input;
  if (!input && place.in != ModelPlace::In::output) return place;
  const std::size_t port = static_cast<std::size_t>(place.at) + (input ? 0 : model.inputs.size());
  place.in = ModelPlace::In::arena;
  place.at = place_of_ports(model, port);
  return place;
}

Result<Workspace> device_workspace_of(const Program& part, const HardwareModel& machine) {
  const auto made = alone(part, machine);
  if (!made) return made.diagnostics();
  return made->workspace;
}

std::optional<std::int64_t> device_launches_of(const Program& part, const HardwareModel& machine) {
  const auto made = alone(part, machine);
  return made ? std::optional(made->launches) : std::nullopt;
}

Result<ModelUnit> print_device_model(const ModelProgram& model, const HardwareModel& machine) {
  const auto grid = blocks_of(machine);
  if (!grid) return grid.diagnostics();
  return DeviceModelPrinter(model, machine, *grid).print();
}

}  // namespace isamap
