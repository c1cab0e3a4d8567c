// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "backends/common/process.h"
#include "backends/cpp/compile.h"
#include "backends/cpp/symbolic/symbolic_unit.h"
#include "backends/cpp/translation_unit.h"
#include "ir/verify/overlap.h"
#include "isamap/backend.h"
#include "support/allocate.h"

namespace isamap {

/// The axis that tells a symbolic size: its extent is number * size + remainder.
struct SizeFromAxis {
  std::size_t argument = 0, axis = 0;
  std::int64_t number = 1, remainder = 0;
};

namespace {

using Strides = std::vector<std::int64_t>;

Strides dense_strides(const std::vector<std::int64_t>& shape) {
  Strides strides(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * std::max<std::int64_t>(shape[d], 1);
  return strides;
}

Strides strides_of(const TensorView& view) { return view.strides.empty() ? dense_strides(view.shape) : view.strides; }

/// Strides of axes with one element do not matter.
bool lies_so(const TensorView& view, const Strides& wanted) {
  std::int64_t dense = 1;
  for (std::size_t d = wanted.size(); d-- > 0; dense *= std::max<std::int64_t>(view.shape[d], 1))
    if (view.shape[d] > 1 && (view.strides.empty() ? dense : view.strides[d]) != wanted[d]) return false;
  return true;
}

/// 1 + the largest element offset.
std::int64_t span(const std::vector<std::int64_t>& shape, const Strides& strides) {
  std::int64_t last = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) last += (std::max<std::int64_t>(shape[d], 1) - 1) * strides[d];
  return last + 1;
}

/// Element-wise copy between the caller's view and memory with these strides.
void copy_elements(const TensorView& view, std::uint8_t* own, const Strides& own_strides, std::size_t size, bool in) {
  if (std::find(view.shape.begin(), view.shape.end(), 0) != view.shape.end()) return;
  const Strides strides = strides_of(view);
  std::vector<std::int64_t> index(view.shape.size(), 0);
  const auto bytes_each = static_cast<std::int64_t>(size);
  std::int64_t offset = 0, own_offset = 0;
  for (;;) {
    auto* const theirs = static_cast<std::uint8_t*>(view.data) + offset * bytes_each;
    auto* const ours = own + own_offset * bytes_each;
    std::memcpy(in ? ours : theirs, in ? theirs : ours, size);
    std::size_t d = index.size();
    while (d > 0 && ++index[d - 1] == view.shape[d - 1]) {
      --d;
      offset -= (view.shape[d] - 1) * strides[d];
      own_offset -= (view.shape[d] - 1) * own_strides[d];
      index[d] = 0;
    }
    if (d == 0) return;
    offset += strides[d - 1];
    own_offset += own_strides[d - 1];
  }
}

StridedArray array_of(const TensorView& view) {
  StridedArray array{reinterpret_cast<std::uintptr_t>(view.data), view.shape, strides_of(view), bytes(view.dtype)};
  for (std::int64_t& stride : array.strides) stride *= array.element;
  return array;
}

using Entry = int (*)(void* const* pointers, const long* sizes);

/// Adapter entries called with an array of pointers, for any number of arguments. `sizes`: how many are passed, too;
/// the result is then the entry's.
std::string trampoline(const std::string& name, const std::vector<EntryArgument>& arguments, std::size_t sizes = 0) {
  std::string list;
  for (std::size_t i = 0; i < arguments.size(); ++i)
    list += fmt::format("{}({}{}*)pointers[{}]", i == 0 ? "" : ", ", arguments[i].written ? "" : "const ",
                        arguments[i].type, i);
  for (std::size_t i = 0; i < sizes; ++i) list += fmt::format("{}sizes[{}]", list.empty() ? "" : ", ", i);
  return fmt::format(
      "extern \"C\" int isamap_call_{0}(void* const* pointers, const long* sizes) {{ (void)sizes; {1} }}\n", name,
      sizes > 0 ? fmt::format("return {}({});", name, list) : fmt::format("{}({}); return 0;", name, list));
}

/// Where a size is read off.
std::optional<SizeFromAxis> axis_of(const std::string& size, const SymbolicKernel& kernel,
                                    const std::vector<TensorId>& tensors) {
  for (const bool alone : {true, false})
    for (std::size_t a = 0; a < tensors.size(); ++a) {
      const std::vector<AffineExpr>& shape = kernel.shapes[tensors[a].index()];
      for (std::size_t d = 0; d < shape.size(); ++d) {
        const std::int64_t number = shape[d].coefficient(size);
        const AffineExpr remainder = shape[d] - number * AffineExpr::dim(size);
        if (number != 0 && remainder.is_constant() && (!alone || shape[d] == AffineExpr::dim(size)))
          return SizeFromAxis{a, d, number, remainder.constant()};
      }
    }
  return std::nullopt;
}

}  // namespace

struct LoadedKernel::State {
  Kernel kernel;
  std::vector<TensorId> tensors;                   ///< of the arguments
  std::vector<std::vector<std::int64_t>> strides;  ///< of the arguments
  std::vector<std::size_t> aligns;                 ///< bytes, of the arguments
  std::vector<std::size_t> packed_from;            ///< positions of packed arguments
  std::vector<std::int64_t> packed_bytes;
  void* library = nullptr;
  Entry entry = nullptr, pack = nullptr;
  std::vector<ArrayMemory> packed;
  bool has_packed = false;  ///< `pack` was called
  SymbolicKernel symbolic;  ///< with symbolic sizes: shapes and strides of `kernel` are those of the last call
  std::vector<SizeFromAxis> size_from;  ///< by symbolic size
  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (library != nullptr) dlclose(library);
  }

