// SPDX-License-Identifier: Apache-2.0
// Checks of recurrences, so that results do not depend on the execution of a step: every step writes a separate slice
// and reads slices of itself, after their write, or of earlier steps.

#include <fmt/core.h>

#include <algorithm>

#include "ir/verify/verify_internal.h"

namespace isamap {
namespace {

class RepeatCheck {
 public:
  RepeatCheck(const Kernel& kernel, const Repeat& repeat, const KernelPlaces& places, const std::string& who,
              Diagnostics& problems)
      : kernel_(kernel), repeat_(repeat), places_(places), who_(who), problems_(problems) {}

  void run() {
    if (repeat_.count == 0 || repeat_.first + repeat_.count > kernel_.statements.size())
      return fail(kernel_.where, fmt::format("`repeat: {}` has no statements", repeat_.dim), "list them under it");
    for (std::size_t s = repeat_.first; s < end(); ++s) check_statement(s);
    if (!problems_.empty()) return;
    for (std::size_t s = repeat_.first; s < end(); ++s)
      for (std::size_t r = 0; r < kernel_.statements[s].reads.size(); ++r) check_read(s, r);
    for (std::size_t s = repeat_.first; s < end(); ++s) check_covered(s);
  }

 private:
  std::size_t end() const { return repeat_.first + repeat_.count; }

  SourceLocation place(std::size_t s, std::size_t access) const {
    if (s >= places_.statements.size()) return kernel_.where;
    const StatementPlaces& places = places_.statements[s];
    const bool known = access < places.index.size() && !places.index[access].empty();
    return known ? places.index[access].front() : places.statement;
  }

  void fail(const SourceLocation& where, std::string message, std::string hint = "") {
    problems_.push_back(error_at(where, who_ + std::move(message), std::move(hint)));
  }

  const std::string& name(const Access& access) const { return kernel_.tensors[access.tensor.index()].name; }

  /// The axis indexed by the step; -1: none.
  int axis(const Access& access) const {
    for (std::size_t a = 0; a < access.index.size(); ++a)
      if (access.index[a].names().contains(repeat_.dim)) return static_cast<int>(a);
    return -1;
  }
  std::int64_t offset(const Access& access) const {
    const int at = axis(access);
    return at < 0 ? 0 : access.index[static_cast<std::size_t>(at)].constant();
  }

  /// Steps from the one that writes a slice to the one that reads it, negated: above 0 it is read too early.
  std::int64_t behind(const Access& read, const Access& write) const {
    const std::int64_t ahead = offset(read) - offset(write);
    return repeat_.backward ? -ahead : ahead;
  }

  void check_statement(std::size_t s) {
    const Computation& statement = kernel_.statements[s];
    for (int a = 0; a < access_count(statement); ++a) {
      const Access& access = access_of(statement, a);
      for (const auto& [kind, at] : step_faults(access, repeat_, kernel_.tensors[access.tensor.index()])) {
        if (kind == StepFault::Kind::combined)
          fail(place(s, static_cast<std::size_t>(a)),
               fmt::format("statement {} indexes '{}' with {}", statement.name, name(access), print(access.index[at])),
               fmt::format("a step's number may occur alone or with a constant added: {0}, {0}+1", repeat_.dim));
        if (kind == StepFault::Kind::twice)
          fail(place(s, static_cast<std::size_t>(a)),
               fmt::format("statement {} indexes '{}' with {} twice", statement.name, name(access), repeat_.dim),
               "only one subscript may contain the step's number");
      }
    }
    for (const AffineExpr& value : statement.values)
      if (value.names().contains(repeat_.dim))
        fail(place(s, 0),
             fmt::format("statement {} uses the value of {}, which is repeated", statement.name, repeat_.dim),
             fmt::format("read it from a tensor that a statement before the repeat writes: N[{0}] = value({0})",
                         repeat_.dim));
    const int dim = statement.domain.find(repeat_.dim);
    if (dim >= 0 && statement.domain.dims[static_cast<std::size_t>(dim)].extent != repeat_.steps)
      fail(place(s, 0),
           fmt::format("statement {} has {} steps of {}; the others have {}", statement.name,
                       statement.domain.dims[static_cast<std::size_t>(dim)].extent, repeat_.dim, repeat_.steps));
    for (const AffineExpr& face : statement.domain.faces)
      if (face.names().contains(repeat_.dim))
        fail(place(s, 0), fmt::format("statement {} is cut along {}, which is repeated", statement.name, repeat_.dim));
  }

  /// A statement of the recurrence that writes the tensor; nothing: it is constant during the steps.
  std::optional<std::size_t> writer(TensorId tensor) const {
    for (std::size_t s = repeat_.first; s < end(); ++s)
      if (kernel_.statements[s].write.tensor == tensor) return s;
    return std::nullopt;
  }
  bool written_ahead(TensorId tensor) const {
    for (std::size_t s = 0; s < repeat_.first; ++s)
      if (kernel_.statements[s].write.tensor == tensor) return true;
    return false;
  }

