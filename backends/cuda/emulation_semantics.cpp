// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/emulation_semantics.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/cpp/text/types.h"
#include "ir/operand_use.h"
#include "support/overloaded.h"

namespace isamap {
namespace {

/// Number of innermost instances (lanes) that execute one use.
std::int64_t threads_of(const Instruction& instruction, const HardwareModel& model) {
  std::int64_t count = 1;
  for (std::size_t u = 0; u < model.units().size(); ++u) {
    const UnitId id = make_id<UnitId>(u);
    if (id != instruction.unit && model.inside(id, instruction.unit)) count *= model.unit(id).count;
  }
  return count;
}

Diagnostic not_executable(const Instruction& instruction, const std::string& what) {
  return error_at(instruction.where, fmt::format("the emulation cannot execute '{}': it {}", instruction.name, what));
}

/// One use of an instruction: its dims, operands and extents, and text about them.
struct InstructionUse {
  const Instruction& instruction;
  const std::vector<WrapperOperand>& operands;
  const std::vector<std::int64_t>& extents;
  const HardwareModel& model;
};

/// The text of one use's function so far, and expressions over the dims of its statement.
class UseText {
 public:
  explicit UseText(const InstructionUse& use)
      : instruction_(use.instruction),
        statement_(use.instruction.statement()),
        operands_(use.operands),
        extents_(use.extents),
        model_(use.model) {}

 protected:
  Diagnostic refuse(const std::string& what) const { return not_executable(instruction_, what); }
  void line(const std::string& s) { text_ += std::string(static_cast<std::size_t>(2 * depth_), ' ') + s + "\n"; }
  void open(const std::string& s) {
    line(s + " {");
    ++depth_;
  }
  void close() {
    --depth_;
    line("}");
  }
  void loop(const std::string& name, std::int64_t trip) {
    open(fmt::format("for (long {0} = 0; {0} < {1}; ++{0})", name, trip));
  }

  DType type_of(int access) const {
    const Operand& operand = operand_of(instruction_, access);
    const Tensor& tensor = instruction_.tensors[operand_of_access(instruction_, access).index()];
    return operand.dtype.value_or(tensor.dtype);
  }
  std::string array(int access) const { return operands_[static_cast<std::size_t>(access)].name + "_"; }
  /// The whole operand of one use, row-major.
  std::vector<std::int64_t> box(int access) const { return operand_box(instruction_, access); }
  std::string flat(int access, const std::vector<std::string>& index) const {
    const auto extents = box(access);
    std::string text;
    for (std::size_t i = 0; i < index.size(); ++i) {
      std::int64_t stride = 1;
      for (std::size_t j = i + 1; j < extents.size(); ++j) stride *= extents[j];
      text +=
          fmt::format("{}{}({})", text.empty() ? "" : " + ", stride == 1 ? "" : std::to_string(stride) + "*", index[i]);
    }
    return text.empty() ? "0" : text;
  }
  std::vector<std::string> subscripts(int access) const {
    std::vector<std::string> out;
    for (const AffineExpr& e : access_of(statement_, access).index) out.push_back(isamap::print(e));
    return out;
  }

  std::optional<std::int64_t> extent(const Reference& r) const {
    const int d = r.object == "extent" ? statement_.domain.find(r.argument) : -1;
    return d < 0 ? std::nullopt : std::optional(extents_[static_cast<std::size_t>(d)]);
  }

  /// A term of a layout (over the operand's subscripts) in terms of the dims of the statement.
  std::string in_subscripts(int access, const Operand& operand, const AffineExpr& term) const {
    std::map<std::string, AffineExpr> values;
    const auto& index = access_of(statement_, access).index;
    for (std::size_t s = 0; s < operand.index_names.size() && s < index.size(); ++s)
      values[operand.index_names[s]] = index[s];
    return isamap::print(substitute(term, values));
  }

  /// Loops over all dims, or over those of one operand only: the others repeat its elements.
  bool loops_over(std::size_t d, int access) const {
    return access < 0 || uses(access_of(statement_, access), statement_.domain.dims[d].name);
  }
  void open_dims(int access = -1) {
    for (std::size_t d = 0; d < statement_.domain.dims.size(); ++d)
      if (loops_over(d, access)) loop(statement_.domain.dims[d].name, extents_[d]);
  }
  void close_dims(int access = -1) {
    for (std::size_t d = 0; d < statement_.domain.dims.size(); ++d)
      if (loops_over(d, access)) close();
  }

