// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/model/model_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "isamap/interpret.h"

namespace isamap {
namespace {

const char* const interface_lines = R"(#include <stddef.h>
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
device|  NAME_bad_argument = 4,  /* a null pointer, or sizes where there are none; nothing was written */
device|  NAME_device_failed = 5  /* there is no device, or a copy or a kernel failed: outputs are undefined */
fixed|  NAME_bad_argument = 4   /* a null or misaligned pointer, or sizes where there are none; nothing was written */
sized|  NAME_bad_argument = 4,  /* a null or misaligned pointer; nothing was written */
sized|  NAME_wrong_size = 5     /* a size is not in its range: one line on stderr, nothing was written */
};

fixed|/* Maps the weights, which stay read-only and are shared by all who open the file, and allocates one arena. */
sized|/* Maps the weights, which stay read-only and are shared by all who open the file. */
device|/* Copies the weights to the current device, and allocates one arena and makes a stream there. */
int NAME_open(NAME** model, const char* weights_file);
void NAME_close(NAME* model);

fixed,device|/* Bytes of an arena. sizes: null, all sizes are numbers. */
sized|/* sizes, in all functions: one number for each of the sizes above, in that order. */
sized|
sized|/* Bytes of an arena at these sizes; 0: a size is not in its range. */
size_t NAME_arena_bytes(const NAME* model, const int64_t sizes[]);

fixed|/* Inputs and outputs in the order above; none of them overlap. arena: memory at a multiple of NAME_ARENA_ALIGN that
fixed|   holds nothing from call to call, one for each call at a time; null: the model's own. Allocates nothing. */
device|/* Inputs and outputs in the order above, in memory of the host or of the device; none of them overlap. Copies and
device|   kernels are in order on the model's stream, and have ended at the return. arena: device memory at a multiple of
device|   NAME_ARENA_ALIGN that holds nothing from call to call, one for each call at a time; null: the model's own.
device|   Allocates nothing. */
sized|/* Inputs and outputs in the order above, with the shapes of these sizes; none of them overlap. arena: memory at a
sized|   multiple of NAME_ARENA_ALIGN that holds nothing from call to call, one for each call at a time, and then nothing is
sized|   allocated; null: the model's own, which grows with the sizes and is kept. */
int NAME_run(NAME* model, const int64_t sizes[], const void* const inputs[], void* const outputs[], void* arena);

fixed,device|/* Writes the extents of an output and returns their number, or -1. shape may be null. */
sized|/* Writes the extents of an input or output and returns their number, or -1. shape may be null. */
sized|int NAME_input_shape(const NAME* model, const int64_t sizes[], int input, int64_t shape[]);
int NAME_output_shape(const NAME* model, const int64_t sizes[], int output, int64_t shape[]);

#ifdef NAME_PROFILE
/* Compiled with -DNAME_PROFILE: seconds spent in each part since NAME_open, in runs with the model's own arena.
   Returns the number of parts; seconds may be null. */
int NAME_profile(const NAME* model, double seconds[]);
const char* NAME_part(int part);
fixed|/* Called after each part of such a run. */
device|/* Called after each part of a run, when its kernels have ended. arena: in memory of the device. */
fixed,device|void NAME_observe(NAME* model, void (*after)(void* user, int part, const void* arena), void* user);
sized|/* Called after each part of such a run, for each of its results. */
sized|void NAME_observe(NAME* model, void (*after)(void* user, int part, const void* result, size_t bytes), void* user);
#endif

#ifdef __cplusplus
}
#endif

#endif
)";

const char* const opening_lines = R"(
struct NAME {
fixed,sized|  void* mapped;
fixed,sized|  std::size_t length;
  const unsigned char* weights;
  void* arena;TEAM_MEMBERS
device|  cudaStream_t stream;
sized|  std::size_t arena_bytes;
#ifdef NAME_PROFILE
  double seconds[PARTS + 1];
fixed,device|  void (*after)(void*, int, const void*);
sized|  void (*after)(void*, int, const void*, std::size_t);
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

device|// Memory of the device, and the weights in it.
device|int fill(NAME* model, const unsigned char* weights) {
device|  void* memory = nullptr;
device|  cudaError_t failed = cudaMalloc(&memory, WEIGHTS + 1);
device|  model->weights = static_cast<unsigned char*>(memory);
device|  if (failed == cudaSuccess) failed = cudaMalloc(&model->arena, NAME_arena_bytes(model, nullptr) + 1);
device|  if (failed == cudaSuccess) failed = cudaStreamCreate(&model->stream);
device|  if (failed == cudaSuccess) failed = cudaMemcpy(memory, weights, WEIGHTS, cudaMemcpyHostToDevice);
device|  return failed == cudaSuccess               ? NAME_ok
device|         : failed == cudaErrorMemoryAllocation ? NAME_no_memory
device|                                               : NAME_device_failed;
device|}
device|
sized|// Kept from call to call; what it held is lost when it grows.
sized|bool grow(NAME* model, std::size_t bytes) {
sized|  if (model->arena_bytes >= bytes) return true;
sized|  std::free(model->arena);
sized|  const std::size_t unit = bytes >= (2 << 20) ? 2 << 20 : 4096, all = (bytes + unit) / unit * unit;
sized|  model->arena = std::aligned_alloc(unit, all);
sized|  model->arena_bytes = model->arena == nullptr ? 0 : bytes;
sized|#ifdef MADV_HUGEPAGE
sized|  if (model->arena != nullptr && unit > 4096) madvise(model->arena, all, MADV_HUGEPAGE);
sized|#endif
sized|  return model->arena != nullptr;
sized|}
sized|
}  // namespace

