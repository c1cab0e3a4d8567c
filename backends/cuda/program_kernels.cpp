// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "backends/cpp/emit_functions.h"
#include "backends/cpp/function/printer.h"
#include "backends/cpp/text/types.h"
#include "backends/cuda/device_file.h"
#include "backends/cuda/device_names.h"
#include "backends/cuda/distribute_loops.h"
#include "backends/cuda/host_objects.h"
#include "backends/cuda/insert_barriers.h"
#include "backends/cuda/launches.h"
#include "backends/cuda/stitch_nests.h"
#include "backends/cuda/thread_binding.h"
#include "backends/cuda/warp_specialization.h"
#include "hwdesc/model/register_reallocation.h"
#include "support/arithmetic.h"
#include "support/overloaded.h"

namespace isamap {
namespace {

constexpr const char* launch_unit = "(launch)";  // of host loops, whose variables are kernel parameters

class ProgramKernels {
 public:
  /// `tiles`: null: all numbers are known.
  ProgramKernels(const Program& program, DeviceFile& file, std::string name, const TileNumbers* tiles = nullptr)
      : tiles_(tiles),
        program_(program),
        file_(file),
        model_(file.model),
        grid_(file.grid),
        name_(std::move(name)),
        elements_(file.elements),
        names_(file.names),
        wrappers_(file.wrappers),
        objects_(program_, model_, buffers_, names_, tiles_) {
    for (const Buffer& buffer : program_.buffers)
      buffers_.push_back(buffer.slots < 0 ? names_.unique(buffer.name) : buffer.name);
    wrappers_.described = [this](const Operand& operand, BufferId tensor, const DescribedTensor& box) {
      return objects_.use(operand, tensor, box);
    };
    file_.note_memories(program_);
  }

  Result<ProgramEntries> entries() {
    ProgramEntries made;
    if (!program_.prepack.empty()) {
      made.pack = pack_arguments();
      made.text += entry(name_ + "_pack", made.pack, program_.prepack);
    }
    made.arguments = main_arguments();
    made.text += entry(name_, made.arguments, program_.body);
    made.launches = launched_;
    if (has_errors(diagnostics_)) return diagnostics_;
    return made;
  }

  Result<ProgramEntries> with_tiles() {
    ProgramEntries made;
    made.arguments = main_arguments();
    const std::string body = launched(program_.body, name_);
    file_.has_objects |= !objects_.empty();
    std::string sizes;
    for (const std::string& size : tiles_->sizes) sizes += "[[maybe_unused]] long " + size + ", ";
    made.text =
        fmt::format("static cudaError_t {}({}{}cudaStream_t stream) {{\n{}{}{}  return cudaGetLastError();\n}}\n",
                    name_, parameter_list(made.arguments), sizes, definitions(), objects_.text(), body);
    if (!scratch_of(program_.body).empty())
      diagnostics_.push_back(error("a launch in tiles keeps no tensors of its own on the device"));
    if (has_errors(diagnostics_)) return diagnostics_;
    return made;
  }

