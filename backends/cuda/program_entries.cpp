// SPDX-License-Identifier: Apache-2.0
// The launching functions of a program: arguments, local buffers in device memory, loops of the host, launches.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "backends/cpp/emit_functions.h"
#include "backends/cpp/text/types.h"
#include "backends/cuda/device_file.h"
#include "backends/cuda/distribute_loops.h"
#include "backends/cuda/independent_launches.h"
#include "backends/cuda/kernel_printer.h"
#include "backends/cuda/launches.h"
#include "backends/cuda/stage_rows.h"
#include "backends/cuda/stitch_nests.h"
#include "backends/cuda/tensor_descriptors.h"
#include "support/arithmetic.h"
#include "support/overloaded.h"

namespace isamap {
namespace {

/// Buffers that the caller passes: those of the kernel's tensors, then those that are packed ahead of time.
std::vector<std::size_t> argument_buffers(const Program& program) {
  std::vector<std::size_t> found;
  for (const bool packed : {false, true})
    for (std::size_t b = 0; b < program.buffers.size(); ++b) {
      const Buffer& buffer = program.buffers[b];
      if (buffer.role == BufferRole::argument && buffer.slots < 0 && buffer.ahead_of_time == packed) found.push_back(b);
    }
  return found;
}

/// Local buffers in device memory that the nodes use.
std::vector<std::size_t> scratch_of(const std::vector<Node>& nodes, const Program& program, const DeviceFile& file) {
  const BufferUse use = buffer_use(nodes, program);
  std::vector<std::size_t> found;
  for (std::size_t b = 0; b < program.buffers.size(); ++b) {
    const Buffer& buffer = program.buffers[b];
    if (file.on_device(buffer) && buffer.role != BufferRole::argument && (use.read[b] || use.written[b]))
      found.push_back(b);
  }
  return found;
}

std::int64_t scratch_bytes(const Buffer& buffer) {
  return std::max<std::int64_t>(element_span(buffer) * bytes(buffer.dtype), 1);
}

/// "const float* A, float* C, "
std::string pointer_parameters(const std::vector<EntryArgument>& arguments) {
  std::string list;
  for (const EntryArgument& a : arguments) list += fmt::format("{}{}* {}, ", a.written ? "" : "const ", a.type, a.name);
  return list;
}

class EntryPrinter {
 public:
  /// `tiles`: null: all numbers are known.
  EntryPrinter(const Program& program, DeviceFile& file, std::string name, const TileNumbers* tiles = nullptr)
      : tiles_(tiles),
        program_(program),
        file_(file),
        name_(std::move(name)),
        objects_(program_, file.model, buffers_, file.names, tiles_) {
    name_buffers();
    file_.wrappers.described = [this](const Operand& operand, BufferId tensor, const DescribedTensor& box) {
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
    std::string sizes;
    for (const std::string& size : tiles_->sizes) sizes += "[[maybe_unused]] long " + size + ", ";
    made.text = fmt::format(
        "static cudaError_t {}({}{}cudaStream_t stream) {{\n{}{}{}  return cudaGetLastError();\n}}\n", name_,
        pointer_parameters(made.arguments), sizes, stride_definitions(tiles_), objects_.text(), body);
    if (!scratch_of(program_.body, program_, file_).empty())
      diagnostics_.push_back(error("a launch in tiles keeps no tensors of its own on the device"));
    if (has_errors(diagnostics_)) return diagnostics_;
    return made;
  }

  /// Its local buffers are in memory that the caller passes.
  Result<ProgramEntries> part() {
    ProgramEntries made;
    made.arguments = main_arguments();
    std::string scratch;
    const std::string body = launched(program_.body, name_);
    for (const std::size_t b : scratch_of(launched_body_, program_, file_)) {
      const Buffer& buffer = program_.buffers[b];
      scratch += fmt::format("  {0}* const {1} = reinterpret_cast<{0}*>(workspace + {2});\n",
                             element_type(file_.model, buffer.dtype), buffers_[b], made.workspace.bytes);
      made.workspace.bytes += round_up(scratch_bytes(buffer), made.workspace.align);
    }
    made.text = fmt::format(
        "static cudaError_t {}({}unsigned char* workspace, cudaStream_t stream) {{\n  static_cast<void>(workspace);\n"
        "{}{}{}  return cudaGetLastError();\n}}\n",
        name_, pointer_parameters(made.arguments), objects_.text(), scratch, body);
    made.launches = launched_;
    if (has_errors(diagnostics_)) return diagnostics_;
    return made;
  }

 private:
  EntryArgument argument(std::size_t b, bool written) const {
    const Buffer& buffer = program_.buffers[b];
    return {make_id<BufferId>(b), element_type(file_.model, buffer.dtype), buffers_[b], written,
            element_span(buffer) * bytes(buffer.dtype)};
  }
  std::vector<EntryArgument> main_arguments() const {
    std::vector<EntryArgument> out;
    for (const std::size_t b : argument_buffers(program_)) {
      const Buffer& buffer = program_.buffers[b];
      out.push_back(argument(b, !buffer.ahead_of_time && role_of(program_.kernel, buffer.tensor) != Role::input));
    }
    return out;
  }
  std::vector<EntryArgument> pack_arguments() const {
    const BufferUse use = buffer_use(program_.prepack, program_);
    std::vector<EntryArgument> out;
    for (const std::size_t b : argument_buffers(program_)) {
      const bool packed = program_.buffers[b].ahead_of_time;
      if (packed || use.read[b]) out.push_back(argument(b, packed));
    }
    return out;
  }

  /// It allocates its local buffers on the stream.
  std::string entry(const std::string& name, const std::vector<EntryArgument>& arguments,
                    const std::vector<Node>& nodes) {
    std::string passed, about;
    const std::string list = pointer_parameters(arguments);
    for (const EntryArgument& a : arguments) {
      about += comment(fmt::format("{}: {} bytes{}", a.name, a.bytes, a.written ? ", written" : ""), "   ");
      passed += a.name + ", ";
    }
    std::string scratch, give_back;
    const std::string body = launched(nodes, name);
    for (const std::size_t b : scratch_of(launched_body_, program_, file_)) {
      const Buffer& buffer = program_.buffers[b];
      scratch += fmt::format(
          "  {0}* {1} = nullptr;\n  if (const cudaError_t e = cudaMallocAsync(reinterpret_cast<void**>(&{1}), {2}, "
          "stream); e != cudaSuccess) return e;\n",
          element_type(file_.model, buffer.dtype), buffers_[b], scratch_bytes(buffer));
      give_back += fmt::format("  cudaFreeAsync({}, stream);\n", buffers_[b]);
    }
    const std::string parameters = list.substr(0, list.size() - std::min<std::size_t>(2, list.size()));
    return about +
           fmt::format(
               "extern \"C\" cudaError_t {}({}cudaStream_t stream) {{\n{}{}{}{}  return cudaGetLastError();\n}}\n",
               name, list, objects_.text(), scratch, body, give_back) +
           fmt::format("#if !defined(__CUDACC__)\nextern \"C\" void {0}_emulated({1}) {{ {0}({2}nullptr); }}\n#endif\n",
                       name, parameters, passed);
  }

  /// The statements of the entry `name`; its kernels are added to the file.
  std::string launched(const std::vector<Node>& nodes, const std::string& name) {
    objects_.clear();
    launched_ = 0;
    std::vector<const HostLoop*> around;
    std::string body;
    StitchedNests nests = {nodes, {}, {}};
    if (tiles_ == nullptr) {  // otherwise strides and trips are samples
      nests = stitched(nodes, program_, file_.model, file_.grid);
      stage_rows(nests, program_, file_.model, file_.grid);
    }
    begun_ = std::move(nests.begun);
    launched_body_ = std::move(nests.body);
    name_buffers();
    steps(launches(launched_body_, program_, file_.model, file_.grid), name, around, body);
    file_.has_objects |= !objects_.empty();
    return body;
  }

  void steps(const std::vector<HostStep>& list, const std::string& entry_name, std::vector<const HostLoop*>& around,
             std::string& out) {
    const std::string indent(2 * around.size() + 2, ' ');
    for (std::size_t s = 0; s < list.size(); ++s)
      std::visit(overloaded{[&](const Comment& c) { out += indent + comment(c.text, " "); },
                            [&](const HostLoop& loop) {
                              out += fmt::format("{0}for (long {1} = 0; {1} < {2}; ++{1}) {{\n", indent,
                                                 host_variable(loop.variable), loop.trip);
                              around.push_back(&loop);
                              steps(loop.body, entry_name, around, out);
                              around.pop_back();
                              out += indent + "}\n";
                            },
                            [&](const Launch& launch) {
                              std::int64_t times = 1;
                              for (const HostLoop* loop : around) times *= loop->trip;
                              launched_ += times;
                              std::string comments;
                              const std::vector<Node> nodes = with_independent(launch, list, s, indent, comments);
                              out += comments + indent + kernel(nodes, entry_name, around) + "\n";
                            }},
                 list[s].is);
  }

  /// Over blocks and threads.
  std::vector<Node> distributed(const Launch& launch) {
    if (ahead_.first == &launch) return std::exchange(ahead_, {}).second;
    std::vector<Node> nodes = distribute_loops(launch.nodes, program_, file_.model, file_.grid);
    store_begun_sums(nodes, launch.nodes, begun_);
    return nodes;
  }

  /// The nodes of `launch`, step `at` of the list, and of those that follow and need nothing of it; `at` is the last of
  /// them then.
  std::vector<Node> with_independent(const Launch& launch, const std::vector<HostStep>& list, std::size_t& at,
                                     const std::string& indent, std::string& comments) {
    std::vector<std::vector<Node>> together = {distributed(launch)};
    std::vector<Node> nodes = together[0];
    std::string skipped;
    for (std::size_t next = at + 1; tiles_ == nullptr && next < list.size(); ++next) {
      if (const auto* c = std::get_if<Comment>(&list[next].is)) {
        skipped += indent + comment(c->text, " ");
        continue;
      }
      const auto* other = std::get_if<Launch>(&list[next].is);
      if (other == nullptr) break;
      together.push_back(distributed(*other));
      std::vector<Node> all = side_by_side(together, program_, file_.model, file_.grid);
      if (all.empty()) {
        ahead_ = {other, std::move(together.back())};
        break;
      }
      nodes = std::move(all);
      comments += std::exchange(skipped, "");
      at = next;
    }
    return nodes;
  }

  /// Adds the kernel; returns the text of its launch.
  std::string kernel(const std::vector<Node>& nodes, const std::string& entry,
                     const std::vector<const HostLoop*>& around) {
    name_buffers();
    const std::string name = file_.names.unique(entry + "_" + std::to_string(++kernel_count_));
    return print_kernel(nodes, name, {program_, file_, buffers_, around, objects_, tiles_}, diagnostics_);
  }

  /// Of those that have none yet: each kernel adds registers for its partial sums.
  void name_buffers() {
    for (std::size_t b = buffers_.size(); b < program_.buffers.size(); ++b) {
      const Buffer& buffer = program_.buffers[b];
      buffers_.push_back(buffer.slots < 0 ? file_.names.unique(buffer.name) : buffer.name);
    }
  }

  const TileNumbers* tiles_;
  Program program_;  ///< gets registers for partial sums
  DeviceFile& file_;
  std::string name_;
  std::vector<std::string> buffers_;  ///< names
  int kernel_count_ = 0;
  BegunSums begun_;                                    ///< as in StitchedNests
  std::vector<Node> launched_body_;                    ///< of the current entry, in its launches
  std::int64_t launched_ = 0;                          ///< by the current entry
  std::pair<const Launch*, std::vector<Node>> ahead_;  ///< the next launch, distributed
  HostObjects objects_;                                ///< of the current entry
  Diagnostics diagnostics_;
};

}  // namespace

Result<ProgramEntries> program_entries(const Program& program, DeviceFile& file, const std::string& name) {
  return EntryPrinter(program, file, name).entries();
}

Result<ProgramEntries> tile_entry(const Program& program, const TileNumbers& tiles, DeviceFile& file,
                                  const std::string& name) {
  return EntryPrinter(program, file, name, &tiles).with_tiles();
}

Result<ProgramEntries> part_entry(const Program& program, DeviceFile& file, const std::string& name) {
  return EntryPrinter(program, file, name).part();
}

}  // namespace isamap
