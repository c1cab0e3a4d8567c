// SPDX-License-Identifier: Apache-2.0
#include "verify/isolated_program.h"

#include <fmt/format.h>

#include <algorithm>

#include "hwdesc/model/program_language.h"
#include "ir/start.h"
#include "isamap/program_on_machine.h"
#include "scheduler/lowering/async_groups.h"
#include "scheduler/lowering/buffer_allocation.h"
#include "scheduler/lowering/circular_buffer.h"
#include "verify/isolated_operands.h"
#include "verify/lane_registers.h"

namespace isamap {
namespace {

class Isolating : IsolatedOperands {
 public:
  Isolating(const HardwareModel& model, InstructionId id, const RequestedCase& requested, int number)
      : IsolatedOperands(model, id, requested) {
    constexpr int variables_each = 1000;
    lowering_.variables = (number + 1) * variables_each;
  }

  Result<IsolatedProgram> make(std::int64_t vectors, Order order) {
    order_ = order;
    if (auto problem = unfit()) return *problem;
    auto kernel = kernel_of(instruction_, requested_, vectors);
    if (!kernel) return kernel.diagnostics();
    rerolled_ = std::move(*kernel);
    widen();
    kernel_ = rerolled_;
    if (order == Order::shares)
      if (auto problem = by_shares()) return *problem;
    add_arguments();
    prepare();
    const std::string v = lowering_.variable(rerolled_.statements[0].domain.dims[0].name, vectors);
    number_ = vectors > 1 ? AffineExpr::dim(v) : AffineExpr(0);
    tiles_[rerolled_.statements[0].domain.dims[0].name] = {number_, 1, false};
    auto body = vector();
    if (!body) return body.diagnostics();
    Program& program = lowering_.program;
    program.body = {Node{Comment{print(kernel_.statements[0], kernel_.tensors)}}};
    add(program.body, loop_around(v, vectors, false, std::move(*body)));
    program.name = kernel_.name;
    program.sizes = model_.sizes();
    allocate(program, model_);
    if (const Diagnostics problems = isamap::verify(program, model_); has_errors(problems)) return problems;
    return IsolatedProgram{kernel_, program};
  }

 private:
  std::optional<Diagnostic> unfit() const {
    if (number_operand(instruction_) != 0 || !instruction_.masks.empty() || instruction_.semantics.size() != 1)
      return error("an operand is a number or a mask");
    for (int a = 1; a < access_count(own()); ++a)
      for (int b = 0; b < a; ++b)
        if (operand_of_access(instruction_, a) == operand_of_access(instruction_, b))
          return error(fmt::format("{} is accessed in two ways", operand(a).name));
    if (requested_.twice && !may_start(instruction_, Start::zero)) return error("it cannot start afresh");
    return std::nullopt;
  }

  /// Rows of an input have the instruction's largest extents, so that they are aligned as it requires.
  void widen() {
    for (int a = 1; a < access_count(own()); ++a) {
      Tensor& tensor = rerolled_.tensors[tensor_of(a).index()];
      if (operand(a).align <= bytes(tensor.dtype) || operand(a).memory != model_.home() || !operand(a).object.empty())
        continue;
      const auto box = operand_box(instruction_, a);
      std::copy(box.begin(), box.end(), tensor.shape.end() - static_cast<std::ptrdiff_t>(box.size()));
    }
  }

  /// The result in the order of the shares: D[lane, elem] = S[row(lane, elem), column(lane, elem)].
  std::optional<Diagnostic> by_shares() {
    const auto share = share_of(operand(0), model_);
    if (!share || !is_move(instruction_)) return error("its result is no copy in registers of several instances");
    Computation& statement = kernel_.statements[0];
    Computation turned = statement;
    turned.domain.dims.resize(1);
    turned.write.index.resize(1);
    std::vector<std::int64_t> shape{statement.domain.dims[0].extent};
    std::vector<AffineExpr> numbers;
    for (const auto& [unit, count] : share->layout.over) {
      turned.domain.dims.push_back({unused_name(unit, statement), count, DimKind::parallel});
      numbers.push_back(AffineExpr::dim(turned.domain.dims.back().name));
      turned.write.index.push_back(numbers.back());
      shape.push_back(count);
    }
    const AffineExpr element = numbers.back();
    numbers.pop_back();
    const std::vector<AffineExpr> index = share->at(numbers, element);
    std::map<std::string, AffineExpr> values;
    for (std::size_t s = 0; s < index.size(); ++s) {
      const auto dim = own().write.index[s].as_dim();
      if (!dim) return error("its result is written at subscripts that are no plain dims");
      values[*dim] = index[s];
    }
    for (AffineExpr& e : turned.reads[0].index) e = simplify(substitute(e, values), ranges_of(turned.domain));
    if (requested_.extents != full_extents()) {  // the elements beyond the extents
      if (instruction_.inactive != Inactive::zero) return error("its result beyond its extents is not stated");
      kernel_.tensors[turned.reads[0].tensor.index()].outside = 0;
    }
    kernel_.tensors[turned.write.tensor.index()].shape = shape;
    statement = std::move(turned);
    if (const Diagnostics problems = isamap::verify(kernel_); has_errors(problems)) return problems.front();
    return std::nullopt;
  }

