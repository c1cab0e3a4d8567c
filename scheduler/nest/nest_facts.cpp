// SPDX-License-Identifier: Apache-2.0
#include "scheduler/nest/nest_facts.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/begun_sums.h"
#include "ir/text/access_name.h"
#include "isamap/cost_model.h"
#include "mapper/match/instruction_tree.h"
#include "scheduler/nest/default_layout.h"
#include "scheduler/nest/in_bounds_fraction.h"
#include "scheduler/nest/out_of_bounds.h"
#include "scheduler/nest/resolved_nest.h"
#include "scheduler/nest/staged_tile.h"
#include "support/yaml.h"

namespace isamap {
namespace {

constexpr std::size_t most_stages = 4096;  ///< kept; beyond it all are found again

// `do` lines.

/// Subscripts that differ by a constant are one coordinate: A[i,i], and A[i,i+1], have the footprint of A[i].
bool has_axis_of(const std::vector<FootprintAxis>& axes, const AffineExpr& e) {
  return std::any_of(axes.begin(), axes.end(),
                     [&](const FootprintAxis& axis) { return axis.expr - axis.expr.constant() == e - e.constant(); });
}

FootprintGroup group_of(const AffineExpr& e, const IterationDomain& domain) {
  FootprintGroup group;
  FootprintAxis axis;
  axis.linear = group.linear = e.is_linear();
  if (!axis.linear) axis.widths = std::make_shared<KnownWidths>();
  axis.expr = e;
  for (const std::string& name : e.names()) {
    const int d = domain.find(name);
    if (d < 0) continue;
    group.dims.push_back(d);
    axis.terms.push_back({d, 0, std::abs(e.coefficient(name))});
  }
  group.axes.push_back(std::move(axis));
  return group;
}

bool shares_dims(const FootprintGroup& a, const FootprintGroup& b) {
  return std::any_of(a.dims.begin(), a.dims.end(),
                     [&](int d) { return std::find(b.dims.begin(), b.dims.end(), d) != b.dims.end(); });
}

void merge(FootprintGroup& into, const FootprintGroup& other) {
  for (const int d : other.dims)
    if (std::find(into.dims.begin(), into.dims.end(), d) == into.dims.end()) into.dims.push_back(d);
  for (const FootprintAxis& axis : other.axes)
    if (!has_axis_of(into.axes, axis.expr)) into.axes.push_back(axis);
  into.linear = into.linear && other.linear;
}

std::vector<FootprintGroup> groups_of(const Access& access, const IterationDomain& domain) {
  std::vector<FootprintGroup> groups;
  for (const AffineExpr& e : access.index) {
    FootprintGroup merged = group_of(e, domain);
    std::vector<FootprintGroup> separate;
    for (FootprintGroup& group : groups)
      if (shares_dims(group, merged))
        merge(merged, group);
      else
        separate.push_back(std::move(group));
    if (!merged.dims.empty()) separate.push_back(std::move(merged));
    groups = std::move(separate);
  }
  for (FootprintGroup& group : groups) {
    std::size_t terms = 0;
    for (FootprintAxis& axis : group.axes) {
      terms += axis.terms.size();
      for (FootprintAxis::Term& term : axis.terms) {
        group.strided = group.strided || std::abs(term.coefficient) > 1;
        term.position =
            static_cast<std::size_t>(std::find(group.dims.begin(), group.dims.end(), term.dim) - group.dims.begin());
      }
    }
    group.share_dims = group.axes.size() > 1 && terms > group.dims.size();
    group.plain = group.linear && group.axes.size() == 1 && terms == 1 && group.axes[0].terms[0].coefficient == 1;
  }
  return groups;
}

AccessFacts access_facts(const NestFacts& facts, int number) {
  const Access& access = access_of(facts.statement, number);
  AccessFacts found;
  found.name = access_name(facts.kernel->tensors, facts.statement, number);
  found.groups = groups_of(access, facts.statement.domain);
  found.operand = instruction_access(facts.mapping, number);
  const DType dtype = facts.kernel->tensors[access.tensor.index()].dtype;
  found.element_bytes = bytes(dtype);
  found.memory = memory_axes(access, facts.kernel->tensors[access.tensor.index()], facts.statement.domain);
  if (facts.instruction && found.operand >= 0)
    found.operand_memory =
        facts.instruction->operands[operand_of_access(*facts.instruction, found.operand).index()].memory;
  if (found.operand_memory.valid() && facts.model->memory(found.operand_memory).is_register())
    found.registers = registers_of(*facts.instruction, found.operand, dtype, facts.model->memory(found.operand_memory));
  for (std::size_t d = 0; d < facts.statement.domain.dims.size(); ++d) {
    found.uses.push_back(isamap::uses(access, facts.statement.domain.dims[d].name));
    const int m = facts.instruction_dim[d];
    const bool free =
        m >= 0 && found.operand >= 0 && any_stride(*facts.instruction, found.operand, static_cast<std::size_t>(m));
    found.padding.push_back(free ? 1 : facts.block[d]);
  }
  return found;
}

/// The other facts, from statement, mapping and instruction.
std::shared_ptr<const NestFacts> completed(NestFacts facts) {
  const std::size_t dims = facts.statement.domain.dims.size();
  facts.block.assign(dims, 1);
  facts.instruction_dim.assign(dims, -1);
  facts.statement_dim.assign(facts.mapping.dims.size(), -1);
  for (std::size_t m = 0; m < facts.mapping.dims.size(); ++m) {
    if (facts.mapping.dims[m].empty()) continue;
    const int d = facts.statement.domain.find(fused_name(facts.mapping.dims[m]));
    if (d < 0) continue;
    facts.statement_dim[m] = d;
    facts.block[static_cast<std::size_t>(d)] = facts.instruction->ranges[m].max;
    facts.instruction_dim[static_cast<std::size_t>(d)] = static_cast<int>(m);
  }
  facts.accesses.clear();
  for (int a = 0; a < access_count(facts.statement); ++a) facts.accesses.push_back(access_facts(facts, a));
  facts.registers_beside_operands = registers_beside_operands(facts.mapping.tree, *facts.model);
  return std::make_shared<const NestFacts>(std::move(facts));
}

const Do* last_line(const Nest& nest) { return nest.lines.empty() ? nullptr : std::get_if<Do>(&nest.lines.back().is); }

// `stage` lines.

class StageCheck {
 public:
  StageCheck(const NestFacts& nest, StageFacts& facts) : nest_(nest), facts_(facts), model_(*nest.model) {}