  /// Compiles and loads; the entry takes so many sizes.
  static Result<std::unique_ptr<State>> open(const TranslationUnit& unit, const HardwareModel& model,
                                             std::size_t sizes);
  /// The arguments of the unit are buffers of this program.
  void describe_arguments(const TranslationUnit& unit, const Program& program);
  /// The sizes of a call by the shapes of its tensors, which `kernel` gets.
  Result<std::vector<long>> sizes_of(const std::vector<TensorView>& arguments);
};

LoadedKernel::LoadedKernel(std::unique_ptr<State> state) : state_(std::move(state)) {}
LoadedKernel::LoadedKernel(LoadedKernel&&) noexcept = default;
LoadedKernel& LoadedKernel::operator=(LoadedKernel&&) noexcept = default;
LoadedKernel::~LoadedKernel() = default;
void LoadedKernel::forget_packed() {
  state_->packed.clear();
  state_->has_packed = false;
}

std::optional<Diagnostic> LoadedKernel::refused(const std::vector<TensorView>& arguments) const {
  const State& s = *state_;
  if (arguments.size() != s.tensors.size())
    return error(fmt::format("'{}' takes {} tensors, found {}", s.kernel.name, s.tensors.size(), arguments.size()),
                 "inputs then outputs, in the order of the kernel");
  for (std::size_t a = 0; a < arguments.size(); ++a) {
    const Tensor& tensor = s.kernel.tensors[s.tensors[a].index()];
    const TensorView& view = arguments[a];
    if (view.dtype != tensor.dtype)
      return error(fmt::format("tensor '{}' holds {}, found {}", tensor.name, name(tensor.dtype), name(view.dtype)));
    if (view.shape != tensor.shape)
      return error(fmt::format("tensor '{}' has shape [{}], found [{}]", tensor.name, fmt::join(tensor.shape, ","),
                               fmt::join(view.shape, ",")));
    if (!view.strides.empty() && view.strides.size() != view.shape.size())
      return error(fmt::format("tensor '{}' has {} axes, found {} strides", tensor.name, view.shape.size(),
                               view.strides.size()));
    if (view.data == nullptr && element_count(tensor) > 0)
      return error(fmt::format("tensor '{}' has no memory", tensor.name));
  }
  // Outputs are `__restrict`: they must not alias.
  for (std::size_t out = 0; out < arguments.size(); ++out) {
    if (role_of(s.kernel, s.tensors[out]) == Role::input) continue;
    const std::string& written = s.kernel.tensors[s.tensors[out].index()].name;
    const TensorView& view = arguments[out];
    if (!elements_lie_apart(view.shape, strides_of(view)))
      return error(fmt::format("elements of output '{}' overlap: strides [{}] of shape [{}]", written,
                               fmt::join(strides_of(view), ","), fmt::join(view.shape, ",")),
                   "each stride must exceed the extent covered by the axes with smaller strides");
    const StridedArray array = array_of(view);
    for (std::size_t other = 0; other < arguments.size(); ++other) {
      if (other == out || (other < out && role_of(s.kernel, s.tensors[other]) != Role::input)) continue;
      if (may_share_places(array, array_of(arguments[other])))
        return error(
            fmt::format("output '{}' overlaps tensor '{}'", written, s.kernel.tensors[s.tensors[other].index()].name),
            "outputs need memory of their own: copy one of them");
    }
  }
  return std::nullopt;
}

