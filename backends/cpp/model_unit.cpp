// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/model_unit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "backends/cpp/compiler.h"
#include "backends/cpp/emit_functions.h"
#include "backends/cpp/names.h"
#include "backends/cpp/team.h"
#include "backends/cpp/types.h"
#include "backends/cpp/versions.h"
#include "isamap/interpret.h"
#include "support/overloaded.h"

namespace isamap {
namespace {

/// `text` with every NAME replaced by the model's name.
std::string named(std::string text, const std::string& name) {
  for (std::size_t at = 0; (at = text.find("NAME", at)) != std::string::npos; at += name.size())
    text.replace(at, 4, name);
  return text;
}

const char* const interface_text = R"(#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct NAME NAME;

enum {
  NAME_ok = 0,
  NAME_no_file = 1,       /* the file of weights cannot be read */
  NAME_other_weights = 2, /* it is not the one written with this program, or it is cut off */
  NAME_no_memory = 3,
  NAME_bad_argument = 4   /* a null or misaligned pointer, or sizes where there are none; nothing was written */
};

/* Maps the weights, which stay read-only and are shared by all who open the file, and allocates one arena. */
int NAME_open(NAME** model, const char* weights_file);
void NAME_close(NAME* model);

/* Bytes of an arena. sizes: null, all sizes are numbers. */
size_t NAME_arena_bytes(const NAME* model, const int64_t sizes[]);

/* Inputs and outputs in the order above; none of them overlap. arena: memory at a multiple of NAME_ARENA_ALIGN that
   holds nothing from call to call, one for each call at a time; null: the model's own. Allocates nothing. */
int NAME_run(NAME* model, const int64_t sizes[], const void* const inputs[], void* const outputs[], void* arena);

/* Writes the extents of an output and returns their number, or -1. shape may be null. */
int NAME_output_shape(const NAME* model, const int64_t sizes[], int output, int64_t shape[]);

#ifdef NAME_PROFILE
/* Compiled with -DNAME_PROFILE: seconds spent in each part since NAME_open, in runs with the model's own arena.
   Returns the number of parts; seconds may be null. */
int NAME_profile(const NAME* model, double seconds[]);
const char* NAME_part(int part);
/* Called after each part of such a run. */
void NAME_observe(NAME* model, void (*after)(void* user, int part, const void* arena), void* user);
#endif

#ifdef __cplusplus
}
#endif

#endif
)";

const char* const open_text = R"(
struct NAME {
  void* mapped;
  std::size_t length;
  const unsigned char* weights;
  void* arena;TEAM_MEMBERS
#ifdef NAME_PROFILE
  double seconds[PARTS + 1];
  void (*after)(void*, int, const void*);
  void* user;
#endif
};

namespace {

struct WeightsHeader {
  char magic[8];
  std::uint64_t bytes, hash;
};

bool fits(const WeightsHeader& header, std::size_t length) {
  return std::memcmp(header.magic, "MAGIC", 8) == 0 && header.hash == HASH && header.bytes == WEIGHTS &&
         length == WEIGHTS + 64;
}

#ifdef NAME_PROFILE
double isamap_now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}
#endif

}  // namespace

extern "C" int NAME_open(NAME** model, const char* weights_file) {
  if (model == nullptr || weights_file == nullptr) return NAME_bad_argument;
  *model = nullptr;
  const int file = open(weights_file, O_RDONLY);
  if (file < 0) return NAME_no_file;
  struct stat about;
  const bool known = fstat(file, &about) == 0;
  const std::size_t length = known ? static_cast<std::size_t>(about.st_size) : 0;
  if (length < sizeof(WeightsHeader)) {
    close(file);
    return known ? NAME_other_weights : NAME_no_file;
  }
  void* const mapped = mmap(nullptr, length, PROT_READ, MAP_PRIVATE, file, 0);
  close(file);
  if (mapped == MAP_FAILED) return NAME_no_memory;
  WeightsHeader header;
  std::memcpy(&header, mapped, sizeof header);
  if (!fits(header, length)) {
    munmap(mapped, length);
    return NAME_other_weights;
  }
  NAME* const made = static_cast<NAME*>(std::calloc(1, sizeof(NAME)));
  const std::size_t arena = NAME_arena_bytes(made, nullptr), unit = arena >= (2 << 20) ? 2 << 20 : 4096;
  void* const memory = std::aligned_alloc(unit, (arena + unit) / unit * unit);
  if (made == nullptr || memory == nullptr) {
    std::free(made);
    std::free(memory);
    munmap(mapped, length);
    return NAME_no_memory;
  }
#ifdef MADV_HUGEPAGE
  if (unit > 4096) madvise(memory, (arena + unit) / unit * unit, MADV_HUGEPAGE);
#endif
  made->mapped = mapped;
  made->length = length;
  made->weights = static_cast<const unsigned char*>(mapped) + 64;
  made->arena = memory;TEAM_START
  *model = made;
  return NAME_ok;
}