  void run() {
    const Stage& s = facts_.stage;
    const auto memory = model_.find_memory(s.memory);
    if (!memory) {
      std::vector<std::string> known;
      for (const Memory& m : model_.memories()) known.push_back(m.name);
      return problem("no memory '" + s.memory + "' in " + model_.name, yaml::did_you_mean(s.memory, known));
    }
    facts_.memory = *memory;
    accesses();
    moves();
    layout();
    if (s.buffers < 1) problem(fmt::format("x{}: at least one buffer", s.buffers));
    if (const auto lacks = missing_buffers(s, model_.memory(*memory))) problem(lacks->message, lacks->hint);
    if (facts_.stage.layout.empty())
      for (const std::vector<SplitDigit>& digits : facts_.default_digits) sort_by_dim(digits);
    else
      sort_by_dim(facts_.digits);
    initial_value();
    facts_.clears = clears();
    if (!s.from.empty() && s.tensor == nest_.kernel->tensors[nest_.statement.write.tensor.index()].name) begins();
    if (s.ahead_of_time) ahead_of_time();
  }

 private:
  void problem(const std::string& message, const std::string& hint = "") {
    facts_.problems.push_back(error(message, hint));
  }

  void accesses() {
    std::vector<std::string> known;
    for (int a = 0; a < access_count(nest_.statement); ++a) {
      const std::string& name = nest_.accesses[static_cast<std::size_t>(a)].name;
      if (std::find(known.begin(), known.end(), name) == known.end()) known.push_back(name);
      if (holds(facts_.stage, nest_.kernel->tensors, nest_.statement, a)) facts_.accesses.push_back(a);
    }
    if (facts_.accesses.empty())
      problem("no tensor '" + facts_.stage.tensor + "' in " + nest_.statement.name,
              yaml::did_you_mean(facts_.stage.tensor, known));
  }

