// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/kernel_printer.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "backends/cpp/function/printer.h"
#include "backends/cpp/text/types.h"
#include "backends/cuda/device_names.h"
#include "backends/cuda/insert_barriers.h"
#include "backends/cuda/thread_binding.h"
#include "backends/cuda/warp_specialization.h"
#include "hwdesc/model/register_reallocation.h"
#include "support/overloaded.h"

namespace isamap {
namespace {

constexpr const char* launch_unit = "(launch)";  // of host loops, whose variables are kernel parameters

// In the emulation, pointers to shared or device memory are objects that record accesses.
std::string global_pointer(const std::string& type) { return "global_pointer<" + type + ">"; }
std::string shared_pointer(const std::string& type) { return "shared_pointer<" + type + ">"; }

/// The buffers of a kernel.
struct KernelBuffers {
  std::vector<std::string> parameters, arguments;  ///< those in device memory
  std::string shared;                              ///< lines that declare those in shared memory
  std::int64_t shared_bytes = 0;                   ///< counters included
  std::set<std::int32_t> constant;                 ///< parameters that the kernel never writes
};

KernelBuffers buffers_of(const std::vector<Node>& nodes, const KernelContext& context) {
  KernelBuffers made;
  const BufferUse use = buffer_use(nodes, context.program);
  for (std::size_t b = 0; b < context.program.buffers.size(); ++b) {
    const Buffer& buffer = context.program.buffers[b];
    if (buffer.slots >= 0 || !(use.read[b] || use.written[b])) continue;
    const std::string& name = context.buffers[b];
    const std::string type = buffer.counter ? "" : element_type(context.file.model, buffer.dtype);
    if (!buffer.counter && context.file.on_device(buffer)) {
      if (!use.written[b]) made.constant.insert(static_cast<std::int32_t>(b));
      made.parameters.push_back(global_pointer((use.written[b] ? "" : "const ") + type) + " __restrict__ " + name);
      made.arguments.push_back(name);
      continue;
    }
    if (!buffer.counter)
      made.shared += fmt::format("  const auto {} = shared_array<{}>(shared_memory + {}, \"{}\");\n", name, type,
                                 buffer.address, name);
    made.shared_bytes = std::max(made.shared_bytes, buffer.address + element_span(buffer) * bytes(buffer.dtype));
  }
  return made;
}

/// The largest number of a barrier that the nodes need, of units inside the block.
std::int64_t most_numbered(const std::vector<Node>& nodes, const DeviceFile& file, std::int64_t threads) {
  std::int64_t most = 0;
  for (const Node& node : nodes)
    std::visit(
        overloaded{
            [&](const Loop& l) { most = std::max(most, most_numbered(l.body, file, threads)); },
            [&](const Guard& g) {
              most = std::max({most, most_numbered(g.then, file, threads), most_numbered(g.otherwise, file, threads)});
            },
            [&](const Sync& sync) {
              if (sync.unit.valid() && sync.unit != file.grid)
                most = std::max(most, file.wrappers.numbered(sync, threads));
            },
            [](const auto&) {}},
        node.is);
  return most;
}

/// Two spaces before each line of code; the preprocessor's lines and empty ones stay.
std::string indented_code(const std::string& text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (end > at && text[at] != '#') out += "  ";
    out += text.substr(at, end - at) + "\n";
    at = end + 1;
  }
  return out;
}

/// As executed by a single thread.
Dialect by_one_thread(Dialect dialect) {
  dialect.chosen = [](const Dialect::Around&, UnitId, bool) { return std::string(); };
  dialect.syncs = [](const Dialect::Around&, const Sync&) { return std::string(); };
  dialect.before_loop = "#pragma unroll 1";  // specialized warps have few registers
  return dialect;
}

class KernelPrinter {
 public:
  KernelPrinter(const std::vector<Node>& nodes, const KernelContext& context, Diagnostics& diagnostics)
      : nodes_(nodes),
        context_(context),
        program_(context.program),
        model_(context.file.model),
        grid_(context.file.grid),
        wrappers_(context.file.wrappers),
        roles_(roles_of(nodes)),
        binding_(nodes, model_, grid_, context.tiles == nullptr ? nullptr : &context.tiles->numbers.trips),
        buffers_(buffers_of(nodes, context)),
        diagnostics_(diagnostics) {}