extern "C" void NAME_close(NAME* model) {
  if (model == nullptr) return;TEAM_END
  munmap(model->mapped, model->length);
  std::free(model->arena);
  std::free(model);
}

extern "C" std::size_t NAME_arena_bytes(const NAME*, const std::int64_t*) { return ARENA; }

extern "C" int NAME_output_shape(const NAME*, const std::int64_t* sizes, int output, std::int64_t* shape) {
  if (sizes != nullptr || output < 0 || output >= NAME_OUTPUTS) return -1;
  for (int d = 0; d < output_rank[output] && shape != nullptr; ++d) shape[d] = output_shape[output][d];
  return output_rank[output];
}

#ifdef NAME_PROFILE
extern "C" int NAME_profile(const NAME* model, double* seconds) {
  for (int part = 0; part < PARTS && seconds != nullptr; ++part) seconds[part] = model->seconds[part];
  return PARTS;
}

extern "C" const char* NAME_part(int part) { return part < 0 || part >= PARTS ? "" : part_names[part]; }

extern "C" void NAME_observe(NAME* model, void (*after)(void*, int, const void*), void* user) {
  model->after = after;
  model->user = user;
}
#endif
)";

const char* const run_text = R"(
extern "C" int NAME_run(NAME* model, const std::int64_t* sizes, const void* const* inputs, void* const* outputs,
                        void* own_arena) {
  if (model == nullptr || sizes != nullptr || inputs == nullptr || outputs == nullptr) return NAME_bad_argument;
CHECKS  char* const arena = static_cast<char*>(own_arena == nullptr ? model->arena : own_arena);
  const unsigned char* const weights = model->weights;
  (void)arena;
  (void)weights;
#ifdef NAME_PROFILE
  double begun = isamap_now();
#define NAME_COUNT(part) \
  if (own_arena == nullptr) { \
    const double now = isamap_now(); \
    model->seconds[part] += now - begun; \
    begun = now; \
  }
#define NAME_AFTER(part) \
  NAME_COUNT(part) \
  if (own_arena == nullptr) { \
    if (model->after != nullptr) model->after(model->user, part, arena); \
    begun = isamap_now(); \
  }
#else
#define NAME_COUNT(part)
#define NAME_AFTER(part)
#endif
CALLS  return NAME_ok;
}
)";

const char* const shared_run_text = R"(
namespace {

struct NAME_call {
  NAME* model;
  const void* const* inputs;
  void* const* outputs;
  char* arena;
  bool own_arena;
};

void NAME_parts(const void* given, isamap_member team, int from) {
  const NAME_call call = *static_cast<const NAME_call*>(given);
  NAME* const model = call.model;
  const void* const* const inputs = call.inputs;
  void* const* const outputs = call.outputs;
  char* const arena = call.arena;
  const unsigned char* const weights = model->weights;
  (void)inputs;
  (void)outputs;
  (void)arena;
  (void)weights;
#ifdef NAME_PROFILE
  double begun = isamap_now();
#define NAME_COUNT(part) \
  if (!call.own_arena && team.number == 0) { \
    const double now = isamap_now(); \
    model->seconds[part] += now - begun; \
    begun = now; \
  }
#define NAME_AFTER(part) \
  NAME_COUNT(part) \
  if (!call.own_arena) { \
    if (team.number == 0) { \
      if (model->after != nullptr) model->after(model->user, part, arena); \
      begun = isamap_now(); \
    } \
    if (model->after != nullptr) isamap_wait_for_all(team); \
  }
#else
#define NAME_COUNT(part)
#define NAME_AFTER(part)
#endif
  switch (from) {
CALLS  }
}

}  // namespace