extern "C" int NAME_open(NAME** model, const char* weights_file) {
  if (model == nullptr || weights_file == nullptr) return NAME_bad_argument;
  *model = nullptr;
  const int file = open(weights_file, O_RDONLY);
  if (file < 0) return NAME_no_file;
  struct stat about;
  const bool known = fstat(file, &about) == 0 && S_ISREG(about.st_mode);
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
fixed|  const std::size_t arena = NAME_arena_bytes(made, nullptr), unit = arena >= (2 << 20) ? 2 << 20 : 4096;
fixed|  void* const memory = std::aligned_alloc(unit, (arena + unit) / unit * unit);
fixed|  if (made == nullptr || memory == nullptr) {
fixed|    std::free(made);
fixed|    std::free(memory);
fixed|    munmap(mapped, length);
fixed|    return NAME_no_memory;
fixed|  }
fixed|#ifdef MADV_HUGEPAGE
fixed|  if (unit > 4096) madvise(memory, (arena + unit) / unit * unit, MADV_HUGEPAGE);
fixed|#endif
sized|  if (made == nullptr) {
sized|    munmap(mapped, length);
sized|    return NAME_no_memory;
sized|  }
device|  const int problem = made == nullptr ? NAME_no_memory : fill(made, static_cast<const unsigned char*>(mapped) + 64);
device|  munmap(mapped, length);
device|  if (problem != NAME_ok) {
device|    NAME_close(made);
device|    return problem;
device|  }
fixed,sized|  made->mapped = mapped;
fixed,sized|  made->length = length;
fixed|  made->weights = static_cast<const unsigned char*>(mapped) + 64;
sized|  made->weights = static_cast<const unsigned char*>(mapped) + 64;TEAM_START
fixed|  made->arena = memory;TEAM_START
  *model = made;
  return NAME_ok;
}

extern "C" void NAME_close(NAME* model) {
  if (model == nullptr) return;TEAM_END
fixed,sized|  munmap(model->mapped, model->length);
fixed,sized|  std::free(model->arena);
device|  if (model->stream != nullptr) cudaStreamDestroy(model->stream);
device|  cudaFree(model->arena);
device|  cudaFree(const_cast<unsigned char*>(model->weights));
  std::free(model);
}

#ifdef NAME_PROFILE
extern "C" int NAME_profile(const NAME* model, double* seconds) {
  for (int part = 0; part < PARTS && seconds != nullptr; ++part) seconds[part] = model->seconds[part];
  return PARTS;
}

extern "C" const char* NAME_part(int part) { return part < 0 || part >= PARTS ? "" : part_names[part]; }

fixed,device|extern "C" void NAME_observe(NAME* model, void (*after)(void*, int, const void*), void* user) {
sized|extern "C" void NAME_observe(NAME* model, void (*after)(void*, int, const void*, std::size_t), void* user) {
  model->after = after;
  model->user = user;
}
#endif
)";

/// Is it in "fixed,device"?
bool listed(std::string_view kinds, ModelKind kind) {
  constexpr std::string_view names[] = {"fixed", "sized", "device"};
  const std::string_view name = names[static_cast<int>(kind)];
  for (std::size_t at = 0; at <= kinds.size();) {
    const std::size_t end = std::min(kinds.find(',', at), kinds.size());
    if (kinds.substr(at, end - at) == name) return true;
    at = end + 1;
  }
  return false;
}

/// The kinds in front of a line; empty: all.
std::string_view kinds_of(std::string_view line) {
  const std::string_view kinds = line.substr(0, std::min(line.find('|'), line.size() - 1));
  for (const std::string_view first : {"fixed", "sized", "device"})
    if (kinds.starts_with(first) && kinds.find(' ') == std::string_view::npos) return kinds;
  return {};
}

}  // namespace