  std::string print(const std::string& name) {
    expect_room(name);
    context_.objects.begin_kernel();
    std::string body = counters();
    body += roles_.empty() ? statements() : specialized();
    host_parameters();
    const std::string attribute = replaced(model_.program.function, "{threads}", std::to_string(threads()));
    context_.file.kernels += fmt::format(
        "extern \"C\" __global__ void {}{}({}) {{\n{}{}{}{}}}\n\n", attribute.empty() ? "" : attribute + " ", name,
        fmt::join(buffers_.parameters, ", "), buffers_.shared_bytes == 0 ? "" : "  ISAMAP_SHARED(shared_memory);\n",
        stride_definitions(context_.tiles), buffers_.shared, body);
    std::string arguments;
    for (const std::string& argument : buffers_.arguments) arguments += ", " + argument;
    return fmt::format("ISAMAP_LAUNCH({}, {}, {}, {}, stream{});", name, binding_.blocks_text(), threads(),
                       buffers_.shared_bytes, arguments);
  }

 private:
  void expect_room(const std::string& name) const {
    if (block_holds(model_, grid_, buffers_.shared_bytes)) return;
    const auto memory = scratchpad_of(model_, grid_);
    diagnostics_.push_back(
        error(fmt::format("kernel '{}' needs {} bytes of a block's memory, which has {}: smaller tiles, "
                          "or fewer of them at a time, fit",
                          name, buffers_.shared_bytes, memory ? model_.memory(*memory).capacity : 0)));
  }

  /// Of a block: the computing ones, and an instance of the outermost unit for each role.
  std::int64_t threads() const {
    if (roles_.empty()) return binding_.threads();
    return binding_.threads() +
           static_cast<std::int64_t>(roles_.size()) * wrappers_.threads_in(binding_.first_inside());
  }

  /// Parameters beside the buffers: what the launching function computes.
  void host_parameters() {
    const auto add = [&](const std::string& declaration, const std::string& argument) {
      buffers_.parameters.push_back(declaration);
      buffers_.arguments.push_back(argument);
    };
    for (auto loop = context_.around.rbegin(); loop != context_.around.rend(); ++loop)
      add("long " + host_variable((*loop)->variable), host_variable((*loop)->variable));
    if (context_.tiles != nullptr)
      for (const std::string& size : context_.tiles->sizes) add("[[maybe_unused]] long " + size, size);
    for (const auto& [object, declaration] : context_.objects.of_kernel()) add(declaration, object);
  }

  /// One thread initializes all counters (mbarriers), then a barrier of the block.
  std::string counters() {
    const BufferUse use = buffer_use(nodes_, program_);
    std::string text;
    for (std::size_t b = 0; b < program_.buffers.size(); ++b) {
      const Buffer& buffer = program_.buffers[b];
      if (!buffer.counter || !use.read[b]) continue;
      const UnitId each = buffer.counter->each;
      text += wrappers_.begin(buffer, each.valid() ? binding_.threads() / wrappers_.threads_in(each) : 1, diagnostics_);
    }
    if (text.empty()) return "";
    // Threads of specialized warps are additional instances of the outermost unit, invisible to the others.
    std::string first = binding_.chosen({}, grid_, true);
    if (!roles_.empty())
      first = fmt::format("{} == 0 && {}", model_.unit(binding_.first_inside()).index,
                          wrappers_.first_of(binding_.first_inside()));
    Sync all;
    all.unit = grid_;
    return fmt::format("  if ({}) {{\n{}  }}\n  {}\n", first.empty() ? "true" : first,
                       indented_code(indented_code(text)), wrappers_.sync(all, program_, {}, diagnostics_));
  }

  /// What the warps of each role execute, and what all others do.
  std::string specialized() {
    const UnitId unit = binding_.first_inside();
    const auto count = static_cast<std::int64_t>(roles_.size());
    const std::int64_t computing = binding_.threads() / wrappers_.threads_in(unit);  // instances
    const Budgets shares = budgets(model_, grid_, unit, count, computing);
    std::string text;
    for (std::int64_t r = 0; r < count; ++r) {
      const std::string& role = roles_[static_cast<std::size_t>(r)];
      const std::string inner = printed(part_of(nodes_, role), by_one_thread(dialect()));
      text += fmt::format("  {}if ({} == {}) {{  // {}\n{}    if ({}) {{\n{}    }}\n", r == 0 ? "" : "} else ",
                          model_.unit(unit).index, computing + r, role, budget(shares.role), wrappers_.first_of(unit),
                          indented_code(indented_code(inner)));
    }
    const std::string rest = statements();
    return text + "  } else {\n" + budget(shares.others) + indented_code(rest) + "  }\n";
  }
  std::string budget(const std::optional<Budget>& budget) {
    if (!budget) return "";
    return "    " + wrappers_.set(model_.instruction(budget->setter), budget->value) + "\n";
  }