extern "C" int NAME_run(NAME* model, const std::int64_t* sizes, const void* const* inputs, void* const* outputs,
                        void* own_arena) {
  if (model == nullptr || sizes != nullptr || inputs == nullptr || outputs == nullptr) return NAME_bad_argument;
CHECKS  const NAME_call call{model, inputs, outputs, static_cast<char*>(own_arena == nullptr ? model->arena : own_arena),
                       own_arena != nullptr};
  const isamap_member team = isamap_take(&model->team);
  NAME_parts(&call, team, 0);
  isamap_release(team);
  return NAME_ok;
}
)";

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return out + "\"";
}

void replace_all(std::string& text, const std::string& word, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += by.size())
    text.replace(at, word.size(), by);
}

/// The main entry only: the file of weights holds the results of the other.
Result<TranslationUnit> print_part(Program program, const HardwareModel& machine, const std::string& name,
                                   Surroundings& around) {
  program.name = name;
  program.prepack.clear();
  around.team = threads_of(machine) > 1 && distributes(program.body, machine);
  if (around.team && asks_for_sizes(program, machine))
    return error(fmt::format("'{}': threads of machines whose sizes are read at run time have no program", name));
  return asks_for_sizes(program, machine) ? print_versions(program, machine, around)
                                          : print_functions(program, machine, name, "static", around);
}

class ModelPrinter {
 public:
  ModelPrinter(const ModelProgram& model, const HardwareModel& machine)
      : model_(model), machine_(machine), name_(entry_name(model.name)) {
    around_.from_caller = true;
    aligns_in_.resize(model.inputs.size(), 1);
    aligns_out_.resize(model.outputs.size(), 1);
  }

  Result<ModelUnit> print() {
    for (const Program& program : model_.programs) {
      distributed_.push_back(threads_of(machine_) > 1 && distributes(program.body, machine_));
      team_ |= distributed_.back();
    }
    if (auto problems = parts(); !problems.empty()) return problems;
    around_.includes.insert({"<cstdlib>", "<cstring>"});
    if (team_) around_.includes.insert("<atomic>");
    const std::string calls = run_entry();
    ModelUnit unit;
    unit.name = name_;
    const std::string code = (team_ ? named(team_text(machine_), name_) : "") + code_ + tables() + opening() + calls;
    unit.text =
        comment(fmt::format("{}: printed by isamap for {}; belongs to whoever ran it\nneeds {}\n\nassumptions:\n"
                            "inputs, outputs and the arena do not overlap\n",
                            name_, machine_.name, needed_flags(machine_, team_ ? "-pthread" : "")),
                " ") +
        assumptions() + "\n#include \"" + name_ + ".h\"\n\n#include <fcntl.h>\n" +
        (team_ ? "#include <pthread.h>\n#include <sched.h>\n" : "") + "#include <sys/mman.h>\n" +
        "#include <sys/stat.h>\n#include <time.h>\n#include <unistd.h>\n\n" +
        surrounding_text(machine_, around_, code) + code;
    unit.header = header();
    return unit;
  }

 private:
  Diagnostics parts() {
    for (std::size_t p = 0; p < model_.programs.size(); ++p) {
      const Program& program = model_.programs[p];
      auto unit = print_part(program, machine_, fmt::format("{}_part_{}", name_, p), around_);
      if (!unit) return unit.diagnostics();
      code_ += comment("\n" + isamap::print(program.kernel) + "\n" + program.schedule_text, " ") + unit->text + "\n";
      units_.push_back(std::move(*unit));
      for (const Assumption& one : program.assumptions)
        if (std::find(assumed_.begin(), assumed_.end(), one.text) == assumed_.end()) assumed_.push_back(one.text);
    }
    return {};
  }

  std::string assumptions() const {
    std::string text;
    for (const std::string& one : assumed_) text += comment(one, " ");
    return text;
  }

  std::string pointer(const ModelPlace& place) const {
    std::string rows = place.offset == 0 ? "" : fmt::format(" + {}", place.offset);
    if (place.step != 0) rows += fmt::format(" + {} * band", place.step);
    switch (place.in) {
      case ModelPlace::In::nowhere:
        return "nullptr";
      case ModelPlace::In::input:
        return fmt::format("{}inputs[{}]{}", rows.empty() ? "" : "(const char*)", place.at, rows);
      case ModelPlace::In::output:
        return fmt::format("{}outputs[{}]{}", rows.empty() ? "" : "(char*)", place.at, rows);
      case ModelPlace::In::arena:
        return fmt::format("arena + {}{}", place.at, rows);
      case ModelPlace::In::weights:
        return fmt::format("weights + {}", place.at);
    }
    return "nullptr";
  }