  Result<ProgramEntries> part() {
    ProgramEntries made;
    made.arguments = main_arguments();
    made.text = part_entry(made);
    made.launches = launched_;
    if (has_errors(diagnostics_)) return diagnostics_;
    return made;
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
  bool on_device(const Buffer& buffer) const { return file_.on_device(buffer); }

  // The host ---------------------------------------------------------------------------------------------------------

  /// Local buffers of the device that the nodes use.
  std::vector<std::size_t> scratch_of(const std::vector<Node>& nodes) const {
    const BufferUse use = buffer_use(nodes, program_);
    std::vector<std::size_t> found;
    for (std::size_t b = 0; b < program_.buffers.size(); ++b) {
      const Buffer& buffer = program_.buffers[b];
      if (on_device(buffer) && buffer.role != BufferRole::argument && (use.read[b] || use.written[b]))
        found.push_back(b);
    }
    return found;
  }
  std::int64_t bytes_of(std::size_t b) const {
    const Buffer& buffer = program_.buffers[b];
    return std::max<std::int64_t>(element_span(buffer) * bytes(buffer.dtype), 1);
  }

  std::string launched(const std::vector<Node>& nodes, const std::string& name) {
    objects_.clear();
    launched_ = 0;
    std::vector<Loop> around;
    std::string body;
    StitchedNests stitched = isamap::stitched(nodes, program_, model_, grid_);
    begun_ = std::move(stitched.begun);
    steps(launches(stitched.body, program_, model_, grid_), name, around, body);
    file_.has_objects |= !objects_.empty();
    return body;
  }

  static std::string parameter_list(const std::vector<EntryArgument>& arguments) {
    std::string list;
    for (const EntryArgument& a : arguments)
      list += fmt::format("{}{}* {}, ", a.written ? "" : "const ", a.type, a.name);
    return list;
  }

  std::string entry(const std::string& name, const std::vector<EntryArgument>& arguments,
                    const std::vector<Node>& nodes) {
    std::string passed, about;
    const std::string list = parameter_list(arguments);
    for (const EntryArgument& a : arguments) {
      about += comment(fmt::format("{}: {} bytes{}", a.name, a.bytes, a.written ? ", written" : ""), "   ");
      passed += a.name + ", ";
    }
    std::string scratch, give_back;
    for (const std::size_t b : scratch_of(nodes)) {
      scratch += fmt::format(
          "  {0}* {1} = nullptr;\n  if (const cudaError_t e = cudaMallocAsync(reinterpret_cast<void**>(&{1}), {2}, "
          "stream); e != cudaSuccess) return e;\n",
          element_type(model_, program_.buffers[b].dtype), buffers_[b], bytes_of(b));
      give_back += fmt::format("  cudaFreeAsync({}, stream);\n", buffers_[b]);
    }
    const std::string body = launched(nodes, name);
    const std::string parameters = list.substr(0, list.size() - std::min<std::size_t>(2, list.size()));
    return about +
           fmt::format(
               "extern \"C\" cudaError_t {}({}cudaStream_t stream) {{\n{}{}{}{}  return cudaGetLastError();\n}}\n",
               name, list, objects_.text(), scratch, body, give_back) +
           fmt::format("#if !defined(__CUDACC__)\nextern \"C\" void {0}_emulated({1}) {{ {0}({2}nullptr); }}\n#endif\n",
                       name, parameters, passed);
  }

  /// Its local buffers are in memory that the caller passes.
  std::string part_entry(ProgramEntries& made) {
    std::string scratch;
    for (const std::size_t b : scratch_of(program_.body)) {
      const std::string type = element_type(model_, program_.buffers[b].dtype);
      scratch += fmt::format("  {0}* const {1} = reinterpret_cast<{0}*>(workspace + {2});\n", type, buffers_[b],
                             made.workspace.bytes);
      made.workspace.bytes += round_up(bytes_of(b), made.workspace.align);
    }
    const std::string body = launched(program_.body, name_);
    return fmt::format(
        "static cudaError_t {}({}unsigned char* workspace, cudaStream_t stream) {{\n  static_cast<void>(workspace);\n"
        "{}{}{}  return cudaGetLastError();\n}}\n",
        name_, parameter_list(made.arguments), objects_.text(), scratch, body);
  }

  void steps(const std::vector<HostStep>& list, const std::string& entry_name, std::vector<Loop>& around,
             std::string& out) {
    const std::string indent(2 * around.size() + 2, ' ');
    for (const HostStep& step : list)
      std::visit(overloaded{[&](const Comment& c) { out += indent + comment(c.text, " "); },
                            [&](const HostLoop& loop) {
                              out += fmt::format("{0}for (long {1} = 0; {1} < {2}; ++{1}) {{\n", indent,
                                                 host_name(loop.variable), loop.trip);
                              around.push_back({loop.variable, loop.trip, false, launch_unit, {}});
                              steps(loop.body, entry_name, around, out);
                              around.pop_back();
                              out += indent + "}\n";
                            },
                            [&](const Launch& launch) {
                              std::int64_t times = 1;
                              for (const Loop& loop : around) times *= loop.trip;
                              launched_ += times;
                              out += indent + this->launch(launch, entry_name, around) + "\n";
                            }},
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
    begin_sums(launch.nodes, nodes);
    for (std::size_t b = buffers_.size(); b < program_.buffers.size(); ++b)
      buffers_.push_back(program_.buffers[b].slots < 0 ? names_.unique(program_.buffers[b].name)
                                                       : program_.buffers[b].name);
    const ThreadBinding spread(nodes, model_, grid_, tiles_ == nullptr ? nullptr : &tiles_->numbers.trips);
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
    for (const std::string& size : tiles_ == nullptr ? std::vector<std::string>{} : tiles_->sizes) {
      parameters += fmt::format("{}[[maybe_unused]] long {}", parameters.empty() ? "" : ", ", size);
      arguments += ", " + size;
    }
    locals = definitions() + locals;
    for (const auto& [object, parameter] : objects_.of_kernel()) {
      parameters += (parameters.empty() ? "" : ", ") + parameter;
      arguments += ", " + object;
    }
    const std::string attribute = replaced(model_.program.function, "{threads}", std::to_string(threads));
    file_.kernels +=
        fmt::format("extern \"C\" __global__ void {}{}({}) {{\n{}{}{}}}\n\n", attribute.empty() ? "" : attribute + " ",
                    name, parameters, shared_bytes == 0 ? "" : "  ISAMAP_SHARED(shared_memory);\n", locals, text);
    return fmt::format("ISAMAP_LAUNCH({}, {}, {}, {}, stream{});", name, spread.blocks_text(), threads, shared_bytes,
                       arguments);
  }

  /// Of strides.
  std::string definitions() const {
    std::string text;
    for (const std::string& line : tiles_ == nullptr ? std::vector<std::string>{} : tiles_->numbers.definitions)
      text += "  " + line + "\n";
    return text;
  }

  /// A sum of which nothing is stored yet is stored, not added.
  void begin_sums(const std::vector<Node>& before, std::vector<Node>& nodes) const {
    const auto* loop = before.size() == 1 ? std::get_if<Loop>(&before[0].is) : nullptr;
    if (loop == nullptr || !begun_.contains(loop->variable)) return;
    const auto use = buffer_use(before, program_);
    const auto written = std::find(use.written.begin(), use.written.end(), true) - use.written.begin();
    ISAMAP_CHECK(store_sums(nodes, make_id<BufferId>(static_cast<std::size_t>(written))) == 1,
                 "the sums of a block are stored in more than one place");
  }
  static int store_sums(std::vector<Node>& nodes, BufferId buffer) {
    int count = 0;
    for (Node& node : nodes)
      std::visit(overloaded{[&](Loop& loop) { count += store_sums(loop.body, buffer); },
                            [&](Guard& guard) {
                              count += store_sums(guard.then, buffer) + store_sums(guard.otherwise, buffer);
                            },
                            [&](Element& element) {
                              if (element.write.buffer != buffer) return;
                              element.reduction = Reduction::assign;
                              ++count;
                            },
                            [](auto&) {}},
                 node.is);
    return count;
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
    const auto printed = print_body(nodes,
                                    {program_, model_, buffers_, around.constant, elements_, &dialect,
                                     tiles_ == nullptr ? nullptr : &tiles_->numbers},
                                    names_);
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
      // Not T(element): GCC may take what follows an opening parenthesis for a list of parameters.
      return "static_cast<" + element_type(model_, program_.buffers[id.index()].dtype) + ">(" + element + ")";
    };
    dialect.pointer_type = [this](BufferId id, const std::string& type) {
      return on_device(program_.buffers[id.index()]) ? global_pointer(type) : "shared_pointer<" + type + ">";
    };
    dialect.loop_number = "loop_number";
    if (alone) dialect.before_loop = "#pragma unroll 1";  // specialized warps have few registers
    dialect.address = [](BufferId, const std::string& address) { return address; };
    return dialect;
  }

  const TileNumbers* tiles_;
  Program program_;  ///< gets registers for partial sums
  DeviceFile& file_;
  const HardwareModel& model_;
  UnitId grid_;
  std::string name_;
  ElementText& elements_;
  Names& names_;
  Wrappers& wrappers_;
  std::vector<std::string> buffers_;
  int kernel_count_ = 0;
  std::set<std::string> begun_;  ///< as in StitchedNests
  std::int64_t launched_ = 0;    ///< by the current entry
  std::int64_t others_ = 0;      ///< computing threads, without those of roles; 0: no roles
  Budgets budgets_;              ///< of the current kernel
  HostObjects objects_;          ///< of the current entry
  Diagnostics diagnostics_;
};

}  // namespace

Result<ProgramEntries> program_entries(const Program& program, DeviceFile& file, const std::string& name) {
  return ProgramKernels(program, file, name).entries();
}

Result<ProgramEntries> tile_entry(const Program& program, const TileNumbers& tiles, DeviceFile& file,
                                  const std::string& name) {
  return ProgramKernels(program, file, name, &tiles).with_tiles();
}

Result<ProgramEntries> part_entry(const Program& program, DeviceFile& file, const std::string& name) {
  return ProgramKernels(program, file, name).part();
}

}  // namespace isamap