  const Instruction& instruction_;
  const Computation& statement_;
  const std::vector<WrapperOperand>& operands_;
  const std::vector<std::int64_t>& extents_;
  const HardwareModel& model_;
  std::string text_;
  int depth_ = 1;
};

/// Copies that complete later: they are issued by one thread, and executed when they are waited for.
class AsynchronousCopy : UseText {
 public:
  using UseText::UseText;
  Result<std::string> print() {
    return operands_.size() > 1 && (operands_[0].described || operands_[1].described) ? described_copy()
                                                                                      : asynchronous_copy();
  }

 private:
  /// A box of a tensor described by the host (TMA): an asynchronous load counted by a barrier, or a store in a group.
  Result<std::string> described_copy() {
    const int near = operands_[0].described ? 1 : 0;
    const WrapperOperand &inside = operands_[static_cast<std::size_t>(near)],
                         &box_of = operands_[static_cast<std::size_t>(1 - near)];
    const Operand& operand = operand_of(instruction_, near);
    const auto* strided = std::get_if<StridedLayout>(&operand.layout);
    if (strided == nullptr || !inside.shared || (near == 0 && !instruction_.async_bytes))
      return refuse("is asynchronous, and neither a counted copy into shared memory nor a copy out of it");
    const int size = bytes(type_of(near));
    if (operand.align > 1)
      line(fmt::format("emulation::aligned({}, {}, \"{}\");", inside.name, operand.align, instruction_.name));
    std::string box, offset, at;
    for (std::size_t d = 0; d < box_of.positions.size(); ++d) {
      box += fmt::format("{}{}", d > 0 ? ", " : "", *extent({"extent", "", box_of.fused_dim_of[d]}));
      at += fmt::format("{}{} + {}", d > 0 ? ", " : "", box_of.positions[d], box_of.fused_dim_of[d]);
    }
    for (const StrideTerm& term : strided->terms) {
      const auto stride =
          term.stride ? evaluate(*term.stride, [&](const Reference& r) { return extent(r); }) : std::nullopt;
      if (!stride) return refuse(fmt::format("reads or writes {} with a free stride", inside.name));
      offset += fmt::format(" + {}*({})", *stride * size, in_subscripts(near, operand, term.term));
    }
    std::string place = inside.name + offset;
    if (strided->swizzle)
      place = fmt::format("emulation::permuted({}, {}, {}, {})", place, strided->swizzle->bits, strided->swizzle->from,
                          strided->swizzle->to);
    line(fmt::format("emulation::check_box({}, {{{}}}, {}, \"{}\");", box_of.name, box,
                     strided->swizzle ? strided->swizzle->bits : 0, instruction_.name));
    open(near == 0 ? fmt::format("emulation::issue_counted(counter_, {}, [=](auto each)", size)
                   : fmt::format("emulation::issue_store(\"{}\", {}, {}, [=](auto each)", instruction_.async_by, size,
                                 !operand.view.empty()));
    open_dims();
    line(fmt::format("each({}, {{{}}});", place, at));
    close_dims();
    --depth_;
    line(near == 0 ? fmt::format("}}, {});", box_of.name)
                   : fmt::format("}}, {}, \"{}\");", box_of.name, instruction_.name));
    return text_;
  }

  /// An asynchronous copy of contiguous bytes.
  Result<std::string> asynchronous_copy() {
    const auto dense = [&](int access) {
      const auto* s = std::get_if<StridedLayout>(&operand_of(instruction_, access).layout);
      if (s == nullptr || s->terms.size() != 1 || s->swizzle || !s->terms[0].each.empty() || !s->terms[0].stride)
        return false;
      const IntExpr& stride = *s->terms[0].stride;
      return stride.op == IntExpr::Op::number && stride.number == 1;
    };
    if (!is_move(instruction_) || statement_.domain.dims.size() != 1 || !dense(0) || !dense(1) || !operands_[0].shared)
      return refuse("is asynchronous and not a copy of contiguous elements into shared memory");
    const int size = bytes(type_of(0));
    const std::int64_t all = statement_.domain.dims[0].extent * size, valid = extents_[0] * size;
    for (int a = 0; a < 2; ++a)
      if (const Operand& operand = operand_of(instruction_, a); operand.align > 1 && (a == 0 || valid > 0))
        line(fmt::format("emulation::aligned({}, {}, \"{}\");", operands_[static_cast<std::size_t>(a)].name,
                         operand.align, instruction_.name));
    line(fmt::format("emulation::issue_copy(\"{}\", {}, reinterpret_cast<const unsigned char*>({}), {}, {}, here);",
                     instruction_.async_by, operands_[0].name, operands_[1].name, all, valid));
    return text_;
  }
};

/// All other instructions: operands are copied to arrays, the statement is executed, the result is copied back.
class Meaning : UseText {
 public:
  Meaning(const InstructionUse& use, Start start, ElementText& elements)
      : UseText(use), start_(start), elements_(elements), threads_(threads_of(use.instruction, use.model)) {}