  std::string call_text(const PartCall& call) {
    const TranslationUnit& unit = units_[call.program];
    std::string list;
    for (const EntryArgument& a : unit.arguments) {
      const ModelPlace& place = call.arguments[a.buffer.index()];
      const Buffer& buffer = model_.programs[call.program].buffers[a.buffer.index()];
      if (place.in == ModelPlace::In::input) widen(aligns_in_[static_cast<std::size_t>(place.at)], buffer);
      if (place.in == ModelPlace::In::output) widen(aligns_out_[static_cast<std::size_t>(place.at)], buffer);
      const std::string type = fmt::format("{}{}*", a.written ? "" : "const ", a.type);
      list += place.in == ModelPlace::In::nowhere ? fmt::format("static_cast<{}>(nullptr), ", type)
                                                  : fmt::format("({})({}), ", type, pointer(place));
    }
    return fmt::format("{}({}{}{});", unit.name, list, pointer(call.workspace),
                       distributed_[call.program] ? ", team" : "");
  }
  static void widen(std::int64_t& align, const Buffer& buffer) {
    align = std::max({align, buffer.align, std::int64_t{bytes(buffer.dtype)}});
  }

  std::string fill_text(const FilledTensor& fill) const {
    const std::string type = element_type(machine_, fill.dtype);
    TensorData one{fill.dtype, {1}, {}};
    one.bytes.resize(static_cast<std::size_t>(bytes(fill.dtype)));
    one.set(0, fill.value);
    const bool zero = std::all_of(one.bytes.begin(), one.bytes.end(), [](std::uint8_t b) { return b == 0; });
    const std::int64_t size = fill.count * bytes(fill.dtype);
    if (zero) return fmt::format("  std::memset({}, 0, {});\n", pointer(fill.place), size);
    std::string list;
    for (const std::uint8_t byte : one.bytes) list += fmt::format("{}{}", list.empty() ? "" : ", ", byte);
    return fmt::format(
        "  {{\n    const unsigned char one[] = {{{}}};\n    unsigned char* const to = (unsigned char*)({});\n    for "
        "(std::size_t i = 0; i < {}; ++i) std::memcpy(to + i * sizeof one, one, sizeof one);\n  }}\n",
        list, pointer(fill.place), fill.count);
  }

  std::string step_text(const ModelBandStep& step, const std::string& indent) {
    return std::visit(overloaded{[&](const PartCall& call) {
                                   return fmt::format("{0}{1}  // {2}\n{0}NAME_COUNT({3})\n", indent, call_text(call),
                                                      comment_text(call.name), step.call);
                                 },
                                 [&](const FilledTensor& fill) { return fill_text(fill); },
                                 [&](const MovedRows& rows) {
                                   return fmt::format("{}std::memmove({}, {}, {});\n", indent, pointer(rows.to),
                                                      pointer(rows.from), rows.bytes);
                                 }},
                      step.is);
  }

  /// The loops of calls that run in bands of rows; `steps` are those of one loop.
  template <class Steps>
  std::string bands_text(const ModelBands& bands, const Steps& steps) {
    std::string text = fmt::format("  // bands of {} rows\n", bands.by);
    for (const ModelBandLoop& loop : bands.loops) {
      if (loop.times > 1) text += fmt::format("  for (std::ptrdiff_t band = 0; band < {}; ++band) {{\n", loop.times);
      text += steps(loop);
      if (loop.times > 1) text += "  }\n";
    }
    for (std::size_t c = bands.first; c < bands.first + bands.count; ++c) text += fmt::format("  NAME_AFTER({})\n", c);
    return text;
  }

  /// The bands that begin at this call; null: none do.
  const ModelBands* bands_at(std::size_t call) const {
    for (const ModelBands& bands : model_.bands)
      if (bands.first == call) return &bands;
    return nullptr;
  }

