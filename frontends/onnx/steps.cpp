// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnx/steps.h"

#include <algorithm>
#include <set>

#include "ir/verify/verify_internal.h"

namespace isamap::importing {
namespace {

enum class Phase { before, repeated, after };

class Steps {
 public:
  Steps(Draft& draft, const LoopBody& body) : draft_(draft), body_(body) {}

  std::map<TensorId, Slice> run() {
    for (std::size_t s = body_.first; s < statements().size(); ++s) makers_[statements()[s].write.tensor].push_back(s);
    find_phases();
    choose_dim();
    const std::vector<LoopState> copied = place_states();
    std::vector<Phase> phases;
    for (std::size_t s = body_.first; s < statements().size(); ++s)
      phases.push_back(phase(statements()[s].write.tensor));
    keep_sums(phases);
    for (std::size_t k = 0; k < phases.size(); ++k)
      lift(statements()[body_.first + k], phases[k] == Phase::after ? after_ : slices_);
    for (const auto& [of_step, of_kept] : kept_) copy({of_kept, 0, 0}, of_step, phases);
    for (const LoopState& state : copied) copy({state.all, 0, 1}, state.after, phases);
    extend_shapes();
    sort(phases);
    std::map<TensorId, Slice> results;
    for (const TensorId id : body_.results)
      if (const auto slice = after_.find(id); slice != after_.end()) results[id] = slice->second;
    return results;
  }

 private:
  std::vector<Computation>& statements() { return draft_.kernel.statements; }
  Tensor& tensor(TensorId id) { return draft_.kernel.tensors[id.index()]; }
  bool made(TensorId id) const { return makers_.contains(id); }

  /// All tensors that a statement writes, of whose reads or write one is in the set, join it.
  void close_forward(std::set<TensorId>& set) {
    for (std::size_t size = 0; size != set.size();) {
      size = set.size();
      for (const auto& [written, makers] : makers_)
        for (const std::size_t s : makers)
          for (const Access& read : statements()[s].reads)
            if (set.contains(read.tensor)) set.insert(written);
    }
  }
  void close_backward(std::set<TensorId>& set) {
    std::vector<TensorId> open(set.begin(), set.end());
    while (!open.empty()) {
      const TensorId id = open.back();
      open.pop_back();
      if (!made(id)) continue;
      for (const std::size_t s : makers_.at(id))
        for (const Access& read : statements()[s].reads)
          if (set.insert(read.tensor).second) open.push_back(read.tensor);
    }
  }
  bool reduces(TensorId id) {
    return std::any_of(makers_.at(id).begin(), makers_.at(id).end(),
                       [&](std::size_t s) { return statements()[s].reduction != Reduction::assign; });
  }

  /// For all sizes, reads at computed places are made ahead, too: with the extents that positions are counted from, the
  /// program of a step would have a size.
  bool reads_computed_places(TensorId id) {
    return std::any_of(makers_.at(id).begin(), makers_.at(id).end(), [&](std::size_t s) {
      const auto& reads = statements()[s].reads;
      return std::any_of(reads.begin(), reads.end(), [](const Access& read) { return read.computed.has_value(); });
    });
  }

  /// Sums of what the caller gives are one product of all steps ahead, with what they read; other statements stay where
  /// their results are used: those of all steps would be stored.
  void find_phases() {
    for (const auto& [id, slice] : body_.given) stepped_.insert(id);
    for (const LoopState& state : body_.states) {
      stepped_.insert(state.before), from_state_.insert(state.before);
      for_state_.insert(state.after);
    }
    close_forward(stepped_);
    close_forward(from_state_);
    close_backward(for_state_);
    for (const auto& [id, makers] : makers_)
      if (!from_state_.contains(id) && (reduces(id) || (draft_.of_all_sizes && reads_computed_places(id))))
        ahead_.insert(id);
    close_backward(ahead_);
  }

  Phase phase(TensorId written) const {
    if (!stepped_.contains(written) || ahead_.contains(written)) return Phase::before;
    return for_state_.contains(written) ? Phase::repeated : Phase::after;
  }

  /// A name that no dim of the body has.
  void choose_dim() {
    std::set<std::string> taken;
    for (std::size_t s = body_.first; s < statements().size(); ++s)
      for (const Dim& dim : statements()[s].domain.dims) taken.insert(dim.name);
    for (int k = 0; taken.contains(dim_); ++k) dim_ = "t" + std::to_string(k);
  }

  /// A state whose value statements of the recurrence assign is written at its place; the others are copied there.
  std::vector<LoopState> place_states() {
    slices_ = body_.given;
    std::vector<LoopState> copied;
    for (const LoopState& state : body_.states) slices_[state.before] = {state.all, 0, 0};
    for (const LoopState& state : body_.states)
      if (made(state.after) && !reduces(state.after) && phase(state.after) == Phase::repeated &&
          !slices_.contains(state.after))
        slices_[state.after] = {state.all, 0, 1};
      else
        copied.push_back(state);
    for (const TensorId id : stepped_)
      if (made(id) && !slices_.contains(id)) own_.insert(id), slices_[id] = {id, 0, 0};
    return copied;
  }