  Result<std::string> print() {
    begin();
    for (int a = 0; a < access_count(statement_); ++a) {
      declare(a);
      if (a == 0 ? starts_from_old() : true)
        if (auto problem = move_operand(a, true)) return *problem;
    }
    compute();
    if (auto problem = move_operand(0, false)) return *problem;
    end();
    return text_;
  }

 private:
  /// Are the shared-memory addresses known per lane? Not for an operand with one address for all lanes.
  bool asked_by_lanes(int access) const {
    const auto* strided = std::get_if<StridedLayout>(&operand_of(instruction_, access).layout);
    return strided != nullptr && instruction_.async_by.empty() &&
           (threads_ == 1 || std::any_of(strided->terms.begin(), strided->terms.end(),
                                         [](const StrideTerm& term) { return !term.each.empty(); }));
  }
  /// Are its requests counted? They are identified by source location.
  bool asks() const {
    for (std::size_t a = 0; a < operands_.size(); ++a) {
      const WrapperOperand& o = operands_[a];
      if (o.registers == 0 && !o.described && (!o.shared || asked_by_lanes(static_cast<int>(a)))) return true;
    }
    return false;
  }
  /// A collective operation of the threads that execute the use.
  void begin() {
    std::string members, list;
    for (const WrapperOperand& o : operands_) {
      members += fmt::format("{}{} {}; ", o.written || o.registers == 0 ? "" : "const ",
                             o.type + (o.registers > 0 ? "*" : ""), o.name);
      list += (list.empty() ? "" : ", ") + o.name;
    }
    line(fmt::format("struct Operands {{ {}}} mine{{{}}};", members, list));
    const std::string how =
        instruction_.async_by.empty()
            ? fmt::format("together({}, \"{}\"", threads_, instruction_.name)
            : fmt::format("together_later({}, \"{}\", \"{}\"", threads_, instruction_.async_by, instruction_.name);
    open(fmt::format("emulation::{}, mine, [{}](Operands* const* at, emulation::Thread* threads)", how,
                     asks() ? "here" : ""));
    line("(void)threads;");
  }
  void end() {
    --depth_;
    line("});");
  }

  void declare(int access) {
    std::int64_t count = 1;
    for (const std::int64_t extent : box(access)) count *= extent;
    line(fmt::format("{} {}[{}] = {{}};", element_type(model_, type_of(access)), array(access), count));
  }

  /// Does the result depend on the old value of the written operand?
  bool starts_from_old() const {
    if (start_ == Start::zero) return false;
    return statement_.reduction != Reduction::assign || instruction_.inactive == Inactive::keep;
  }

  /// Copies between an operand's array and its registers or memory.
  std::optional<Diagnostic> move_operand(int access, bool gather) {
    const Operand& operand = operand_of(instruction_, access);
    if (const auto* fragment = std::get_if<FragmentLayout>(&operand.layout)) {
      move_fragment(access, *fragment, gather);
      return std::nullopt;
    }
    return move_memory(access, operand, gather);
  }

  void copy(const std::string& element, const std::string& place, std::int64_t size, bool gather) {
    line(fmt::format("std::memcpy({}, {}, {});", gather ? "&" + element : place, gather ? place : "&" + element, size));
  }

