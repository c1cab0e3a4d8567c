// Lines become nodes from the outside in. At each line it is known which tile of every dim is in work (`tiles`) and where
// every operand is found (`holders`). A walk whose tile does not divide lowers the lines below it twice: for the whole
// tiles and for the last one; so sizes are constants everywhere.

#include "scheduler/lower_nest.h"

#include <fmt/format.h>

#include <algorithm>

#include "scheduler/operand_check.h"
#include "support/arithmetic.h"
#include "support/overloaded.h"

namespace isamap {

namespace {

using Nodes = std::vector<Node>;

struct Scope {
  Tiles tiles;
  std::vector<TileBuffer> holders;     // by access number
  std::optional<Tiles> flagged_since;  // `first flag`: the tiles at the accumulator's stage
};

void append(Nodes& to, Nodes from) { to.insert(to.end(), from.begin(), from.end()); }

class NestLowering {
 public:
  NestLowering(Lowering& lowering, const NestInput& input)
      : lowering_(lowering), input_(input), kernel_(*input.kernel), statement_(*input.pairing.statement),
        instruction_(input.pairing.instruction) {}

  Result<Nodes> run() {
    Scope scope;
    for (const Dim& dim : statement_.domain.dims) scope.tiles[dim.name] = {AffineExpr(0), dim.extent};
    for (int a = 0; a < access_count(statement_); ++a) {
      const Access& access = access_of(statement_, a);
      TileBuffer whole = input_.tensors[access.tensor.index()];
      whole.axes = access.index;
      scope.holders.push_back(whole);
    }
    Nodes nodes;
    if (needs_start(0) && input_.only_access < 0) {
      if (!input_.starts_from_memory) {
        auto start = set_tensor(lowering_, scope.holders[0], identity());
        if (!start) return start;
        nodes = std::move(*start);
      }
    }
    if (std::any_of(statement_.domain.dims.begin(), statement_.domain.dims.end(),
                    [](const Dim& d) { return d.extent == 0; }))
      return empty_result(std::move(nodes), scope);
    auto body = lines(0, scope);
    if (!body) return body;
    append(nodes, std::move(*body));
    return nodes;
  }

 private:
  Scalar identity() const { return isamap::identity(statement_.reduction, output().dtype); }
  const Tensor& output() const { return kernel_.tensors[statement_.write.tensor.index()]; }
  bool is_reduction(const std::string& dim) const {
    const int at = statement_.domain.find(dim);
    return at >= 0 && statement_.domain.dims[static_cast<std::size_t>(at)].kind == DimKind::reduction;
  }

  // Nothing to compute: the output, if it has elements, is the identity.
  Result<Nodes> empty_result(Nodes nodes, const Scope& scope) {
    if (!nodes.empty() || input_.starts_from_memory || element_count(output()) == 0) return nodes;
    return set_tensor(lowering_, scope.holders[0], identity());
  }

  // Must whatever holds the output before line `at` hold a start value? Not if a stage further in takes over before any
  // reduction is walked, and not for plain assignments.
  bool needs_start(std::size_t at) const {
    if (statement_.reduction == Reduction::assign) return false;
    for (; at < input_.nest->lines.size(); ++at) {
      if (const auto* f = std::get_if<For>(&input_.nest->lines[at].is))
        for (const Walk& walk : f->walks)
          if (is_reduction(walk.dim)) return true;
      if (const auto* s = std::get_if<Stage>(&input_.nest->lines[at].is))
        if (s->tensor == output().name && !is_cache(s->memory)) return input_.starts_from_memory;
    }
    return true;
  }

  bool is_cache(const std::string& memory) const {
    const auto id = lowering_.model.find_memory(memory);
    return id && lowering_.model.memory(*id).kind == MemoryKind::cache;
  }

