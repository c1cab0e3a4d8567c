// SPDX-License-Identifier: Apache-2.0
#include "scheduler/fuse_consumers.h"

#include <algorithm>
#include <map>

#include "ir/text/access_name.h"
#include "scheduler/nest/fused_tiles.h"
#include "scheduler/nest/matched_dims.h"
#include "scheduler/nest/resolved_nest.h"

namespace isamap {
namespace {

/// Builds the consumer's nest for one tile of the producer.
class ConsumerNest {
 public:
  ConsumerNest(const Kernel& kernel, const HardwareModel& model, const Mapping& mapping)
      : kernel_(kernel),
        model_(model),
        mapping_(mapping),
        form_(instruction_form(mapping, model)),
        statement_(fuse(kernel.statements[mapping.statement.index()], mapping)) {}

  const Computation& statement() const { return statement_; }

  /// The memory that the instruction takes an access from, or leaves it in; invalid: none.
  MemoryId memory_of(int access) const {
    const int operand = instruction_access(mapping_, access);
    return operand < 0 ? MemoryId{} : form_->operands[operand_of_access(*form_, operand).index()].memory;
  }

  /// `above`: the loops around the tile; `whole`: results of the tile together, else those of each call.
  Nest nest(std::vector<Line> above, const Stage& consumed, bool whole) const {
    Nest made{std::move(above)};
    std::map<std::string, std::int64_t> tile;
    for (const Dim& dim : statement_.domain.dims) tile[dim.name] = dim.extent;
    for (const Line& line : made.lines)
      for (const TiledLoop& loop : std::get<For>(line.is).loops) tile[loop.dim] = std::min(tile[loop.dim], loop.tile);
    made.lines.push_back(Line{consumed});
    if (whole) add_stage(made, 0);
    std::map<std::string, std::int64_t> block;
    for (std::size_t m = 0; m < mapping_.dims.size(); ++m)
      if (!mapping_.dims[m].empty()) block[fused_name(mapping_.dims[m])] = full_extent(*form_, m);
    for (const Dim& dim : statement_.domain.dims) {
      const auto found = block.find(dim.name);
      const std::int64_t by = found == block.end() ? 1 : found->second;
      if (tile[dim.name] <= by) continue;
      For loop;
      loop.loops = {{dim.name, by}};
      loop.unroll = model_.memory(*model_.find_memory(consumed.memory)).is_register();
      made.lines.push_back(Line{loop});
    }
    for (int access = 1; access < access_count(statement_); ++access)
      if (name_of(access) != consumed.tensor) add_stage(made, access);
    if (!whole) add_stage(made, 0);
    made.lines.push_back(Line{do_line(mapping_, kernel_, model_)});
    return made;
  }

 private:
  std::string name_of(int access) const { return access_name(kernel_.tensors, statement_, access); }

  void add_stage(Nest& nest, int access) const {
    const MemoryId memory = memory_of(access);
    if (!memory.valid() || memory == model_.home()) return;
    Stage stage;
    stage.tensor = name_of(access);
    stage.memory = model_.memory(memory).name;
    nest.lines.push_back(Line{stage});
  }