  void move_fragment(int access, const FragmentLayout& fragment, bool gather) {
    const WrapperOperand& o = operands_[static_cast<std::size_t>(access)];
    std::string instance = "0";
    for (std::size_t u = 0; u < fragment.over.size(); ++u) {
      const auto& [name, count] = fragment.over[u];
      loop(name, u + 1 == fragment.over.size() ? elements_in_use(access, fragment) : count);
      if (u + 1 < fragment.over.size())
        instance = instance == "0" ? name : fmt::format("({})*{} + {}", instance, count, name);
    }
    std::vector<std::string> index;
    for (const AffineExpr& e : fragment.index) index.push_back(isamap::print(e));
    const int size = bytes(type_of(access));
    copy(fmt::format("{}[{}]", array(access), flat(access, index)),
         fmt::format("reinterpret_cast<{}char*>(at[{}]->{}) + {}*{}", gather ? "const " : "", instance, o.name, size,
                     fragment.over.back().first),
         size, gather);
    for (std::size_t u = 0; u < fragment.over.size(); ++u) close();
  }
  /// An extent of a fragment may follow that of a dim.
  std::int64_t elements_in_use(int, const FragmentLayout& fragment) const {
    for (const auto& [name, formula] : fragment.varying)
      if (name == fragment.over.back().first)
        if (const auto value = evaluate(formula, [&](const Reference& r) { return extent(r); })) return *value;
    return fragment.over.back().second;
  }
  std::optional<Diagnostic> move_memory(int access, const Operand& operand, bool gather) {
    const WrapperOperand& o = operands_[static_cast<std::size_t>(access)];
    const auto* strided = std::get_if<StridedLayout>(&operand.layout);
    if (strided == nullptr) return refuse(fmt::format("reads or writes {} in a layout that is not described", o.name));
    const int size = bytes(type_of(access));
    std::string offset, lane = "0", address = "at[0]->" + o.name;
    for (std::size_t t = 0; t < strided->terms.size(); ++t) {
      const StrideTerm& term = strided->terms[t];
      const std::string value = "(" + in_subscripts(access, operand, term.term) + ")";
      if (!term.each.empty()) {
        lane = value;
        address = fmt::format("at[{}]->{}", value, o.name);
        continue;
      }
      const auto stride =
          term.stride ? evaluate(*term.stride, [&](const Reference& r) { return extent(r); }) : std::nullopt;
      if (!stride && t >= o.pitches.size()) return refuse(fmt::format("takes {} with a free stride", o.name));
      offset += fmt::format(" + {}*{}", stride ? *stride * size : o.pitches[t], value);
    }
    const std::string kind = gather ? "load" : instruction_.atomic.valid() ? "add" : "store";
    const std::string request = (gather ? "asked_" : "given_") + o.name;
    const bool by_lanes = o.shared && asked_by_lanes(access);
    if (!o.shared)
      line(fmt::format("emulation::Request {}(emulation::Access::{}, {}, here);", request, kind, threads_));
    if (by_lanes)
      line(fmt::format("emulation::BankRequest {}(emulation::Access::{}, {}, threads[0], at[0]->{}, here);", request,
                       kind, threads_, o.name));
    open_dims(access);
    if (operand.align > 1)
      line(fmt::format("emulation::aligned({}, {}, \"{}\");", address, operand.align, instruction_.name));
    std::string where = address + offset;
    if (strided->swizzle)
      where = fmt::format("emulation::permuted({}, {}, {}, {})", where, strided->swizzle->bits, strided->swizzle->from,
                          strided->swizzle->to);
    if (!operand.view.empty()) where = fmt::format("emulation::fenced({}, \"{}\")", where, instruction_.name);
    if (by_lanes) where = fmt::format("{}.of(threads[{}], {}, {})", request, lane, where, size);
    const std::string place =
        o.shared
            ? fmt::format("emulation::{}(threads[{}], {}, {})", gather ? "readable" : "writable", lane, where, size)
        : gather ? fmt::format("{}.of(reinterpret_cast<const char*>({}){}, {})", request, address, offset, size)
                 : fmt::format("emulation::{}({}.of(reinterpret_cast<char*>({}){}, {}))",
                               instruction_.atomic.valid() ? "added" : "written", request, address, offset, size);
    copy(fmt::format("{}[{}]", array(access), flat(access, subscripts(access))), place, size, gather);
    close_dims(access);
    return std::nullopt;
  }
  void compute() {
    open_dims();
    std::vector<std::string> reads;
    for (int a = 1; a < access_count(statement_); ++a)
      reads.push_back(fmt::format("{}[{}]", array(a), flat(a, subscripts(a))));
    const std::string place = fmt::format("{}[{}]", array(0), flat(0, subscripts(0)));
    if (is_move(instruction_))
      line(place + " = " + reads[0] + ";");
    else
      line(elements_.statement(statement_.reduction, type_of(0), place, statement_.body, reads));
    close_dims();
  }

  Start start_;
  ElementText& elements_;
  std::int64_t threads_;
};

}  // namespace

Result<std::string> meaning(const Instruction& instruction, const std::vector<WrapperOperand>& operands,
                            const std::vector<std::int64_t>& extents, Start start, const HardwareModel& model,
                            ElementText& elements) {
  if (instruction.semantics.size() != 1) return not_executable(instruction, "is a sequence of statements");
  if (!instruction.masks.empty()) return not_executable(instruction, "has masks");
  const InstructionUse use{instruction, operands, extents, model};
  if (!instruction.async_by.empty() && is_move(instruction)) return AsynchronousCopy(use).print();
  return Meaning(use, start, elements).print();
}

}  // namespace isamap