  Result<Nodes> lines(std::size_t at, const Scope& scope) {
    if (at == input_.nest->lines.size()) return error("the nest ends without a `do` line");
    const Line& line = input_.nest->lines[at];
    auto nodes = std::visit(overloaded{[&](const For& f) { return walk(f, 0, at, scope); },
                                       [&](const Stage& s) { return stage(s, at, scope); },
                                       [&](const Do& d) { return instruction_ ? call(d, scope) : elements(scope); }},
                            line.is);
    return nodes || line.where.file.empty() ? std::move(nodes) : at_line(nodes.diagnostics(), line);
  }

  // Problems of lines further in have their place already.
  static Diagnostics at_line(Diagnostics problems, const Line& line) {
    for (Diagnostic& problem : problems)
      if (problem.where.file.empty()) problem.where = line.where;
    return problems;
  }

  Result<Nodes> walk(const For& f, std::size_t which, std::size_t at, const Scope& scope) {
    if (which == f.walks.size()) return lines(at + 1, scope);
    const Walk& w = f.walks[which];
    const auto found = scope.tiles.find(w.dim);
    if (found == scope.tiles.end()) return unknown_dim(w.dim);
    const Tile parent = found->second;
    const std::int64_t tile = std::min(w.tile, parent.size), full = parent.size / tile, rest = parent.size % tile;

    Scope inner = scope;
    const std::string variable = full > 1 ? lowering_.variable(w.dim, full) : "";
    inner.tiles[w.dim] = {full > 1 ? parent.origin + AffineExpr::dim(variable) * tile : parent.origin, tile};
    auto body = walk(f, which + 1, at, inner);
    if (!body) return body;
    Nodes nodes = full > 1 ? loop_around(variable, full, f.unroll, std::move(*body)) : std::move(*body);
    if (full > 1 && !f.unit.empty() && !nodes.empty()) std::get<Loop>(nodes.front().is).unit = f.unit;
    if (rest == 0) return nodes;
    inner.tiles[w.dim] = {parent.origin + full * tile, rest};
    auto last = walk(f, which + 1, at, inner);
    if (!last) return last;
    append(nodes, std::move(*last));
    return nodes;
  }

  Diagnostics unknown_dim(const std::string& dim) const {
    std::string dims;
    for (const Dim& d : statement_.domain.dims) dims += (dims.empty() ? "" : ", ") + d.name;
    Diagnostic d = error(fmt::format("'{}' is no dim of statement {}", dim, statement_.name));
    d.notes.push_back("its dims here: " + dims);
    return {d};
  }

  Result<std::vector<int>> staged_accesses(const Stage& s) const {
    std::vector<int> found;
    for (int a = 0; a < access_count(statement_); ++a) {
      const Access& access = access_of(statement_, a);
      if (kernel_.tensors[access.tensor.index()].name != s.tensor) continue;
      if (!found.empty() && access.index != access_of(statement_, found.front()).index)
        return error(fmt::format("{} is accessed in two ways by {}; staging it is not supported", s.tensor, statement_.name));
      found.push_back(a);
    }
    if (found.empty()) return error(fmt::format("stage {}: statement {} has no such tensor", s.tensor, statement_.name));
    if (found.size() > 1 && found.front() == 0)
      return error(fmt::format("{} is read and written by {}; staging it is not supported", s.tensor, statement_.name));
    return found;
  }

  Result<Nodes> stage(const Stage& s, std::size_t at, const Scope& scope) {
    const auto memory = lowering_.model.find_memory(s.memory);
    if (!memory) return error("stage " + s.tensor + ": the machine has no memory '" + s.memory + "'");
    if (is_cache(s.memory)) return lines(at + 1, scope);   // a claim of residency: no effect on values
    const auto accesses = staged_accesses(s);
    if (!accesses) return accesses.diagnostics();
    auto made = make_tile(input_.pairing, kernel_, accesses->front(), *memory, s.layout, scope.tiles, lowering_.model);
    if (!made) return made.diagnostics();
    TileBuffer tile = std::move(made->tile);
    tile.buffer = add_buffer(std::move(made->buffer), s);
    Scope inner = scope;
    for (int a : *accesses) inner.holders[static_cast<std::size_t>(a)] = tile;
    return accesses->front() == 0 ? stage_output(s, at, tile, scope, inner) : stage_input(s, at, tile, scope, inner);
  }