  /// The calls of one thread.
  std::string calls() {
    std::string text;
    for (std::size_t c = 0; c < model_.calls.size(); ++c) {
      if (const ModelBands* bands = bands_at(c)) {
        text += bands_text(*bands, [&](const ModelBandLoop& loop) {
          std::string all;
          for (const ModelBandStep& step : loop.steps) all += step_text(step, "  ");
          return all;
        });
        c += bands->count - 1;
        continue;
      }
      for (const FilledTensor& fill : model_.calls[c].fill) text += fill_text(fill);
      text += fmt::format("  {}  // {}\n  NAME_AFTER({})\n", call_text(model_.calls[c]),
                          comment_text(model_.calls[c].name), c);
    }
    return text;
  }

  bool is_distributed(const ModelBandStep& step) const {
    const auto* call = std::get_if<PartCall>(&step.is);
    return call != nullptr && distributed_[call->program];
  }

  /// Steps of a member of a team. `alone`: were the last ones before the loop executed by one member? and behind it.
  std::string shared_steps(const ModelBandLoop& loop, bool& alone) {
    const std::string wait = fmt::format("    {}\n", wait_for_all);
    const bool repeats = loop.times > 1;
    bool one = alone || (repeats && !is_distributed(loop.steps.back()));
    std::string text;
    for (const ModelBandStep& step : loop.steps) {
      const bool all = is_distributed(step);
      if (all && one) text += wait;
      const std::string called = step_text(step, "    ");
      text += all ? called : "    if (team.number == 0) {\n" + called + "    }\n";
      one = !all;
    }
    alone = one;
    return text;
  }

  /// Those of a member of a team. The others begin at a distributed part; one member alone executes what is not
  /// distributed, and all wait before a part that is. Bands of which a part is distributed are one to begin at.
  std::string shared_calls() {
    const std::string first = "    if (team.number == 0) {\n", wait = fmt::format("    {}\n", wait_for_all);
    std::string text;
    bool alone = false;
    const auto begins = [&](std::size_t c, bool all) {
      if (c > 0 && all) text += "    [[fallthrough]];\n";
      if (c == 0 || all) text += fmt::format("  case {}:\n", c);
      if (all) text += fmt::format("    isamap_join(team, given, {}, {:.3g});\n", c, model_.calls[c].seconds);
    };
    for (std::size_t c = 0; c < model_.calls.size(); ++c) {
      if (const ModelBands* bands = bands_at(c)) {
        begins(c, std::any_of(bands->loops.begin(), bands->loops.end(), [&](const ModelBandLoop& loop) {
                 return std::any_of(loop.steps.begin(), loop.steps.end(),
                                    [&](const ModelBandStep& step) { return is_distributed(step); });
               }));
        text += bands_text(*bands, [&](const ModelBandLoop& loop) { return shared_steps(loop, alone); });
        c += bands->count - 1;
        continue;
      }
      const PartCall& call = model_.calls[c];
      const bool all = distributed_[call.program];
      std::string fill;
      for (const FilledTensor& one : call.fill) fill += fill_text(one);
      if (all && (alone || !fill.empty())) text += (fill.empty() ? "" : first + fill + "    }\n") + wait;
      begins(c, all);
      const std::string called = fmt::format("    {}  // {}\n", call_text(call), comment_text(call.name));
      text += (all ? called : first + fill + called + "    }\n") + fmt::format("    NAME_AFTER({})\n", c);
      alone = !all;
    }
    return text;
  }

  std::string checks() const {
    std::string text;
    for (const auto& [list, aligns] : {std::pair("inputs", &aligns_in_), {"outputs", &aligns_out_}})
      for (std::size_t i = 0; i < aligns->size(); ++i)
        text += fmt::format(
            "  if ({0}[{1}] == nullptr || reinterpret_cast<std::uintptr_t>({0}[{1}]) % {2} != 0) return "
            "NAME_bad_argument;\n",
            list, i, (*aligns)[i]);
    return text +
           fmt::format("  if (reinterpret_cast<std::uintptr_t>(own_arena) % {} != 0) return NAME_bad_argument;\n",
                       model_.arena_align);
  }

  std::string run_entry() {
    std::string text = team_ ? shared_run_text : run_text;
    replace_all(text, "CALLS", team_ ? shared_calls() : calls());
    replace_all(text, "CHECKS", checks());
    return named(text, name_);
  }