  /// What is added up and read in a step is not kept for others: a copy is (ir/verify/recurrence.h).
  void keep_sums(const std::vector<Phase>& phases) {
    after_ = slices_;
    std::set<TensorId> read_after(body_.results.begin(), body_.results.end());
    for (std::size_t k = 0; k < phases.size(); ++k)
      if (phases[k] == Phase::after)
        for (const Access& read : statements()[body_.first + k].reads) read_after.insert(read.tensor);
    for (const TensorId id : read_after) {
      if (!own_.contains(id) || phase(id) != Phase::repeated || !reduces(id)) continue;
      Tensor kept = tensor(id);
      kept.name = draft_.unique(kept.name + "_kept");
      kept.shape.insert(kept.shape.begin(), body_.steps);
      const TensorId to = make_id<TensorId>(draft_.kernel.tensors.size());
      draft_.kernel.tensors.push_back(std::move(kept));
      kept_[id] = to;
      after_[id] = {to, 0, 0};
    }
  }

  void lift(Computation& statement, const std::map<TensorId, Slice>& slices) {
    if (!stepped_.contains(statement.write.tensor)) return;
    statement.domain.dims.insert(statement.domain.dims.begin(), {dim_, body_.steps, DimKind::parallel});
    lift(statement.write, slices);
    for (Access& read : statement.reads) lift(read, slices);
  }
  void lift(Access& access, const std::map<TensorId, Slice>& slices) const {
    const auto found = slices.find(access.tensor);
    if (found == slices.end()) return;
    const Slice& slice = found->second;
    access.tensor = slice.of;
    access.index.insert(access.index.begin() + static_cast<std::ptrdiff_t>(slice.axis),
                        AffineExpr::dim(dim_) + slice.offset);
    if (access.computed && access.computed->axis >= static_cast<int>(slice.axis)) ++access.computed->axis;
  }

  /// A last statement of each step.
  void copy(const Slice& to, TensorId from, std::vector<Phase>& phases) {
    Computation statement;
    const Tensor& source = tensor(from);
    const Names i = iterators(source.shape.size(), "ijklmnopabcdefgh");
    statement.domain.dims.push_back({dim_, body_.steps, DimKind::parallel});
    Access read{from, {}};
    for (std::size_t d = 0; d < i.size(); ++d) {
      statement.domain.dims.push_back({i[d], source.shape[d], DimKind::parallel});
      read.index.push_back(AffineExpr::dim(i[d]));
    }
    statement.write = {to.of, read.index};
    statement.write.index.insert(statement.write.index.begin(), AffineExpr::dim(dim_) + to.offset);
    lift(read, slices_);
    statement.reads = {read};
    statement.body = isamap::read(0, source.dtype);
    statement.name = draft_.unique(tensor(to.of).name + "_step");
    statements().push_back(std::move(statement));
    draft_.origins.push_back(draft_.origins.back());
    phases.push_back(Phase::repeated);
  }

  void extend_shapes() {
    for (const TensorId id : own_) tensor(id).shape.insert(tensor(id).shape.begin(), body_.steps);
  }

  void sort(const std::vector<Phase>& phases) {
    std::vector<Computation> sorted;
    std::vector<Origin> origins;
    Repeat repeat{dim_, body_.steps, 0, 0};
    for (const Phase now : {Phase::before, Phase::repeated, Phase::after}) {
      if (now == Phase::repeated) repeat.first = body_.first + sorted.size();
      for (std::size_t k = 0; k < phases.size(); ++k) {
        if (phases[k] != now) continue;
        sorted.push_back(std::move(statements()[body_.first + k]));
        origins.push_back(std::move(draft_.origins[body_.first + k]));
      }
      if (now == Phase::repeated) repeat.count = body_.first + sorted.size() - repeat.first;
    }
    std::move(sorted.begin(), sorted.end(), statements().begin() + static_cast<std::ptrdiff_t>(body_.first));
    std::move(origins.begin(), origins.end(), draft_.origins.begin() + static_cast<std::ptrdiff_t>(body_.first));
    if (repeat.count > 0) draft_.kernel.repeats.push_back(repeat);
  }

  Draft& draft_;
  const LoopBody& body_;
  std::string dim_ = "t";
  std::map<TensorId, std::vector<std::size_t>> makers_;  ///< statements by the tensor that they write
  std::set<TensorId> stepped_;                           ///< differ from step to step
  std::set<TensorId> from_state_, for_state_;            ///< depend on a state; a state depends on them
  std::set<TensorId> ahead_;                             ///< computed for all steps at once
  std::set<TensorId> own_;                               ///< of the body, with one slice for each step
  std::map<TensorId, Slice> slices_, after_;             ///< in the steps, and of what comes after them
  std::map<TensorId, TensorId> kept_;                    ///< copies of sums
};

}  // namespace

std::map<TensorId, Slice> repeat_body(Draft& draft, const LoopBody& body) {
  auto results = Steps(draft, body).run();
  Diagnostics problems;
  for (std::size_t s = body.first; s < draft.kernel.statements.size(); ++s)
    check_statement(draft.kernel.statements[s], draft.kernel.tensors, "", {}, problems);
  if (problems.empty()) check_repeats(draft.kernel, {}, "", problems);
  if (!problems.empty()) throw Refused{problems.front().message, problems.front().hint};
  return results;
}

}  // namespace isamap::importing
