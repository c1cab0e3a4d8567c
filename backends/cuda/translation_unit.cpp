// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/translation_unit.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/cpp/emit_functions.h"
#include "backends/cpp/helpers.h"
#include "backends/cpp/names.h"
#include "backends/cpp/printer.h"
#include "backends/cpp/types.h"
#include "backends/cuda/device_names.h"
#include "backends/cuda/distribute_loops.h"
#include "backends/cuda/host_objects.h"
#include "backends/cuda/insert_barriers.h"
#include "backends/cuda/launches.h"
#include "backends/cuda/reserved_words.h"
#include "backends/cuda/thread_binding.h"
#include "backends/cuda/warp_specialization.h"
#include "backends/cuda/wrappers.h"
#include "hwdesc/model/register_reallocation.h"
#include "support/overloaded.h"

namespace isamap {
namespace {

constexpr const char* launch_unit = "(launch)";  // of host loops, whose variables are kernel parameters

// A printed file is compiled by up to three compilers: nvcc compiles all of it; the runtime compiler NVRTC
// (__CUDACC_RTC__) only the kernels; the system's compiler all of it with the emulation or, with ISAMAP_HOST_PART, only
// the launching functions, whose kernels are then in a module of the driver.
constexpr const char* environment = R"(#if defined(ISAMAP_HOST_PART)
#define ISAMAP_LAUNCH(kernel, blocks, threads, bytes, stream, ...) \
  device::launch(#kernel, blocks, threads, bytes, stream __VA_OPT__(, ) __VA_ARGS__)
#elif defined(__CUDACC__)
#define ISAMAP_SHARED(name) extern __shared__ __align__(1024) unsigned char name[]
#define ISAMAP_LAUNCH(kernel, blocks, threads, bytes, stream, ...)                            \
  do {                                                                                        \
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(bytes));    \
    kernel<<<dim3(unsigned(blocks)), dim3(unsigned(threads)), bytes, stream>>>(__VA_ARGS__); \
  } while (false)
template <class T> using shared_pointer = T*;
template <class T> using global_pointer = T*;
using loop_number = long;
template <class T> static __device__ __forceinline__ T* shared_array(unsigned char* at, const char*) { return reinterpret_cast<T*>(at); }
#else
#define ISAMAP_SHARED(name) unsigned char* const name = static_cast<unsigned char*>(emulation::shared_bytes())
#define ISAMAP_LAUNCH(kernel, blocks, threads, bytes, stream, ...) \
  (static_cast<void>(stream), emulation::name_arguments(#__VA_ARGS__ __VA_OPT__(, ) __VA_ARGS__), \
   emulation::launch(#kernel, {unsigned(blocks), 1, 1}, threads, bytes, MEMORIES, [&] { kernel(__VA_ARGS__); }))
template <class T> using shared_pointer = emulation::SharedPointer<T>;
template <class T> using global_pointer = emulation::GlobalPointer<T>;
using loop_number = emulation::LoopNumber;
template <class T> emulation::SharedPointer<T> shared_array(unsigned char* at, const char* name) { return emulation::SharedPointer<T>(at, name); }
#endif

)";

/// Function objects of namespaces are on the host: "constexpr struct F { .. } f;" becomes a struct, and f makes an
/// object at each call.
std::string without_objects(std::string text) {
  const std::string begin = "constexpr struct ", end = "\n} ";
  for (std::size_t at = 0; (at = text.find(begin, at)) != std::string::npos;) {
    text.erase(at, std::string("constexpr ").size());
    const std::size_t type = at + std::string("struct ").size(), close = text.find(end, at);
    const std::size_t name = close + end.size(), semicolon = text.find(';', name);
    const std::string macro = fmt::format("\n}};\n#define {} {}{{}}", text.substr(name, semicolon - name),
                                          text.substr(type, text.find(' ', type) - type));
    text.replace(close, semicolon + 1 - close, macro);
    at = close + macro.size();
  }
  return text;
}

class KernelFile {
 public:
  KernelFile(const Program& program, const HardwareModel& model, UnitId grid)
      : program_(program),
        model_(model),
        grid_(grid),
        name_(own_name(program.name)),
        elements_(model, !program.library_functions),
        wrappers_(model, elements_, names_),
        objects_(program_, model, buffers_, names_) {}

  Result<TranslationUnit> print() {
    for (const std::string_view word : language_words) names_.unique(std::string(word));
    for (const std::string& helper : helper_names()) names_.unique(helper);
    for (const std::string& name : device_names()) names_.unique(name);
    for (const std::string& own : {name_, name_ + "_pack", name_ + "_emulated", name_ + "_pack_emulated",
                                   std::string("stream"), std::string("shared_memory"), std::string("emulation"),
                                   std::string("loop_number"), std::string(Dialect::turn)})
      names_.unique(own);
    for (const Buffer& buffer : program_.buffers)
      buffers_.push_back(buffer.slots < 0 ? names_.unique(buffer.name) : buffer.name);
    wrappers_.described = [this](const Operand& operand, BufferId tensor, const DescribedTensor& box) {
      return objects_.use(operand, tensor, box);
    };
    TranslationUnit unit;
    unit.name = name_;
    unit.run_as = name_ + "_emulated";
    unit.pack_as = name_ + "_pack_emulated";
    std::string entries;
    if (!program_.prepack.empty()) {
      unit.pack = pack_arguments();
      entries += entry(name_ + "_pack", unit.pack, program_.prepack);
    }
    unit.arguments = main_arguments();
    entries += entry(name_, unit.arguments, program_.body);
    if (has_errors(diagnostics_)) return diagnostics_;
    unit.text = header_comment(program_, model_) +
                "// arrays are on the device and begin at multiples of 16 bytes\n\n" + includes() +
                replaced(environment, "MEMORIES", memories()) + "#if !defined(ISAMAP_HOST_PART)\n" +
                with_device_names(functions() + kernels_) + "#endif\n" + "#if !defined(__CUDACC_RTC__)\n" +
                launch_helpers() + entries + "#endif\n";
    return unit;
  }

 private:
  EntryArgument argument(std::size_t b, bool written) const {
    const Buffer& buffer = program_.buffers[b];
    return {make_id<BufferId>(b), element_type(model_, buffer.dtype), buffers_[b], written,
            element_span(buffer) * bytes(buffer.dtype)};
  }
  std::vector<EntryArgument> main_arguments() const {
    std::vector<EntryArgument> out;
    for (const bool packed : {false, true})
      for (std::size_t b = 0; b < program_.buffers.size(); ++b) {
        const Buffer& buffer = program_.buffers[b];
        if (buffer.role != BufferRole::argument || buffer.slots >= 0 || buffer.ahead_of_time != packed) continue;
        out.push_back(argument(b, !packed && role_of(program_.kernel, buffer.tensor) != Role::input));
      }
    return out;
  }
  std::vector<EntryArgument> pack_arguments() const {
    const BufferUse use = buffer_use(program_.prepack, program_);
    std::vector<EntryArgument> out;
    for (const bool packed : {false, true})
      for (std::size_t b = 0; b < program_.buffers.size(); ++b) {
        const Buffer& buffer = program_.buffers[b];
        if (buffer.role != BufferRole::argument || buffer.slots >= 0 || buffer.ahead_of_time != packed) continue;
        if (packed || use.read[b]) out.push_back(argument(b, packed));
      }
    return out;
  }

  static std::string global_pointer(const std::string& type) { return "global_pointer<" + type + ">"; }
  /// Parameters of the emulation's counters: transaction bytes of global memory; banks of shared memory, and bytes of a
  /// bank. 0: not described, or buffers are in different memories.
  std::string memories() const {
    std::set<std::int64_t> transactions;
    std::set<std::pair<std::int64_t, std::int64_t>> banks;
    for (const Buffer& buffer : program_.buffers) {
      const Memory& memory = model_.memory(buffer.memory);
      if (on_device(buffer)) transactions.insert(memory.transaction);
      if (!on_device(buffer) && buffer.slots < 0) banks.insert({memory.banks, memory.bank_width});
    }
    const auto [count, width] = banks.size() == 1 ? *banks.begin() : std::pair<std::int64_t, std::int64_t>();
    return fmt::format("{{{}, {}, {}}}", transactions.size() == 1 ? *transactions.begin() : 0, count, width);
  }
  bool on_device(const Buffer& buffer) const {  // shared by all blocks
    return buffer.slots < 0 && !model_.inside(model_.memory(buffer.memory).per, grid_);
  }

  // The host ---------------------------------------------------------------------------------------------------------

  std::string entry(const std::string& name, const std::vector<EntryArgument>& arguments,
                    const std::vector<Node>& nodes) {
    objects_.clear();
    std::string list, passed, about;
    for (const EntryArgument& a : arguments) {
      about += comment(fmt::format("{}: {} bytes{}", a.name, a.bytes, a.written ? ", written" : ""), "   ");
      list += fmt::format("{}{}* {}, ", a.written ? "" : "const ", a.type, a.name);
      passed += a.name + ", ";
    }
    const BufferUse use = buffer_use(nodes, program_);
    std::string scratch, give_back;
    for (std::size_t b = 0; b < program_.buffers.size(); ++b) {
      const Buffer& buffer = program_.buffers[b];
      if (!on_device(buffer) || buffer.role == BufferRole::argument || !(use.read[b] || use.written[b])) continue;
      const std::string type = element_type(model_, buffer.dtype);
      scratch += fmt::format(
          "  {0}* {1} = nullptr;\n  if (const cudaError_t e = cudaMallocAsync(reinterpret_cast<void**>(&{1}), {2}, "
          "stream); e != cudaSuccess) return e;\n",
          type, buffers_[b], std::max<std::int64_t>(element_span(buffer) * bytes(buffer.dtype), 1));
      give_back += fmt::format("  cudaFreeAsync({}, stream);\n", buffers_[b]);
    }
    std::vector<Loop> around;
    std::string body;
    steps(launches(nodes, program_, model_, grid_), name, around, body);
    const std::string parameters = list.substr(0, list.size() - std::min<std::size_t>(2, list.size()));
    return about +
           fmt::format(
               "extern \"C\" cudaError_t {}({}cudaStream_t stream) {{\n{}{}{}{}  return cudaGetLastError();\n}}\n",
               name, list, objects_.text(), scratch, body, give_back) +
           fmt::format("#if !defined(__CUDACC__)\nextern \"C\" void {0}_emulated({1}) {{ {0}({2}nullptr); }}\n#endif\n",
                       name, parameters, passed);
  }

  void steps(const std::vector<HostStep>& list, const std::string& entry_name, std::vector<Loop>& around,
             std::string& out) {
    const std::string indent(2 * around.size() + 2, ' ');
    for (const HostStep& step : list)
      std::visit(
          overloaded{[&](const Comment& c) { out += indent + comment(c.text, " "); },
                     [&](const HostLoop& loop) {
                       out += fmt::format("{0}for (long {1} = 0; {1} < {2}; ++{1}) {{\n", indent,
                                          host_name(loop.variable), loop.trip);
                       around.push_back({loop.variable, loop.trip, false, launch_unit, {}});
                       steps(loop.body, entry_name, around, out);
                       around.pop_back();
                       out += indent + "}\n";
                     },
                     [&](const Launch& launch) { out += indent + this->launch(launch, entry_name, around) + "\n"; }},
          step.is);
  }
  static std::string host_name(const std::string& variable) { return identifier(variable + "_step"); }

  // Kernels ----------------------------------------------------------------------------------------------------------

  /// The buffers of a kernel: its parameters, those in shared memory, and the read-only ones.
  struct KernelBuffers {
    std::string parameters, arguments, locals;
    std::int64_t shared_bytes = 0;
    std::set<std::int32_t> constant;
  };

  KernelBuffers buffers_of(const std::vector<Node>& nodes) const {
    KernelBuffers made;
    const BufferUse use = buffer_use(nodes, program_);
    for (std::size_t b = 0; b < program_.buffers.size(); ++b) {
      const Buffer& buffer = program_.buffers[b];
      if (buffer.slots >= 0 || !(use.read[b] || use.written[b])) continue;
      const std::string type = buffer.counter ? "" : element_type(model_, buffer.dtype);
      if (!buffer.counter && on_device(buffer)) {
        if (!use.written[b]) made.constant.insert(static_cast<std::int32_t>(b));
        made.parameters += fmt::format("{}{} __restrict__ {}", made.parameters.empty() ? "" : ", ",
                                       global_pointer((use.written[b] ? "" : "const ") + type), buffers_[b]);
        made.arguments += ", " + buffers_[b];
        continue;
      }
      if (!buffer.counter)
        made.locals += fmt::format("  const auto {} = shared_array<{}>(shared_memory + {}, \"{}\");\n", buffers_[b],
                                   type, buffer.address, buffers_[b]);
      made.shared_bytes = std::max(made.shared_bytes, buffer.address + element_span(buffer) * bytes(buffer.dtype));
    }
    return made;
  }

  /// Adds the kernel; returns the text of its launch.
  std::string launch(const Launch& launch, const std::string& entry, const std::vector<Loop>& around) {
    std::vector<Node> nodes = deal_out(launch.nodes, program_, model_, grid_);
    for (std::size_t b = buffers_.size(); b < program_.buffers.size(); ++b)
      buffers_.push_back(program_.buffers[b].slots < 0 ? names_.unique(program_.buffers[b].name)
                                                       : program_.buffers[b].name);
    const ThreadBinding spread(nodes, model_, grid_);
    const std::string name = names_.unique(entry + "_" + std::to_string(++kernel_count_));
    auto [parameters, arguments, locals, shared_bytes, constant] = buffers_of(nodes);
    const std::vector<std::string> roles = roles_of(nodes);
    const Around around_kernel{around, constant};
    objects_.begin_kernel();
    std::string text = counters(nodes, spread);
    others_ = roles.empty() ? 0 : spread.threads();
    budgets_ = roles.empty() ? Budgets{}
                             : budgets(model_, grid_, spread.first_inside(), static_cast<std::int64_t>(roles.size()),
                                       spread.threads() / role_threads(spread));
    for (std::size_t r = 0; r < roles.size(); ++r)
      text += role(part_of(nodes, roles[r]), roles[r], r, spread, around_kernel);
    const std::vector<Node> others = synchronize(part_of(nodes, ""), program_, model_, grid_, spread.loops_blocks());
    wrappers_.most_numbered = numbered(others, spread.threads());
    const std::string rest = body(others, spread, around_kernel);
    text += roles.empty() ? rest : "  } else {\n" + budget(budgets_.others) + indented(rest) + "  }\n";
    const std::int64_t threads =
        spread.threads() + static_cast<std::int64_t>(roles.size()) * (roles.empty() ? 0 : role_threads(spread));
    for (auto loop = around.rbegin(); loop != around.rend(); ++loop) {
      parameters += fmt::format("{}long {}", parameters.empty() ? "" : ", ", host_name(loop->variable));
      arguments += ", " + host_name(loop->variable);
    }
    for (const auto& [object, parameter] : objects_.of_kernel()) {
      parameters += (parameters.empty() ? "" : ", ") + parameter;
      arguments += ", " + object;
    }
    const std::string attribute = replaced(model_.program.function, "{threads}", std::to_string(threads));
    kernels_ +=
        fmt::format("extern \"C\" __global__ void {}{}({}) {{\n{}{}{}}}\n\n", attribute.empty() ? "" : attribute + " ",
                    name, parameters, shared_bytes == 0 ? "" : "  ISAMAP_SHARED(shared_memory);\n", locals, text);
    return fmt::format("ISAMAP_LAUNCH({}, {}, {}, {}, stream{});", name, spread.blocks(), threads, shared_bytes,
                       arguments);
  }

  std::int64_t numbered(const std::vector<Node>& nodes, std::int64_t threads) const {
    std::int64_t most = 0;
    for (const Node& node : nodes)
      std::visit(overloaded{[&](const Loop& l) { most = std::max(most, numbered(l.body, threads)); },
                            [&](const Guard& g) {
                              most = std::max({most, numbered(g.then, threads), numbered(g.otherwise, threads)});
                            },
                            [&](const Sync& sync) {
                              if (sync.unit.valid() && sync.unit != grid_)
                                most = std::max(most, wrappers_.numbered(sync, threads));
                            },
                            [](const auto&) {}},
                 node.is);
    return most;
  }

  struct Around {
    const std::vector<Loop>& host;           ///< host loops around the launch
    const std::set<std::int32_t>& constant;  ///< read-only buffers of the kernel
  };
  /// The text of a kernel's nodes.
  std::string body(std::vector<Node> nodes, const ThreadBinding& spread, const Around& around, bool alone = false) {
    for (auto loop = around.host.rbegin(); loop != around.host.rend(); ++loop) {
      Loop copy = *loop;
      copy.body = std::move(nodes);
      nodes = {Node{std::move(copy)}};
    }
    const Dialect dialect = dialect_of(spread, alone);
    const auto printed = print_body(nodes, {program_, model_, buffers_, around.constant, elements_, &dialect}, names_);
    if (printed) return printed->text;
    for (const Diagnostic& d : printed.diagnostics()) diagnostics_.push_back(d);
    return "";
  }

  // Counters and roles -----------------------------------------------------------------------------------------------

  std::int64_t role_threads(const ThreadBinding& spread) const { return wrappers_.threads_in(spread.first_inside()); }

  /// One thread initializes all counters (mbarriers), then a barrier of the block.
  std::string counters(const std::vector<Node>& nodes, const ThreadBinding& spread) {
    const BufferUse use = buffer_use(nodes, program_);
    std::string text;
    for (std::size_t b = 0; b < program_.buffers.size(); ++b) {
      const Buffer& buffer = program_.buffers[b];
      if (!buffer.counter || !use.read[b]) continue;
      const UnitId each = buffer.counter->each;
      text += wrappers_.begin(buffer, each.valid() ? spread.threads() / wrappers_.threads_in(each) : 1, diagnostics_);
    }
    if (text.empty()) return "";
    // Threads of specialized warps are additional instances of the outermost unit, invisible to the others.
    std::string first = spread.chosen({}, grid_, true);
    if (!roles_of(nodes).empty())
      first = fmt::format("{} == 0 && {}", model_.unit(spread.first_inside()).index,
                          wrappers_.first_of(spread.first_inside()));
    Sync all;
    all.unit = grid_;
    others_ = 0;
    return fmt::format("  if ({}) {{\n{}  }}\n  {}\n", first.empty() ? "true" : first, indented(indented(text)),
                       wrappers_.sync(all, program_, {}, diagnostics_));
  }

  /// Additional threads behind the computing ones; one of them executes the role.
  std::string role(std::vector<Node> nodes, const std::string& name, std::size_t number, const ThreadBinding& spread,
                   const Around& around) {
    const UnitId unit = spread.first_inside();
    const std::int64_t at = spread.threads() / role_threads(spread) + static_cast<std::int64_t>(number);
    const std::string inner = body(std::move(nodes), spread, around, true);
    return fmt::format("  {}if ({} == {}) {{  // {}\n{}    if ({}) {{\n{}    }}\n", number == 0 ? "" : "} else ",
                       model_.unit(unit).index, at, name, budget(budgets_.role), wrappers_.first_of(unit),
                       indented(indented(inner)));
  }
  std::string budget(const std::optional<Budget>& budget) {
    if (!budget) return "";
    return "    " + wrappers_.set(model_.instruction(budget->setter), budget->value) + "\n";
  }

  static std::string indented(const std::string& text) {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      if (end > at && text[at] != '#') out += "  ";
      out += text.substr(at, end - at) + "\n";
      at = end + 1;
    }
    return out;
  }

  /// `alone`: a single thread executes everything.
  Dialect dialect_of(const ThreadBinding& spread, bool alone) {
    Dialect dialect;
    dialect.number = [this, &spread](const Dialect::Around& around) -> std::optional<Dialect::Number> {
      if (around.back()->unit == launch_unit) return Dialect::Number{.text = host_name(around.back()->variable)};
      return spread.number(around);
    };
    dialect.chosen = [&spread, alone](const Dialect::Around& around, UnitId executor, bool one) {
      return alone ? std::string() : spread.chosen(around, executor, one);
    };
    dialect.syncs = [this, &spread, alone](const Dialect::Around& around, const Sync& sync) {
      if (alone || (sync.step != Sync::Step::expect && sync.step != Sync::Step::arrive)) return std::string();
      return sync.step == Sync::Step::expect ? spread.chosen(around, sync.unit, true) : wrappers_.first_of(sync.unit);
    };
    dialect.assembly = [this](const Item& item, const Call& call, CallContext& context) {
      return wrappers_.call(item, call, context);
    };
    dialect.sync = [this](const Sync& sync, const std::vector<Variable>& opened, const Dialect::Index& index) {
      if (sync.object.empty() && sync.unit == grid_ && others_ > 0)
        return wrappers_.barrier_of(others_, grid_, diagnostics_);
      return (opened.empty() ? "" : wrappers_.hold(opened, program_)) +
             wrappers_.sync(sync, program_, index, diagnostics_);
    };
    // In the emulation, pointers to shared or device memory are objects that record accesses.
    dialect.value = [this](BufferId id, const std::string& element) {
      return element_type(model_, program_.buffers[id.index()].dtype) + "(" + element + ")";
    };
    dialect.pointer_type = [this](BufferId id, const std::string& type) {
      return on_device(program_.buffers[id.index()]) ? global_pointer(type) : "shared_pointer<" + type + ">";
    };
    dialect.loop_number = "loop_number";
    if (alone) dialect.before_loop = "#pragma unroll 1";  // specialized warps have few registers
    dialect.address = [](BufferId, const std::string& address) { return address; };
    return dialect;
  }

  std::string includes() const {
    std::set<std::string> standard = helper_includes(elements_.used_helpers());
    standard.insert(elements_.includes().begin(), elements_.includes().end());
    standard.insert({"<cstdint>", "<cstring>"});
    std::string text = fmt::format(
        "#if defined(ISAMAP_HOST_PART)\n#include \"{}\"\n#elif !defined(__CUDACC__)\n#include \"{}\"\n#endif\n",
        device_header_name, emulation_header_name);
    for (const std::string& include : standard) text += "#include " + include + "\n";
    text += "#if defined(__CUDACC__) && !defined(__CUDACC_RTC__)\n";
    for (const std::string& include : model_.program.include) {
      const bool enclosed = !include.empty() && (include.front() == '<' || include.front() == '"');
      text += "#include " + (enclosed ? include : "<" + include + ">") + "\n";
    }
    return text + "#endif\n\n";
  }

  std::string launch_helpers() const {
    const std::string& text = model_.program.launch_helpers;
    return objects_.empty() ? "" : text + (text.empty() || text.back() == '\n' ? "\n" : "\n\n");
  }

  std::string functions() const {
    const std::string code = wrappers_.device() + wrappers_.host() + kernels_;
    std::string text = machine_helpers(model_.program, code);
    // some are used by the emulation only
    const std::string helpers =
        replaced(helper_text(elements_.used_helpers(), code), "[[maybe_unused]] inline ", "inline ");
    text += without_objects(replaced(helpers, "inline ", "[[maybe_unused]] __host__ __device__ inline "));
    if (!wrappers_.device().empty())
      text += "#if defined(__CUDACC__)\n" + wrappers_.device() + "#else\n" + wrappers_.host() + "#endif\n\n";
    return text;
  }

  Program program_;  ///< gets registers for partial sums
  const HardwareModel& model_;
  UnitId grid_;
  std::string name_;
  ElementText elements_;
  Names names_;
  Wrappers wrappers_;
  std::vector<std::string> buffers_;
  std::string kernels_;
  int kernel_count_ = 0;
  std::int64_t others_ = 0;  ///< computing threads, without those of roles; 0: no roles
  Budgets budgets_;          ///< of the current kernel
  HostObjects objects_;      ///< of the current entry
  Diagnostics diagnostics_;
};

}  // namespace

Result<TranslationUnit> print_cuda(const Program& program, const HardwareModel& model) {
  const auto grid = grid_unit(model);
  if (!grid)
    return error(fmt::format("no unit of '{}' has an index, which a program in its language needs", model.name),
                 "give an `index` to the unit of thread blocks and to the units inside it");
  return KernelFile(program, model, *grid).print();
}

SharedPart emulation_part() {
  return {emulation_header_name, emulation_header(), "ISAMAP_EMULATION_DECLARED", "ISAMAP_EMULATION_DEFINED"};
}

}  // namespace isamap