  void add_arguments() {
    lowering_.program.kernel = kernel_;
    home_.resize(kernel_.tensors.size());
    for (const TensorId id : arguments(kernel_)) {
      const Tensor& tensor = kernel_.tensors[id.index()];
      Buffer buffer;
      buffer.name = tensor.name;
      buffer.memory = model_.home();
      buffer.dtype = tensor.dtype;
      buffer.extents = tensor.shape;
      buffer.strides = dense_strides(tensor.shape);
      buffer.tensor = id;
      buffer.role = BufferRole::argument;
      buffer.align = argument_alignment(model_, tensor.dtype);
      home_[id.index()].whole_tensor = true;
      home_[id.index()].buffer = add(std::move(buffer));
    }
  }

  /// The program for one vector: load operands, execute the uses, store the result.
  Result<Made> vector() {
    auto out = placed(0);
    if (!out) return out.diagnostics();
    Made nodes = std::move(out->before);
    Made uses;
    const Dim* again = requested_.twice ? &rerolled_.statements[0].domain.dims[1] : nullptr;
    const std::string variable = again != nullptr ? lowering_.variable(again->name, again->extent) : "";
    if (again != nullptr) tiles_[again->name] = {again_ = AffineExpr::dim(variable), 1, false};
    std::vector<Ref> refs{out->ref};
    for (int a = 1; a < access_count(own()); ++a) {
      auto in = placed(a);
      if (!in) return in.diagnostics();
      add(uses, std::move(in->before));
      refs.push_back(std::move(in->ref));
    }
    auto call = make_call(lowering_, id_, std::move(refs), requested_.extents);
    if (!call) return call.diagnostics();
    auto awaited = until_complete(first_or_again(*call));
    if (!awaited) return awaited;
    add(uses, std::move(*awaited));
    add(nodes, again != nullptr ? loop_around(variable, again->extent, false, std::move(uses)) : std::move(uses));
    add(nodes, std::move(out->after));
    return nodes;
  }

  /// The first of two uses starts at zero, the second accumulates.
  Node first_or_again(const Call& again) const {
    Call first = again;
    first.start = Start::zero;
    if (!requested_.twice) return Node{always_overwrites(instruction_) ? first : again};
    Guard guard;
    guard.conditions = {-again_};
    guard.then = {Node{first}};
    guard.otherwise = {Node{again}};
    return Node{std::move(guard)};
  }

  /// The call, and the wait for its completion.
  Result<Made> until_complete(Node call) {
    if (instruction_.async_by.empty()) return Made{std::move(call)};
    if (completes_in_groups(instruction_, model_)) return with_completion({std::move(call)}, model_);
    if (!completes_by_counter(instruction_, model_)) return error("nothing awaits it");
    CircularBuffer circular;
    circular.object = instruction_.async_by;
    circular.tiles = 2;
    Buffer counter;
    for (const AsyncObject& object : model_.async_objects())
      if (object.name == circular.object) counter.memory = object.memory;
    const UnitId owner = model_.memory(counter.memory).per;
    counter.counter = Counter{circular.object, {}};
    counter.name = "ready";
    counter.dtype = DType::b64;
    counter.extents = {circular.tiles};
    counter.strides = {1};
    circular.ready = add(std::move(counter));
    auto nodes = complete_by_counter({std::move(call)}, circular, number_, owner, lowering_.program, model_);
    if (!nodes) return nodes;
    nodes->push_back(wait_for_tile(circular, number_, owner));
    Sync meeting;
    meeting.unit = owner;
    nodes->push_back(Node{std::move(meeting)});
    return nodes;
  }
};

}  // namespace

Result<IsolatedProgram> isolated_program(const HardwareModel& model, InstructionId id, const RequestedCase& requested,
                                         std::int64_t vectors, int number) {
  auto own = Isolating(model, id, requested, number).make(vectors, Order::own);
  if (own) return own;
  auto shares = Isolating(model, id, requested, number).make(vectors, Order::shares);
  return shares ? std::move(shares) : std::move(own);
}

}  // namespace isamap