std::string lines_for(ModelKind kind, std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = std::min(text.find('\n'), text.size() - 1) + 1;
    std::string_view line = text.substr(0, length);
    text.remove_prefix(length);
    const std::string_view kinds = kinds_of(line);
    if (!kinds.empty() && !listed(kinds, kind)) continue;
    if (!kinds.empty()) line.remove_prefix(kinds.size() + 1);
    out += line;
  }
  return out;
}

void replace_all(std::string& text, const std::string& word, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += by.size())
    text.replace(at, word.size(), by);
}

std::string with_name(std::string text, const std::string& name) {
  replace_all(text, "NAME", name);
  return text;
}

std::string c_string(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return out + "\"";
}

std::string pointer_text(const ModelPlace& place, const std::string& in_arena, const std::string& rows) {
  switch (place.in) {
    case ModelPlace::In::nowhere:
      return "nullptr";
    case ModelPlace::In::input:
      return fmt::format("{}inputs[{}]{}", rows.empty() ? "" : "(const char*)", place.at, rows);
    case ModelPlace::In::output:
      return fmt::format("{}outputs[{}]{}", rows.empty() ? "" : "(char*)", place.at, rows);
    case ModelPlace::In::arena:
      return fmt::format("arena + {}{}", in_arena, rows);
    case ModelPlace::In::weights:
      return fmt::format("weights + {}{}", place.at, rows);
  }
  return "nullptr";
}

std::string interface_text(ModelKind kind) { return lines_for(kind, interface_lines); }

std::string opening_text(const OpeningText& opening) {
  std::string names, text = lines_for(opening.kind, opening_lines);
  for (const std::string& name : opening.part_names) names += "    " + c_string(name) + ",\n";
  if (opening.helpers > 0)
    text.insert(0, "\nnamespace {\n\nvoid NAME_parts(const void* given, isamap_member team, int from);\n\n}\n");
  for (const auto& [word, by] :
       {std::pair("TEAM_MEMBERS", "\n  isamap_team team;\n  isamap_thread threads[HELPERS];"),
        {"TEAM_START", "\n  made->team.execute = NAME_parts;\n  isamap_start(&made->team, made->threads, HELPERS);"},
        {"TEAM_END", "\n  isamap_end(&model->team, model->threads);"}})
    replace_all(text, word, opening.helpers > 0 ? by : "");
  replace_all(text, "HELPERS", std::to_string(opening.helpers));
  replace_all(text, "PARTS", std::to_string(opening.part_names.size()));
  replace_all(text, "MAGIC", weights_magic);
  replace_all(text, "HASH", opening.weights_hash);
  replace_all(text, "WEIGHTS", std::to_string(opening.weights_bytes) + "u");
  return fmt::format(
             "\nnamespace {{\n\n#ifdef NAME_PROFILE\nconst char* const part_names[] = {{\n{}    \"\"}};\n#endif\n\n}}"
             "  // namespace\n",
             names) +
         text;
}

std::string pointer_checks(const std::vector<std::int64_t>& inputs, const std::vector<std::int64_t>& outputs,
                           std::int64_t arena) {
  std::string text;
  for (const auto& [list, aligns] : {std::pair("inputs", &inputs), {"outputs", &outputs}})
    for (std::size_t i = 0; i < aligns->size(); ++i)
      text += fmt::format(
          "  if ({0}[{1}] == nullptr || reinterpret_cast<std::uintptr_t>({0}[{1}]) % {2} != 0) return "
          "NAME_bad_argument;\n",
          list, i, (*aligns)[i]);
  return text +
         fmt::format("  if (reinterpret_cast<std::uintptr_t>(own_arena) % {} != 0) return NAME_bad_argument;\n", arena);
}

std::string fill_statement(DType dtype, const Scalar& value, const std::string& at, const std::string& bytes) {
  TensorData one{dtype, {1}, {}};
  one.bytes.resize(static_cast<std::size_t>(isamap::bytes(dtype)));
  one.set(0, value);
  if (std::all_of(one.bytes.begin(), one.bytes.end(), [](std::uint8_t b) { return b == 0; }))
    return fmt::format("  std::memset({}, 0, {});\n", at, bytes);
  return fmt::format(
      "  {{\n    const unsigned char one[] = {{{}}};\n    unsigned char* const to = (unsigned char*)({});\n    for "
      "(std::size_t i = 0; i < {}; i += sizeof one) std::memcpy(to + i, one, sizeof one);\n  }}\n",
      fmt::join(one.bytes, ", "), at, bytes);
}

}  // namespace isamap