  BufferId add_buffer(Buffer buffer, const Stage& s) {
    int same = 0;
    for (const Buffer& b : lowering_.program.buffers) same += b.name.rfind(buffer.name, 0) == 0;
    if (same > 0) buffer.name += std::to_string(same);
    buffer.ahead_of_time = s.ahead_of_time;
    if (s.ahead_of_time) buffer.role = BufferRole::argument;
    lowering_.program.buffers.push_back(std::move(buffer));
    return make_id<BufferId>(lowering_.program.buffers.size() - 1);
  }

  Copy copy_of(const TileBuffer& inner, const TileBuffer& outer, const Stage& s, bool into_inner) const {
    Copy copy;
    copy.inner = &inner;
    copy.outer = &outer;
    copy.into_inner = into_inner;
    copy.via = s.via;
    copy.unroll = inner.slots >= 0;
    for (const Coordinate& c : inner.coordinates) copy.zero.push_back(padding_must_be_zero(input_.pairing, c));
    const Tensor& tensor = kernel_.tensors[lowering_.buffer(inner.buffer).tensor.index()];
    if (into_inner && outer.whole_tensor) copy.outside = tensor.outside;
    return copy;
  }

  Result<Nodes> stage_input(const Stage& s, std::size_t at, const TileBuffer& tile, const Scope& scope, const Scope& inner) {
    const int access = staged_accesses(s)->front();
    auto fill = transfer(lowering_, copy_of(tile, scope.holders[static_cast<std::size_t>(access)], s, true));
    if (!fill) return at_stage(s, fill.diagnostics());
    auto body = lines(at + 1, inner);
    if (!body) return body;
    if (s.ahead_of_time) {
      append(lowering_.program.prepack, std::move(*fill));
      return body;
    }
    Nodes nodes = std::move(*fill);
    append(nodes, std::move(*body));
    return nodes;
  }

  Diagnostics at_stage(const Stage& s, Diagnostics diagnostics) const {
    for (Diagnostic& d : diagnostics) d.message = "stage " + s.tensor + " in " + s.memory + ": " + d.message;
    return diagnostics;
  }

  // How an output's tile starts: from memory where partial sums stand there, with the identity otherwise, or not at all
  // where a tile further in takes over.
  Result<Nodes> start_tile(const Stage& s, std::size_t at, const TileBuffer& tile, const Scope& scope, Scope& inner) {
    const auto cut = [&](const Dim& d) {
      return d.kind == DimKind::reduction && scope.tiles.at(d.name).size != d.extent;
    };
    const bool partial = std::any_of(statement_.domain.dims.begin(), statement_.domain.dims.end(), cut);
    const bool from_memory = input_.starts_from_memory || partial || s.first == First::load;
    if (statement_.reduction == Reduction::assign) return Nodes{};
    if (from_memory) return transfer(lowering_, copy_of(tile, scope.holders[0], s, true));
    if (!needs_start(at + 1)) return Nodes{};
    if (s.first == First::flag) {
      inner.flagged_since = scope.tiles;
      return Nodes{};
    }
    return fill_tile(lowering_, tile, identity(), tile.slots >= 0);
  }

  Result<Nodes> stage_output(const Stage& s, std::size_t at, const TileBuffer& tile, const Scope& scope, Scope inner) {
    auto start = start_tile(s, at, tile, scope, inner);
    if (!start) return at_stage(s, start.diagnostics());
    auto body = lines(at + 1, inner);
    if (!body) return body;
    auto drain = transfer(lowering_, copy_of(tile, scope.holders[0], s, false));
    if (!drain) return at_stage(s, drain.diagnostics());
    Nodes nodes = std::move(*start);
    append(nodes, std::move(*body));
    append(nodes, std::move(*drain));
    return nodes;
  }