  void check_read(std::size_t s, std::size_t r) {
    const Computation& statement = kernel_.statements[s];
    const Access& read = statement.reads[r];
    const Tensor& tensor = kernel_.tensors[read.tensor.index()];
    const auto by = writer(read.tensor);
    if (axis(read) >= 0) check_inside(s, r, tensor);
    if (!by) return;
    const Access& write = kernel_.statements[*by].write;
    const auto differs = [&](const std::string& what, const std::string& hint) {
      fail(place(s, r + 1),
           fmt::format("statement {} reads '{}' {} that statement {} writes", statement.name, tensor.name, what,
                       kernel_.statements[*by].name),
           hint);
    };
    if (axis(read) != axis(write))
      return differs("across the steps", fmt::format("{} belongs in the same subscript", repeat_.dim));
    if (behind(read, write) > 0)
      return differs("at a later step than the one", "read what this or an earlier step has written");
    if (offset(read) == offset(write) && *by > s)
      return differs("at this step before the one", fmt::format("move {} up, or read the step before", statement.name));
    if (behind(read, write) < 0 && !tensor.inout && !written_ahead(read.tensor))
      fail(place(s, r + 1),
           fmt::format("the first step of {} reads a slice of '{}' that no statement writes", repeat_.dim, tensor.name),
           fmt::format("give '{}' `inout: true`: the caller puts the first slice there", tensor.name));
  }

  // `outside` is undefined along the steps.
  void check_inside(std::size_t s, std::size_t r, const Tensor& tensor) {
    const Access& read = kernel_.statements[s].reads[r];
    const std::int64_t extent = tensor.shape[static_cast<std::size_t>(axis(read))], from = offset(read);
    const auto faults = step_faults(read, repeat_, tensor);
    if (std::none_of(faults.begin(), faults.end(), [](const auto& f) { return f.kind == StepFault::Kind::outside; }))
      return;
    fail(place(s, r + 1),
         fmt::format("steps {} to {} of '{}' are read; it has 0 to {}", from, from + repeat_.steps - 1, tensor.name,
                     extent - 1),
         fmt::format("make it longer and count from its first slice: {0}[{1},...] read, {0}[{1}+1,...] written",
                     tensor.name, repeat_.dim));
  }

  void check_covered(std::size_t s) {
    const Computation& statement = kernel_.statements[s];
    const Tensor& tensor = kernel_.tensors[statement.write.tensor.index()];
    const std::size_t first = *writer(statement.write.tensor);
    if (axis(kernel_.statements[first].write) != axis(statement.write) ||
        offset(kernel_.statements[first].write) != offset(statement.write))
      return fail(place(s, 0),
                  fmt::format("statements {} and {} write different slices of '{}' at one step",
                              kernel_.statements[first].name, statement.name, tensor.name),
                  "write to another tensor");
    const std::int64_t extent = tensor.shape[static_cast<std::size_t>(axis(statement.write))];
    if (extent != repeat_.steps && !tensor.inout && !written_ahead(statement.write.tensor))
      fail(place(s, 0), fmt::format("{} steps write '{}', which has {} slices", repeat_.steps, tensor.name, extent),
           fmt::format("give it {} slices, write the others in a statement before the repeat, or give '{}' `inout: "
                       "true`: they keep what the caller left there",
                       repeat_.steps, tensor.name));
    const bool adds = statement.reduction != Reduction::assign;
    if (!adds || !read_in_step(s) || !used_otherwise(statement.write)) return;
    fail(place(s, 0), fmt::format("'{}' is added up, read in the same step and kept for others", tensor.name),
         "add up in a tensor of its own, then copy it: " + tensor.name + "[...] = SUM[...]");
  }

  bool read_in_step(std::size_t s) const {
    const Access& write = kernel_.statements[s].write;
    for (std::size_t other = repeat_.first; other < end(); ++other)
      for (const Access& read : kernel_.statements[other].reads)
        if (other != s && read.tensor == write.tensor && offset(read) == offset(write)) return true;
    return false;
  }
  bool used_otherwise(const Access& write) const {
    if (role_of(kernel_, write.tensor) != Role::intermediate) return true;
    for (std::size_t s = 0; s < kernel_.statements.size(); ++s)
      for (int a = 0; a < access_count(kernel_.statements[s]); ++a) {
        const Access& access = access_of(kernel_.statements[s], a);
        if (access.tensor == write.tensor && (!repeat_.contains(s) || offset(access) != offset(write))) return true;
      }
    return false;
  }

  const Kernel& kernel_;
  const Repeat& repeat_;
  const KernelPlaces& places_;
  const std::string& who_;
  Diagnostics& problems_;
};

}  // namespace

std::vector<StepFault> step_faults(const Access& access, const Repeat& repeat, const Tensor& tensor) {
  std::vector<StepFault> faults;
  int subscripts = 0;
  for (std::size_t axis = 0; axis < access.index.size(); ++axis) {
    const AffineExpr& e = access.index[axis];
    if (!e.names().contains(repeat.dim)) continue;
    const std::int64_t from = e.constant();
    if (e != AffineExpr::dim(repeat.dim) + from)
      faults.push_back({StepFault::Kind::combined, axis});
    else if (repeat.steps > 0 && (from < 0 || from + repeat.steps > tensor.shape[axis]))
      faults.push_back({StepFault::Kind::outside, axis});
    if (++subscripts == 2) faults.push_back({StepFault::Kind::twice, axis});
  }
  return faults;
}

void check_repeats(const Kernel& kernel, const KernelPlaces& places, const std::string& who, Diagnostics& problems) {
  std::size_t end = 0;
  for (const Repeat& repeat : kernel.repeats) {
    if (repeat.first < end)
      problems.push_back(error_at(kernel.where, who + "two repeats hold the same statement"));
    else
      RepeatCheck(kernel, repeat, places, who, problems).run();
    end = repeat.first + repeat.count;
  }
}

}  // namespace isamap