  std::string tables() const {
    std::string ranks, shapes, names;
    std::size_t most = 1;
    for (const Port& port : model_.outputs) most = std::max(most, port.shape.size());
    for (const Port& port : model_.outputs) {
      ranks += fmt::format("{}, ", port.shape.size());
      shapes += fmt::format("{{{}}}, ", fmt::join(port.shape, ", "));
    }
    for (const PartCall& call : model_.calls) names += "    " + quoted(call.name) + ",\n";
    return fmt::format(
        "\nnamespace {{\n\nconst int output_rank[] = {{{}0}};\nconst std::int64_t output_shape[][{}] = "
        "{{{}{{0}}}};\n#ifdef "
        "{}_PROFILE\nconst char* const part_names[] = {{\n{}    \"\"}};\n#endif\n\n}}  // namespace\n",
        ranks, most, shapes, name_, names);
  }

  std::string opening() const {
    std::string text = open_text;
    const std::string others = std::to_string(threads_of(machine_) - 1);
    if (team_)
      text.insert(0, "\nnamespace {\n\nvoid NAME_parts(const void* given, isamap_member team, int from);\n\n}\n");
    for (const auto& [word, by] :
         {std::pair("TEAM_MEMBERS", "\n  isamap_team team;\n  isamap_thread threads[OTHERS];"),
          {"TEAM_START", "\n  made->team.execute = NAME_parts;\n  isamap_start(&made->team, made->threads, OTHERS);"},
          {"TEAM_END", "\n  isamap_end(&model->team, model->threads);"}})
      replace_all(text, word, team_ ? by : "");
    replace_all(text, "OTHERS", others);
    replace_all(text, "PARTS", std::to_string(model_.calls.size()));
    replace_all(text, "MAGIC", weights_magic);
    replace_all(text, "HASH", fmt::format("{:#x}u", weights_hash(model_)));
    replace_all(text, "WEIGHTS", std::to_string(model_.weights.size()) + "u");
    replace_all(text, "return ARENA", "return " + std::to_string(model_.arena_bytes) + "u");
    replace_all(text, "NAME_OUTPUTS", std::to_string(model_.outputs.size()));
    return named(text, name_);
  }

  std::string header() const {
    const std::string guard = "ISAMAP_MODEL_" + upper(name_) + "_H";
    std::string text = fmt::format(
        "/* {}: a model, printed by isamap for {}, to be called from C and C++; belongs to whoever ran it.\n\n", name_,
        machine_.name);
    text += ports("Inputs", model_.inputs, aligns_in_) + ports("Outputs", model_.outputs, aligns_out_) +
            fmt::format("*/\n#ifndef {0}\n#define {0}\n\n", guard);
    text += fmt::format("#define NAME_INPUTS {}\n#define NAME_OUTPUTS {}\n#define NAME_ARENA_ALIGN {}\n",
                        model_.inputs.size(), model_.outputs.size(), model_.arena_align);
    for (const auto& [kind, ports] : {std::pair("INPUT", &model_.inputs), {"OUTPUT", &model_.outputs}})
      for (std::size_t i = 0; i < ports->size(); ++i)
        text += fmt::format("#define NAME_{}_{}_BYTES {}\n", kind, i, (*ports)[i].bytes());
    return named(text + "\n" + interface_text, name_);
  }

  static std::string ports(const char* title, const std::vector<Port>& ports, const std::vector<std::int64_t>& aligns) {
    std::string text = fmt::format("   {}:\n", title);
    for (std::size_t i = 0; i < ports.size(); ++i)
      text += fmt::format("     {}: {}, {}[{}], {} bytes, at a multiple of {}\n", i, comment_text(ports[i].name),
                          name(ports[i].dtype), fmt::join(ports[i].shape, ", "), ports[i].bytes(), aligns[i]);
    return text;
  }

  const ModelProgram& model_;
  const HardwareModel& machine_;
  std::string name_;
  Surroundings around_;
  std::vector<TranslationUnit> units_;  ///< by program
  std::string code_;
  std::vector<std::string> assumed_;
  std::vector<std::int64_t> aligns_in_, aligns_out_;
  std::vector<bool> distributed_;  ///< by program: the team executes it
  bool team_ = false;
};

}  // namespace

Result<Workspace> workspace_of(const Program& part, const HardwareModel& machine) {
  Surroundings around;
  around.from_caller = true;
  const auto unit = print_part(part, machine, "part", around);
  if (!unit) return unit.diagnostics();
  return around.workspace;
}

Result<ModelUnit> print_model(const ModelProgram& model, const HardwareModel& machine) {
  return ModelPrinter(model, machine).print();
}

}  // namespace isamap