  // What each dim is at a `do`: its origin, plus the instruction dim that walks it.
  Result<Known> known_here(const Scope& scope) const {
    Known known;
    for (const Dim& dim : statement_.domain.dims) {
      const Tile& tile = scope.tiles.at(dim.name);
      const auto digit = input_.pairing.digit_of.find(dim.name);
      AffineExpr value = tile.origin;
      std::int64_t most = 1;
      if (digit != input_.pairing.digit_of.end()) {
        value += AffineExpr::dim("$" + instruction_->statement().domain.dims[digit->second].name);
        most = full_extent(*instruction_, digit->second);
      }
      if (tile.size > most)
        return error(fmt::format("dim {} has {} points left at the `do`; the instruction takes {}", dim.name, tile.size, most),
                     fmt::format("add `for {} by {}` above it", dim.name, most));
      known.emplace_back(AffineExpr::dim(dim.name), value);
    }
    for (const Dim& dim : instruction_->statement().domain.dims)
      known.emplace_back(AffineExpr::dim("$" + dim.name), AffineExpr::dim("$" + dim.name));
    return known;
  }

  // Extents of one call. A fixed extent that is not filled means padding: free where a parallel dim runs over it, zeros of
  // every input where a reduction does, and that only for products (annihilator 0).
  Result<std::vector<std::int64_t>> extents_here(const Scope& scope) {
    std::vector<std::int64_t> extents;
    for (std::size_t m = 0; m < instruction_->ranges.size(); ++m) {
      const std::string& dim = input_.pairing.walked_by[m];
      const std::int64_t valid = dim.empty() ? 1 : scope.tiles.at(dim).size;
      const Dim& own = instruction_->statement().domain.dims[m];
      const std::int64_t full = full_extent(*instruction_, m);
      if (allows(instruction_->ranges[m], valid)) {
        extents.push_back(valid);
        continue;
      }
      if (own.kind == DimKind::reduction) {
        if (!is_product(statement_.body))
          return error(fmt::format("dim {} leaves {} of {} points of {} unused, and 0 is no neutral value of its body",
                                   own.name, full - valid, full, instruction_->name));
        assume("inputs are finite: padding along " + (dim.empty() ? own.name : dim) + " is multiplied by 0");
      }
      extents.push_back(full);
    }
    return extents;
  }

  static bool is_product(const ScalarExpr& e) {
    if (std::holds_alternative<Cast>(e.op)) return is_product(e.args[0]);
    const auto* b = std::get_if<Binary>(&e.op);
    return b && b->op == BinaryOp::mul;
  }

  void assume(const std::string& text) {
    auto& list = lowering_.program.assumptions;
    if (std::find(list.begin(), list.end(), text) == list.end()) list.push_back(text);
  }

  // An addressed operand that is read past its valid part along a reduction must find zeros there.
  std::string zero_refusal(const Scope& scope, int access, const std::vector<std::int64_t>& extents) const {
    const TileBuffer& holder = scope.holders[static_cast<std::size_t>(access)];
    if (holder.slots >= 0) return "";   // its fill has seen to it
    const Access& operand = access_of(instruction_->statement(), input_.pairing.operand_access[static_cast<std::size_t>(access)]);
    for (std::size_t m = 0; m < extents.size(); ++m) {
      if (!uses(operand, instruction_->statement().domain.dims[m].name)) continue;
      const std::string& dim = input_.pairing.walked_by[m];
      const std::int64_t valid = dim.empty() ? 1 : scope.tiles.at(dim).size;
      if (extents[m] == valid || instruction_->statement().domain.dims[m].kind != DimKind::reduction) continue;
      const AffineExpr form = AffineExpr::dim(dim.empty() ? "$" + instruction_->statement().domain.dims[m].name : dim);
      const auto c = std::find_if(holder.coordinates.begin(), holder.coordinates.end(),
                                  [&](const Coordinate& x) { return x.form == form; });
      const bool ends_here = c != holder.coordinates.end() && holder.zero_padded &&
                             (dim.empty() || simplify(scope.tiles.at(dim).origin + valid - c->start - c->extent,
                                                      lowering_.ranges) == AffineExpr(0));
      if (!ends_here)
        return fmt::format("{} is read {} points past its end along {}; those must be 0",
                           lowering_.buffer(holder.buffer).name, extents[m] - valid, print(form));
    }
    return "";
  }