Result<std::vector<long>> LoadedKernel::State::sizes_of(const std::vector<TensorView>& arguments) {
  std::vector<long> sizes;
  if (size_from.empty() || arguments.size() != tensors.size()) return sizes;
  Bindings at;
  for (std::size_t n = 0; n < size_from.size(); ++n) {
    const SizeFromAxis& from = size_from[n];
    const std::vector<std::int64_t>& shape = arguments[from.argument].shape;
    const std::string& tensor = kernel.tensors[tensors[from.argument].index()].name;
    if (shape.size() != kernel.tensors[tensors[from.argument].index()].shape.size())
      return error(fmt::format("tensor '{}' has {} axes, found {}", tensor,
                               kernel.tensors[tensors[from.argument].index()].shape.size(), shape.size()));
    const std::int64_t value = (shape[from.axis] - from.remainder) / from.number;
    sizes.push_back(value);
    at[symbolic.facts.sizes[n].name] = value;
  }
  if (const auto broken = broken_fact(symbolic.facts, at)) return error(broken->message);
  for (std::size_t t = 0; t < kernel.tensors.size(); ++t)
    for (std::size_t d = 0; d < symbolic.shapes[t].size(); ++d)
      kernel.tensors[t].shape[d] = evaluate(symbolic.shapes[t][d], at);
  for (std::size_t a = 0; a < tensors.size(); ++a) {
    const std::size_t t = tensors[a].index();
    if (symbolic.strides[t].empty()) {
      strides[a] = dense_strides(kernel.tensors[t].shape);
      continue;
    }
    for (std::size_t d = 0; d < strides[a].size(); ++d) strides[a][d] = evaluate(symbolic.strides[t][d], at);
  }
  return sizes;
}

std::optional<Diagnostic> LoadedKernel::call(const std::vector<TensorView>& arguments) {
  const auto sizes = state_->sizes_of(arguments);
  if (!sizes) return sizes.diagnostics().front();
  const State& s = *state_;
  if (auto problem = refused(arguments)) return problem;
  std::vector<ArrayMemory> copies;
  std::vector<std::pair<std::size_t, std::uint8_t*>> back;
  std::vector<void*> pointers;
  pointers.reserve(arguments.size() + s.packed_bytes.size());
  for (std::size_t a = 0; a < arguments.size(); ++a) {
    const Tensor& tensor = s.kernel.tensors[s.tensors[a].index()];
    const TensorView& view = arguments[a];
    const bool aligned = reinterpret_cast<std::uintptr_t>(view.data) % s.aligns[a] == 0;
    if (aligned && lies_so(view, s.strides[a])) {
      pointers.push_back(view.data);
      continue;
    }
    copies.push_back(allocate_array(span(tensor.shape, s.strides[a]) * bytes(tensor.dtype)));
    if (!copies.back()) return error(fmt::format("no memory for a copy of tensor '{}'", tensor.name));
    const bool output = role_of(s.kernel, s.tensors[a]) != Role::input;
    if (!output || tensor.inout)
      copy_elements(view, copies.back().get(), s.strides[a], static_cast<std::size_t>(bytes(tensor.dtype)), true);
    if (output) back.emplace_back(a, copies.back().get());
    pointers.push_back(copies.back().get());
  }
  if (s.pack != nullptr && !s.has_packed) {
    std::vector<ArrayMemory> packed;
    std::vector<void*> to_pack;
    for (const std::size_t a : s.packed_from) to_pack.push_back(pointers[a]);
    for (const std::int64_t size : s.packed_bytes) {
      packed.push_back(allocate_array(size));
      if (!packed.back()) return error("no memory for packed copies");
      to_pack.push_back(packed.back().get());
    }
    s.pack(to_pack.data(), nullptr);
    state_->packed = std::move(packed);
    state_->has_packed = true;
  }
  for (const ArrayMemory& memory : s.packed) pointers.push_back(memory.get());
  if (s.entry(pointers.data(), sizes->data()) != 0)
    return error(fmt::format("'{}' takes no tensors of these sizes", s.kernel.name));
  for (const auto& [a, from] : back)
    copy_elements(arguments[a], from, s.strides[a], static_cast<std::size_t>(bytes(arguments[a].dtype)), false);
  return std::nullopt;
}