  bool clears() const {
    const Computation& sum = nest_.statement;
    if (sum.reduction == Reduction::assign || facts_.stage.first == First::flag) return true;
    const DType type = nest_.kernel->tensors[sum.write.tensor.index()].dtype;
    const double begin = as_double(type, identity(sum.reduction, type));
    const auto sets = [&](const Instruction& i) {
      return i.operands[0].memory == facts_.memory && fill_value(i) == begin;
    };
    const std::vector<Instruction>& all = model_.instructions();
    return std::any_of(all.begin(), all.end(), [&](const Instruction& i) { return !i.operands.empty() && sets(i); }) ||
           (!model_.memory(facts_.memory).is_register() && model_.scalar_unit_for(facts_.memory));
  }

  void moves() {
    if (facts_.stage.via.empty()) return;
    std::vector<std::string> known;
    for (const Instruction& i : model_.instructions())
      if (is_move(i)) known.push_back(i.name);
    for (const std::string& name : facts_.stage.via)
      if (std::find(known.begin(), known.end(), name) == known.end())
        problem("no move '" + name + "' in " + model_.name, yaml::did_you_mean(name, known));
  }

  void layout() {
    if (facts_.stage.layout.empty()) return defaults();
    if (model_.memory(facts_.memory).is_register())
      problem("in registers the instruction determines the layout", "leave 'as' out");
    for (const LayoutDigit& digit : facts_.stage.layout) {
      const auto name = digit.index.as_dim();
      const int d = name && name->front() == '$' && nest_.instruction
                        ? nest_.instruction->statement().domain.find(name->substr(1))
                        : -1;
      if (d >= 0) facts_.copies *= static_cast<double>(nest_.instruction->ranges[static_cast<std::size_t>(d)].max);
    }
    split(facts_.stage.layout);
    for (auto split : facts_.splits.front()) {
      const auto name = split ? split->form.as_dim() : std::nullopt;
      facts_.of_dims = facts_.of_dims && split && !(name && name->front() == '$');
      if (!split) return facts_.digits.clear();
      facts_.terms.push_back(axis_terms(split->form, nest_.statement.domain));
      facts_.digits.push_back(std::move(*split));
    }
  }

  void defaults() {
    if (model_.memory(facts_.memory).is_register()) return;
    const Pairing pairing = pair(nest_.statement, nest_.instruction, nest_.mapping);
    for (const int access : facts_.accesses) {
      facts_.defaults.push_back(default_layout(pairing, access, facts_.memory, model_));
      split(facts_.defaults.back());
      std::vector<SplitDigit>& digits = facts_.default_digits.emplace_back();
      for (const auto& split : facts_.splits.back())
        if (split) digits.push_back(*split);
    }
  }

  void split(const std::vector<LayoutDigit>& layout) {
    auto& splits = facts_.splits.emplace_back();
    for (const LayoutDigit& digit : layout) splits.push_back(split_digit(digit.index));
  }

  void sort_by_dim(const std::vector<SplitDigit>& digits) {
    DigitsByDim& sorted = facts_.by_dim.emplace_back();
    if (digits.empty()) return;
    sorted.resize(nest_.statement.domain.dims.size());
    for (const SplitDigit& digit : digits)
      if (const auto name = digit.form.as_dim())
        if (const int d = nest_.statement.domain.find(*name); d >= 0)
          sorted[static_cast<std::size_t>(d)].push_back(&digit);
  }