  Result<Nodes> call(const Do&, const Scope& scope) {
    const auto known = known_here(scope);
    if (!known) return known.diagnostics();
    const auto extents = extents_here(scope);
    if (!extents) return extents.diagnostics();
    Ranges ranges = lowering_.ranges;
    for (const auto& [name, range] : dim_ranges(*instruction_, *extents)) ranges[name] = range;
    std::vector<Ref> refs(static_cast<std::size_t>(access_count(instruction_->statement())));
    for (int a = 0; a < access_count(statement_); ++a) {
      const int operand = input_.pairing.operand_access[static_cast<std::size_t>(a)];
      if (operand < 0 || (input_.only_access >= 0 && input_.only_access != a)) continue;
      const TileBuffer& holder = scope.holders[static_cast<std::size_t>(a)];
      const auto index = index_at(holder, *known, ranges);
      std::string no = index ? refusal(*instruction_, operand, *extents, lowering_.buffer(holder.buffer), holder, *index,
                                       lowering_.ranges, lowering_.model)
                             : "its layout cannot be said in the dims of the statement";
      if (no.empty()) no = zero_refusal(scope, a, *extents);
      if (!no.empty()) return operand_refused(a, operand, no);
      refs[static_cast<std::size_t>(operand)] = {holder.buffer, *index};
    }
    if (input_.only_access >= 0) return Nodes{Node{Comment{"trial"}}};
    auto made = make_call(lowering_, *lowering_.model.find_instruction(instruction_->name), std::move(refs), *extents);
    if (!made) return made.diagnostics();
    return scope.flagged_since ? first_or_again(*made, scope) : Nodes{Node{std::move(*made)}};
  }

  Diagnostics operand_refused(int access, int operand, const std::string& why) const {
    const Tensor& tensor = kernel_.tensors[access_of(statement_, access).tensor.index()];
    const TensorId t = operand_of_access(*instruction_, operand);
    const MemoryId memory = instruction_->operands[t.index()].memory;
    return {error(fmt::format("{} cannot be operand {} of {}: {}", tensor.name, instruction_->tensors[t.index()].name,
                              instruction_->name, why),
                  memory.valid() ? fmt::format("stage {} in {}, packed if need be", tensor.name,
                                               lowering_.model.memory(memory).name)
                                 : "")};
  }

  // `first flag`: the first visit of an accumulator overwrites, the others add.
  Result<Nodes> first_or_again(const Call& again, const Scope& scope) {
    Call first = again;
    first.start = Start::zero;
    Guard guard;
    for (const Dim& dim : statement_.domain.dims) {
      if (dim.kind != DimKind::reduction) continue;
      const AffineExpr moved = simplify(scope.tiles.at(dim.name).origin - scope.flagged_since->at(dim.name).origin,
                                        lowering_.ranges);
      const auto range = bounds(moved, lowering_.ranges);
      if (range && range->low > 0) return Nodes{Node{again}};
      if (!moved.is_constant()) guard.conditions.push_back(-moved);
    }
    if (guard.conditions.empty()) return Nodes{Node{first}};
    guard.then = {Node{first}};
    guard.otherwise = {Node{again}};
    return Nodes{Node{std::move(guard)}};
  }