Result<std::unique_ptr<LoadedKernel::State>> LoadedKernel::State::open(const TranslationUnit& unit,
                                                                       const HardwareModel& model, std::size_t sizes) {
  const TemporaryDirectory folder;
  if (!folder.ok())
    return error("cannot create a temporary folder in " + TemporaryDirectory::parent(),
                 "set TMPDIR to one that exists and can be written");
  std::string entries = trampoline(unit.name, unit.arguments, sizes);
  if (!unit.pack.empty()) entries += trampoline(unit.name + "_pack", unit.pack);
  const auto file = folder.path() / "kernel.so";
  if (auto made = compile_library(model, unit.text, entries, file); !made) return made.diagnostics();

  auto state = std::make_unique<State>();
  // Never unloaded if it runs threads: a thread pool outlives the call, and dlclose would unmap its code. Nor where
  // threads keep memory from call to call, which their ends free.
  const bool kept = sizes > 0 || std::any_of(model.units().begin(), model.units().end(),
                                             [](const Unit& u) { return !u.threads.loop.empty(); });
  state->library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | (kept ? RTLD_NODELETE : 0));
  if (state->library == nullptr) return error(fmt::format("the compiled program cannot be loaded: {}", dlerror()));
  const auto find = [&](const std::string& entry) {
    return reinterpret_cast<Entry>(dlsym(state->library, ("isamap_call_" + entry).c_str()));
  };
  state->entry = find(unit.name);
  if (!unit.pack.empty()) state->pack = find(unit.name + "_pack");
  if (state->entry == nullptr || (!unit.pack.empty() && state->pack == nullptr))
    return error("the compiled program lacks its entry");
  return state;
}

void LoadedKernel::State::describe_arguments(const TranslationUnit& unit, const Program& program) {
  for (const EntryArgument& a : unit.arguments) {
    const Buffer& buffer = program.buffers[a.buffer.index()];
    if (buffer.ahead_of_time) {
      packed_bytes.push_back(a.bytes);
      continue;
    }
    tensors.push_back(buffer.tensor);
    strides.push_back(buffer.strides);
    aligns.push_back(static_cast<std::size_t>(std::max<std::int64_t>(buffer.align, bytes(buffer.dtype))));
  }
  for (const EntryArgument& a : unit.pack) {
    const Buffer& buffer = program.buffers[a.buffer.index()];
    const auto at = std::find(tensors.begin(), tensors.end(), buffer.tensor);
    if (!buffer.ahead_of_time) packed_from.push_back(static_cast<std::size_t>(at - tensors.begin()));
  }
}

namespace {

std::optional<Diagnostic> not_loadable(const HardwareModel& model) {
  const Availability available = availability(model);
  if (available.how == ExecutionMode::native || available.how == ExecutionMode::shim) return std::nullopt;
  return error(fmt::format("programs of '{}' cannot be loaded into this process", model.name),
               available.why.empty() ? fmt::format("they run here as '{}'", name(available.how)) : available.why);
}

}  // namespace

Result<LoadedKernel> load_program(const Program& program, const HardwareModel& model) {
  if (auto problem = not_loadable(model)) return std::move(*problem);
  const auto unit = print_cpp(program, model);
  if (!unit) return unit.diagnostics();
  auto state = LoadedKernel::State::open(*unit, model, 0);
  if (!state) return state.diagnostics();
  (*state)->kernel = program.kernel;
  (*state)->describe_arguments(*unit, program);
  return LoadedKernel(std::move(*state));
}

Result<LoadedKernel> load_program(const SymbolicProgram& program, const HardwareModel& model) {
  if (auto problem = not_loadable(model)) return std::move(*problem);
  const auto unit = print_symbolic_cpp(program, model);
  if (!unit) return unit.diagnostics();
  auto state = LoadedKernel::State::open(*unit, model, program.kernel.facts.sizes.size());
  if (!state) return state.diagnostics();
  LoadedKernel::State& s = **state;
  s.kernel = program.kernel.sample;
  s.symbolic = program.kernel;
  s.describe_arguments(*unit, program.grids.empty() ? program.versions[0].parts[0].program : program.arguments);
  for (const SymbolicSize& size : program.kernel.facts.sizes) {
    const auto from = axis_of(size.name, program.kernel, s.tensors);
    if (!from) return error(fmt::format("no axis of a tensor tells the size {}", size.name), "bind it with --sizes");
    s.size_from.push_back(*from);
  }
  return LoadedKernel(std::move(*state));
}

}  // namespace isamap