  /// What is of no role, by all computing threads.
  std::string statements() {
    const std::vector<Node> nodes = synchronize(part_of(nodes_, ""), program_, model_, grid_, binding_.loops_blocks());
    wrappers_.most_numbered = most_numbered(nodes, context_.file, binding_.threads());
    return printed(nodes, dialect());
  }

  std::string printed(std::vector<Node> nodes, const Dialect& dialect) {
    for (auto around = context_.around.rbegin(); around != context_.around.rend(); ++around)
      nodes = {Node{Loop{(*around)->variable, (*around)->trip, false, launch_unit, std::move(nodes)}}};
    const auto body = print_body(nodes,
                                 {program_, model_, context_.buffers, buffers_.constant, context_.file.elements,
                                  &dialect, context_.tiles == nullptr ? nullptr : &context_.tiles->numbers},
                                 context_.file.names);
    if (body) return body->text;
    for (const Diagnostic& d : body.diagnostics()) diagnostics_.push_back(d);
    return "";
  }

  Dialect dialect() {
    Dialect dialect;
    dialect.number = [this](const Dialect::Around& around) -> std::optional<Dialect::Number> {
      if (around.back()->unit == launch_unit) return Dialect::Number{.text = host_variable(around.back()->variable)};
      return binding_.number(around);
    };
    dialect.chosen = [this](const Dialect::Around& around, UnitId executor, bool one) {
      return binding_.chosen(around, executor, one);
    };
    dialect.syncs = [this](const Dialect::Around& around, const Sync& sync) {
      if (sync.step == Sync::Step::expect) return binding_.chosen(around, sync.unit, true);
      return sync.step == Sync::Step::arrive ? wrappers_.first_of(sync.unit) : std::string();
    };
    dialect.assembly = [this](const Item& item, const Call& call, CallContext& context) {
      return wrappers_.call(item, call, context);
    };
    dialect.sync = [this](const Sync& sync, const std::vector<Variable>& opened, const Dialect::Index& index) {
      if (sync.object.empty() && sync.unit == grid_ && !roles_.empty())
        return wrappers_.barrier_of(binding_.threads(), grid_, diagnostics_);
      return (opened.empty() ? "" : wrappers_.hold(opened, program_)) +
             wrappers_.sync(sync, program_, index, diagnostics_);
    };
    dialect.value = [this](BufferId id, const std::string& element) {
      // Not T(element): GCC may take what follows an opening parenthesis for a list of parameters.
      return "static_cast<" + element_type(model_, program_.buffers[id.index()].dtype) + ">(" + element + ")";
    };
    dialect.pointer_type = [this](BufferId id, const std::string& type) {
      return context_.file.on_device(program_.buffers[id.index()]) ? global_pointer(type) : shared_pointer(type);
    };
    dialect.loop_number = "loop_number";
    dialect.address = [](BufferId, const std::string& address) { return address; };
    return dialect;
  }

  const std::vector<Node>& nodes_;
  const KernelContext& context_;
  const Program& program_;
  const HardwareModel& model_;
  UnitId grid_;
  Wrappers& wrappers_;
  std::vector<std::string> roles_;  ///< of specialized warps
  ThreadBinding binding_;           ///< of the computing threads
  KernelBuffers buffers_;
  Diagnostics& diagnostics_;
};

}  // namespace

std::string host_variable(const std::string& variable) { return identifier(variable + "_step"); }

std::string stride_definitions(const TileNumbers* tiles) {
  std::string text;
  for (const std::string& line : tiles == nullptr ? std::vector<std::string>{} : tiles->numbers.definitions)
    text += "  " + line + "\n";
  return text;
}

std::string print_kernel(const std::vector<Node>& nodes, const std::string& name, const KernelContext& context,
                         Diagnostics& diagnostics) {
  return KernelPrinter(nodes, context, diagnostics).print(name);
}

}  // namespace isamap