  void initial_value() {
    const Stage& s = facts_.stage;
    const std::string& written = nest_.kernel->tensors[nest_.statement.write.tensor.index()].name;
    if (!facts_.accesses.empty() && s.first != First::fill && s.tensor != written)
      problem("'first' sets the initial value of an accumulator; " + s.tensor + " is only read", "leave it out");
    else if (s.first == First::load && !inout(s.tensor))
      problem("first load: " + s.tensor + " is not inout, so memory has no initial value",
              "leave it out, or write inout: true at the tensor");
    else if (s.first == First::flag && !(nest_.instruction && can_start_at_zero(*nest_.instruction)))
      problem(fmt::format("first flag: {} always accumulates, and {} is undefined at the first call",
                          nest_.instruction ? nest_.instruction->name : "the scalar unit", s.tensor),
              nest_.instruction ? "leave it out: the tile is cleared first; or describe the choice at the instruction, "
                                  "start: {OPERAND: [zero, keep]}"
                                : "leave it out: the tile is cleared first");
  }

  /// `from bias` of the output: the values of the copy are loaded, so the first call must not overwrite them.
  void begins() {
    const Stage& s = facts_.stage;
    const Kernel& kernel = *nest_.kernel;
    const auto copy = begun_by(kernel, nest_.id.index());
    if (!copy || kernel.statements[*copy].name != s.from)
      problem(fmt::format("from {}: {} is written here, and {} is no copy to all of it that {} adds to", s.from,
                          s.tensor, s.from, nest_.statement.name),
              copy ? fmt::format("its sums begin with {}", kernel.statements[*copy].name)
                   : "write it at a tensor that is read");
    else if (s.first != First::fill)
      problem(fmt::format("from {}: the sums begin with its values, and `first` says otherwise", s.from),
              "leave out `first`");
  }

  bool inout(const std::string& tensor) const {
    return std::any_of(nest_.kernel->tensors.begin(), nest_.kernel->tensors.end(),
                       [&](const Tensor& t) { return t.name == tensor && t.inout; });
  }

  void ahead_of_time() {
    const Stage& s = facts_.stage;
    if (const auto by = written_by())
      problem("aot: " + s.tensor + " is computed by " + *by + "; only inputs can be packed before the program runs",
              "leave it out: the copy is made at every call");
    if (!model_.versions().empty())
      problem("aot: the packed layout may differ between the versions for other sizes of " + model_.name,
              "leave it out: the copy is made at every call");
    if (facts_.memory != model_.home())
      problem("aot: tiles packed before the program runs must be in " + model_.memory(model_.home()).name,
              "put a second stage below it for " + s.memory);
  }

  /// The statement that writes the tensor of the stage; nothing: it is an input.
  std::optional<std::string> written_by() const {
    for (const int a : facts_.accesses)
      for (const Computation& c : nest_.kernel->statements)
        if (c.write.tensor == access_of(nest_.statement, a).tensor) return c.name;
    return std::nullopt;
  }

