// SPDX-License-Identifier: Apache-2.0
#include "scheduler/lowering/recurrence_loop.h"

#include <algorithm>

#include "scheduler/nest/tile_layout.h"
#include "support/overloaded.h"

namespace isamap {
namespace {

class RecurrenceLoop {
 public:
  RecurrenceLoop(const Program& of_step, const OneStep& step, const Kernel& whole,
                 const std::vector<std::string>& variables, const HardwareModel& model)
      : old_(of_step), step_(step), whole_(whole), variables_(variables), model_(model) {}

  Program run() {
    made_ = old_;
    made_.kernel = whole_;
    made_.buffers.clear();
    std::vector<TensorId> order = arguments(whole_);
    for (std::size_t t = 0; t < whole_.tensors.size(); ++t)
      if (const auto id = make_id<TensorId>(t); role_of(whole_, id) == Role::intermediate && is_between(id))
        order.push_back(id);
    std::vector<BufferId> tensors(whole_.tensors.size());
    for (const TensorId id : order) {
      tensors[id.index()] = make_id<BufferId>(made_.buffers.size());
      made_.buffers.push_back(buffer_of(id));
    }
    for (const Buffer& buffer : old_.buffers) {
      const Slice* slice = buffer.tensor.valid() ? &step_.slices[buffer.tensor.index()] : nullptr;
      if (is_argument(buffer)) {
        places_.push_back({tensors[slice->whole.index()], *slice});
        continue;
      }
      places_.push_back({make_id<BufferId>(made_.buffers.size()), {}});
      made_.buffers.push_back(buffer);
      if (slice) made_.buffers.back().tensor = slice->whole;
    }
    redirect(made_.prepack);
    redirect(made_.body);
    return std::move(made_);
  }

 private:
  static bool is_argument(const Buffer& buffer) { return buffer.role == BufferRole::argument && !buffer.ahead_of_time; }

  /// Is an intermediate live across steps?
  bool is_between(TensorId whole) const {
    return std::any_of(old_.buffers.begin(), old_.buffers.end(), [&](const Buffer& buffer) {
      return is_argument(buffer) && step_.slices[buffer.tensor.index()].whole == whole;
    });
  }

  /// With the alignment of its slices.
  Buffer buffer_of(TensorId id) const {
    const Tensor& tensor = whole_.tensors[id.index()];
    Buffer buffer;
    buffer.memory = model_.home();
    for (const Buffer& slice : old_.buffers)
      if (is_argument(slice) && step_.slices[slice.tensor.index()].whole == id) buffer.align = slice.align;
    buffer.name = tensor.name;
    buffer.dtype = tensor.dtype;
    buffer.extents = tensor.shape;
    buffer.strides = dense_strides(tensor.shape);
    buffer.tensor = id;
    buffer.role = role_of(whole_, id) == Role::intermediate ? BufferRole::local : BufferRole::argument;
    return buffer;
  }

  AffineExpr step_of(const Slice& slice) const {
    const auto number = static_cast<std::size_t>(slice.repeat);
    const AffineExpr turn = AffineExpr::dim(variables_[number]);
    const Repeat& repeat = whole_.repeats[number];
    return repeat.backward ? AffineExpr(repeat.steps - 1) - turn : turn;
  }

  void redirect(Ref& ref) const {
    if (!ref.buffer.valid()) return;
    const auto& [buffer, slice] = places_[ref.buffer.index()];
    ref.buffer = buffer;
    if (slice.axis >= 0) ref.index.insert(ref.index.begin() + slice.axis, step_of(slice) + slice.offset);
  }
  void redirect(std::vector<Node>& nodes) const {
    for (Node& node : nodes)
      std::visit(overloaded{[&](Loop& loop) { redirect(loop.body); },
                            [&](Guard& guard) {
                              redirect(guard.then);
                              redirect(guard.otherwise);
                            },
                            [&](Call& call) {
                              for (Ref& ref : call.operands) redirect(ref);
                              for (Ref& ref : call.masks) redirect(ref);
                            },
                            [&](Element& element) {
                              redirect(element.write);
                              for (Ref& ref : element.reads) redirect(ref);
                            },
                            [](const auto&) {}},
                 node.is);
  }

  struct Place {
    BufferId buffer;
    Slice slice;
  };
  const Program& old_;
  const OneStep& step_;
  const Kernel& whole_;
  const std::vector<std::string>& variables_;
  const HardwareModel& model_;
  Program made_;
  std::vector<Place> places_;  ///< of each buffer of the step
};

}  // namespace

Program wrap_in_recurrence(const Program& of_step, const OneStep& step, const Kernel& whole,
                           const std::vector<std::string>& variables, const HardwareModel& model) {
  return RecurrenceLoop(of_step, step, whole, variables, model).run();
}

std::vector<std::int64_t> strides_of(const Kernel& whole, const Slice& slice) {
  std::vector<std::int64_t> strides = dense_strides(whole.tensors[slice.whole.index()].shape);
  if (slice.axis >= 0) strides.erase(strides.begin() + slice.axis);
  return strides;
}

}  // namespace isamap