  // Element by element: loops over whatever is left of each dim.
  Result<Nodes> elements(const Scope& scope) {
    Known known;
    std::vector<std::pair<std::string, std::int64_t>> loops;
    for (const Dim& dim : statement_.domain.dims) {
      const Tile& tile = scope.tiles.at(dim.name);
      AffineExpr value = tile.origin;
      if (tile.size > 1) {
        loops.emplace_back(lowering_.variable(dim.name, tile.size), tile.size);
        value += AffineExpr::dim(loops.back().first);
      }
      known.emplace_back(AffineExpr::dim(dim.name), value);
    }
    const auto unit = lowering_.model.scalar_unit_for(lowering_.buffer(scope.holders[0].buffer).memory);
    if (!unit) return error("no scalar unit reaches the memory of " + output().name);
    Element element;
    element.unit = *unit;
    element.reduction = statement_.reduction;
    element.body = statement_.body;
    for (int a = 0; a < access_count(statement_); ++a) {
      const TileBuffer& holder = scope.holders[static_cast<std::size_t>(a)];
      const auto index = index_at(holder, known, lowering_.ranges);
      if (!index) return error("the layout of " + lowering_.buffer(holder.buffer).name + " cannot be said in the dims");
      (a == 0 ? element.write : element.reads.emplace_back()) = {holder.buffer, *index};
    }
    Nodes nodes = guarded_reads(element, 0);
    if (Guard faces = face_guard(known); !faces.conditions.empty()) {
      faces.then = std::move(nodes);
      nodes = {Node{std::move(faces)}};
    }
    for (std::size_t i = loops.size(); i-- > 0;) nodes = loop_around(loops[i].first, loops[i].second, false, std::move(nodes));
    return nodes;
  }

  Guard face_guard(const Known& known) const {
    Guard guard;
    for (const AffineExpr& face : statement_.domain.faces)
      if (const auto e = express(face, known)) guard.conditions.push_back(simplify(*e, lowering_.ranges));
    return guard;
  }

  // A read that may lie outside its tensor yields the tensor's `outside` value there.
  Nodes guarded_reads(const Element& element, std::size_t from) {
    for (std::size_t r = from; r < element.reads.size(); ++r) {
      const Buffer& buffer = lowering_.buffer(element.reads[r].buffer);
      Guard guard;
      for (std::size_t i = 0; i < element.reads[r].index.size(); ++i) {
        const AffineExpr& e = element.reads[r].index[i];
        const auto range = bounds(e, lowering_.ranges);
        if (!range || range->low < 0) guard.conditions.push_back(e);
        if (!range || range->high >= buffer.extents[i]) guard.conditions.push_back(AffineExpr(buffer.extents[i] - 1) - e);
      }
      if (guard.conditions.empty()) continue;
      Element without = element;
      const auto outside = kernel_.tensors[buffer.tensor.index()].outside.value_or(0);
      without.body = replace_read(element.body, static_cast<int>(r), outside);
      without.reads[r] = {};
      guard.then = guarded_reads(element, r + 1);
      guard.otherwise = guarded_reads(drop_read(without, r), r);
      return {Node{std::move(guard)}};
    }
    return {Node{element}};
  }

  static ScalarExpr replace_read(const ScalarExpr& e, int access, double value) {
    if (const auto* r = std::get_if<Read>(&e.op); r && r->access == access) return constant(value, e.type);
    ScalarExpr copy = e;
    for (ScalarExpr& arg : copy.args) arg = replace_read(arg, access, value);
    return copy;
  }

  static Element drop_read(Element element, std::size_t r) {
    element.reads.erase(element.reads.begin() + static_cast<std::ptrdiff_t>(r));
    const std::function<void(ScalarExpr&)> renumber = [&](ScalarExpr& e) {
      if (auto* read = std::get_if<Read>(&e.op); read && read->access > static_cast<int>(r)) --read->access;
      for (ScalarExpr& arg : e.args) renumber(arg);
    };
    renumber(element.body);
    return element;
  }

  Lowering& lowering_;
  const NestInput& input_;
  const Kernel& kernel_;
  const Computation& statement_;
  const Instruction* instruction_;
};

}  // namespace

Result<std::vector<Node>> set_tensor(Lowering& lowering, const TileBuffer& tensor, Scalar value) {
  TileBuffer flat = tensor;
  flat.coordinates.clear();
  return fill_tile(lowering, flat, value, false);
}

Result<std::vector<Node>> lower_nest(Lowering& lowering, const NestInput& input) {
  return NestLowering(lowering, input).run();
}

}  // namespace isamap