  const NestFacts& nest_;
  StageFacts& facts_;
  const HardwareModel& model_;
};

std::size_t hash_of(const AffineExpr& e) {
  auto hash = static_cast<std::size_t>(e.constant());
  for (const AffineTerm& term : e.terms()) {
    const FloorDiv* part = division(term);
    hash = hash * 31 + static_cast<std::size_t>(term.coefficient);
    hash = hash * 31 + (part ? static_cast<std::size_t>(part->divisor) : std::get<std::string>(term.atom).size());
  }
  return hash;
}

/// Equal stages have equal hashes; those of a search differ mostly in what is mixed here.
std::size_t hash_of(const Stage& s) {
  std::size_t hash = std::hash<std::string>()(s.tensor) * 31 + std::hash<std::string>()(s.memory);
  hash = (hash * 31 + static_cast<std::size_t>(s.buffers)) * 31 + static_cast<std::size_t>(s.ahead);
  for (const LayoutDigit& digit : s.layout) hash = hash * 31 + hash_of(digit.index);
  return hash;
}

}  // namespace

Result<std::shared_ptr<const NestFacts>> StatementFacts::of_do(const Nest& nest) {
  const Do& line = *last_line(nest);
  auto known = std::find_if(dos_.begin(), dos_.end(), [&](const auto& one) { return one->line == line; });
  if (known == dos_.end()) {
    NestFacts facts;
    facts.kernel = kernel_;
    facts.model = model_;
    facts.id = statement_;
    const Computation& original = kernel_->statements[statement_.index()];
    if (line.instruction.empty() && !line.outside.empty())
      facts.problems.push_back(
          error("outside " + line.outside.front().first + ": scalar code computes with what the tensor yields there",
                "leave it out"));
    for (const auto& [tensor, how] : line.outside)
      if (auto no = outside_problem(*kernel_, original, tensor)) facts.problems.push_back(std::move(*no));
    facts.in_bounds = in_bounds_fraction(nest, *kernel_, original);
    auto mapping = mapping_of(line, *kernel_, statement_, *model_);
    if (!mapping) return facts.problems.push_back(mapping.diagnostics().front()), facts.problems;
    facts.mapping = std::move(*mapping);
    facts.statement = fuse(original, facts.mapping);
    if (facts.mapping.instruction.valid()) facts.instruction = instruction_form(facts.mapping, *model_);
    dos_.push_back(std::make_unique<KnownDo>(KnownDo{line, completed(std::move(facts)), {}}));
    known = dos_.end() - 1;
  }
  std::rotate(dos_.begin(), known, known + 1);
  const NestFacts& facts = *dos_.front()->facts;
  const auto extents = compile_time_extents(nest, facts.instruction, facts.mapping, facts.statement);
  if (extents.empty()) return dos_.front()->facts;
  auto& forms = dos_.front()->forms;
  auto form = std::find_if(forms.begin(), forms.end(), [&](const auto& one) { return one.first == extents; });
  if (form == forms.end()) {
    NestFacts fixed = facts;
    fixed.instruction = with_extents(fixed.instruction, extents);
    fixed.calls = nullptr;
    form = forms.insert(forms.end(), {extents, completed(std::move(fixed))});
  }
  return form->second;
}

const std::shared_ptr<const StageFacts>& StatementFacts::of_stage(const std::shared_ptr<const NestFacts>& facts,
                                                                  const Stage& stage) {
  const std::size_t hash = hash_of(stage) * 31 + std::hash<const NestFacts*>()(facts.get());
  if (const auto alike = stages_.find(hash); alike != stages_.end())
    for (const auto& [nest, known] : alike->second)
      if (nest == facts && known->stage == stage) return known;
  if (stages_.size() >= most_stages) stages_.clear();
  StageFacts found;
  found.stage = stage;
  found.number = ++numbered_;
  StageCheck(*facts, found).run();
  return stages_[hash].emplace_back(facts, std::make_shared<const StageFacts>(std::move(found))).second;
}

std::shared_ptr<StatementFacts> statement_facts(const Kernel& kernel, StatementId statement,
                                                const HardwareModel& model) {
  return std::make_shared<StatementFacts>(kernel, statement, model);
}

const std::vector<LayoutDigit>* StageFacts::layout_of(int access) const {
  if (!stage.layout.empty()) return &stage.layout;
  const auto at = static_cast<std::size_t>(std::find(accesses.begin(), accesses.end(), access) - accesses.begin());
  return at < defaults.size() ? &defaults[at] : nullptr;
}

const DigitsByDim* StageFacts::by_dim_of(int access) const {
  const auto own = std::find(accesses.begin(), accesses.end(), access) - accesses.begin();
  const auto at = stage.layout.empty() ? static_cast<std::size_t>(own) : 0;
  return at < by_dim.size() && !by_dim[at].empty() ? &by_dim[at] : nullptr;
}

std::span<const std::optional<SplitDigit>> StageFacts::splits_of(int access) const {
  const auto own = std::find(accesses.begin(), accesses.end(), access) - accesses.begin();
  const auto at = stage.layout.empty() ? static_cast<std::size_t>(own) : 0;
  if (at >= splits.size()) return {};
  return splits[at];
}

std::optional<Diagnostic> missing_buffers(const Stage& stage, const Memory& memory) {
  if (stage.ahead < 1 || stage.ahead < stage.buffers || memory.kind == MemoryKind::cache) return std::nullopt;
  return error(fmt::format("ahead {} needs {} buffers: the tile in use has one too", stage.ahead, stage.ahead + 1),
               fmt::format("write x{} ahead {}; only caches need no buffers", stage.ahead + 1, stage.ahead));
}

}  // namespace isamap