  const Kernel& kernel_;
  const HardwareModel& model_;
  const Mapping& mapping_;
  const InstructionForm form_;
  const Computation statement_;
};

/// The producer's loops above a line, in dims of the consumer; nothing: a read of the tensor is not the write.
std::optional<std::vector<Line>> loops_around(const Nest& nest, std::size_t line, const Access& write,
                                              const Computation& consumer) {
  std::map<std::string, std::string> names;
  for (const Access& read : consumer.reads) {
    if (read.tensor != write.tensor) continue;
    const auto matched = matched_dims(write, read);
    if (!matched) return std::nullopt;
    for (const auto& [own, theirs] : *matched)
      if (const auto dim = theirs.as_dim()) names[own] = *dim;
  }
  std::vector<Line> lines;
  for (std::size_t l = 0; l < line; ++l) {
    const auto* loop = std::get_if<For>(&nest.lines[l].is);
    if (loop == nullptr) continue;
    For own = *loop;
    own.loops.clear();
    for (const TiledLoop& w : loop->loops)
      if (const auto found = names.find(w.dim); found != names.end()) own.loops.push_back({found->second, w.tile});
    if (!own.loops.empty()) lines.push_back(Line{own});
  }
  return lines;
}

bool is_stage_of(const Line& line, const std::string& tensor) {
  const auto* stage = std::get_if<Stage>(&line.is);
  return stage != nullptr && stage->tensor == tensor;
}

/// The outermost stage of the tensor in an addressed memory inside of the accelerator.
std::optional<Stage> scratchpad_stage(const Nest& nest, const std::string& tensor, const HardwareModel& model) {
  for (const Line& line : nest.lines) {
    if (!is_stage_of(line, tensor)) continue;
    const auto memory = model.find_memory(std::get<Stage>(line.is).memory);
    if (memory && *memory != model.home() && !model.memory(*memory).is_register()) return std::get<Stage>(line.is);
  }
  return std::nullopt;
}

/// The nest with this stage above its loops, in place of those of the tensor in its memory or further out; nothing: the
/// nest runs inside of another one's loops.
/// `written`: the output of the nest.
std::optional<Nest> with_stage_on_top(const Nest& nest, Stage stage, const std::string& written,
                                      const HardwareModel& model) {
  Nest made;
  bool loops = false;
  std::size_t top = 0;
  stage.buffers = 1;
  stage.ahead = 0;
  for (const Line& line : nest.lines) {
    const auto* own = std::get_if<Stage>(&line.is);
    loops = loops || std::holds_alternative<For>(line.is);
    if (own != nullptr && own->tensor == stage.tensor &&
        (own->memory == stage.memory || model.find_memory(own->memory) == std::optional(model.home())))
      continue;
    made.lines.push_back(line);
    if (own == nullptr || own->from.empty() || own->tensor == written) continue;
    if (loops) return std::nullopt;
    top = made.lines.size();
  }
  made.lines.insert(made.lines.begin() + static_cast<std::ptrdiff_t>(top), Line{stage});
  return made;
}

/// The nest whose tiles of the tensor in this memory are kept, and are not stored from there.
Nest with_kept_tiles(const Nest& nest, const Stage& kept, const HardwareModel& model) {
  Nest made;
  bool inside = false;
  for (const Line& line : nest.lines) {
    Line own = line;
    if (is_stage_of(line, kept.tensor)) {
      auto& stage = std::get<Stage>(own.is);
      if (model.find_memory(stage.memory) == std::optional(model.home())) continue;
      if (!inside && stage.memory == kept.memory) {
        stage.then = kept.then;
        stage.layout.clear();
        stage.buffers = 1;
        stage.ahead = 0;
        inside = true;
      }
    }
    made.lines.push_back(std::move(own));
  }
  return made;
}

/// Removes the stages of the tensor above a line: nothing reaches them.
Nest without_outer_stages(Nest nest, std::size_t line, const std::string& tensor) {
  for (std::size_t l = line; l-- > 0;)
    if (const auto* stage = std::get_if<Stage>(&nest.lines[l].is);
        stage != nullptr && stage->tensor == tensor && stage->from.empty() && stage->then.empty())
      nest.lines.erase(nest.lines.begin() + static_cast<std::ptrdiff_t>(l));
  return nest;
}

}  // namespace

std::vector<ConsumedTile> consumed_tiles(const Kernel& kernel, const HardwareModel& model, StatementId producer,
                                         const Nest& nest, const Mapping& mapping) {
  std::vector<ConsumedTile> made;
  const ConsumerNest consumer(kernel, model, mapping);
  const auto resolved = resolve(nest, kernel, producer, model);
  if (!resolved) return made;
  const std::string& tensor = kernel.tensors[resolved->statement.write.tensor.index()].name;
  for (std::size_t l = nest.lines.size(); l-- > 0;) {
    const auto* stage = std::get_if<Stage>(&nest.lines[l].is);
    if (stage == nullptr || stage->tensor != tensor) continue;
    const auto above = loops_around(nest, l, resolved->statement.write, consumer.statement());
    if (!above) continue;
    for (int access = 1; access < access_count(consumer.statement()); ++access) {
      if (consumer.statement().reads[static_cast<std::size_t>(access) - 1].tensor != resolved->statement.write.tensor ||
          model.find_memory(stage->memory) != std::optional(consumer.memory_of(access)))
        continue;
      Stage consumed;
      consumed.tensor = tensor;
      consumed.memory = stage->memory;
      consumed.from = resolved->statement.name;
      Nest with = nest;
      std::get<Stage>(with.lines[l].is).then.push_back(consumer.statement().name);
      with = without_outer_stages(std::move(with), l, tensor);
      for (const bool whole : {true, false}) made.push_back({with, consumer.nest(*above, consumed, whole)});
      break;
    }
  }
  return made;
}

std::vector<ConsumedTile> kept_tensor(const Kernel& kernel, const HardwareModel& model, StatementId producer,
                                      StatementId consumer, const Schedule& schedule) {
  const Computation& writer = kernel.statements[producer.index()];
  const Nest &own = schedule.nests[producer.index()], &theirs = schedule.nests[consumer.index()];
  const std::string& tensor = kernel.tensors[writer.write.tensor.index()].name;
  auto made = scratchpad_stage(own, tensor, model), read = scratchpad_stage(theirs, tensor, model);
  std::vector<ConsumedTile> found;
  if (!made || !read || made->memory != read->memory || !read->from.empty()) return found;
  made->then.push_back(kernel.statements[consumer.index()].name);
  Stage taken;
  taken.tensor = tensor;
  taken.memory = read->memory;
  taken.layout = read->layout;
  taken.from = writer.name;
  const Computation& reader = kernel.statements[consumer.index()];
  const std::string& result = kernel.tensors[reader.write.tensor.index()].name;
  const auto second = with_stage_on_top(theirs, taken, result, model);
  if (!second) return found;
  found.push_back({with_kept_tiles(own, *made, model), *second});
  if (auto first = with_stage_on_top(own, *made, tensor, model)) found.push_back({std::move(*first), *second});
  return found;
}

std::optional<Nest> begun_with(const Nest& nest, const std::string& output, const std::string& copy,
                               const HardwareModel& model) {
  Nest made = nest;
  for (Line& line : made.lines) {
    auto* stage = std::get_if<Stage>(&line.is);
    if (stage == nullptr || stage->tensor != output) continue;
    if (model.find_memory(stage->memory) == std::optional(model.home())) return std::nullopt;
    stage->from = copy;
    stage->first = First::fill;
    return made;
  }
  return std::nullopt;
}

}  // namespace isamap
