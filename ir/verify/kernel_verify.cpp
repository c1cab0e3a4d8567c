// SPDX-License-Identifier: Apache-2.0
// Checks of a whole kernel: names, and data flow between statements. Checks of single statements are in
// ir/verify/statement_verify.cpp.

#include <fmt/core.h>

#include <set>

#include "ir/verify/recurrence.h"
#include "ir/verify/verify_internal.h"

namespace isamap {
namespace {

class KernelCheck {
 public:
  KernelCheck(const Kernel& kernel, const KernelPlaces& places, Diagnostics& problems)
      : kernel_(kernel), places_(places), problems_(problems), who_("kernel '" + kernel.name + "': ") {}

  void run() {
    check_names();
    for (std::size_t t = 0; t < kernel_.tensors.size(); ++t)
      check_tensor(kernel_.tensors[t], who_, tensor_place(t), problems_);
    if (kernel_.statements.empty()) fail(kernel_.where, "there is no statement", "add one under `compute`");
    if (!problems_.empty()) return;  // later checks rely on names and shapes
    for (std::size_t t = 0; t < kernel_.tensors.size(); ++t)
      check_strides(kernel_.tensors[t], who_, tensor_place(t), problems_);
    for (std::size_t s = 0; s < kernel_.statements.size(); ++s)
      if (writes_a_slice(s)) check_statement(kernel_.statements[s], kernel_.tensors, who_, places_of(s), problems_);
    if (!problems_.empty()) return;
    check_order();
    check_owners();
    if (problems_.empty()) check_repeats(kernel_, places_, who_, problems_);
    if (!problems_.empty()) return;
    const Kernel step = one_step_of(kernel_);
    for (std::size_t s = 0; s < kernel_.statements.size(); ++s) check_in_place(step, s);
    if (problems_.empty()) check_regions(kernel_, places_, who_, problems_);
  }

 private:
  const SourceLocation& tensor_place(std::size_t t) const {
    return t < places_.tensors.size() ? places_.tensors[t] : kernel_.where;
  }

  StatementPlaces places_of(std::size_t s) const {
    return s < places_.statements.size() ? places_.statements[s] : StatementPlaces{kernel_.where, {}};
  }

  /// An access of statement `s`, the write being 0.
  SourceLocation access_place(std::size_t s, std::size_t access) const {
    const StatementPlaces places = places_of(s);
    const bool known = access < places.index.size() && !places.index[access].empty();
    return known ? places.index[access].front() : places.statement;
  }

  void fail(const SourceLocation& where, std::string message, std::string hint = "") {
    problems_.push_back(error_at(where, who_ + std::move(message), std::move(hint)));
  }

  void check_names() {
    std::set<std::string> tensors, statements;
    for (std::size_t t = 0; t < kernel_.tensors.size(); ++t) {
      const std::string& name = kernel_.tensors[t].name;
      if (!tensors.insert(name).second) fail(tensor_place(t), fmt::format("two tensors are named '{}'", name));
    }
    for (std::size_t s = 0; s < kernel_.statements.size(); ++s) {
      const std::string& name = kernel_.statements[s].name;
      const SourceLocation where = places_of(s).statement;
      if (!is_name(name)) fail(where, fmt::format("'{}' is no name of a statement", name), "letters, digits and _");
      if (!statements.insert(name).second) fail(where, fmt::format("two statements are named '{}'", name));
    }
  }

  // A step must not overwrite results of another step.
  bool writes_a_slice(std::size_t s) {
    const Computation& statement = kernel_.statements[s];
    const Repeat* repeat = repeat_of(kernel_, s);
    if (!repeat || uses(statement.write, repeat->dim)) return true;
    const std::string& name = kernel_.tensors[statement.write.tensor.index()].name;
    fail(access_place(s, 0),
         fmt::format("statement {} writes the same elements of '{}' at each step of {}", statement.name, name,
                     repeat->dim),
         fmt::format("give '{0}' a dimension of steps and write its slice: {0}[{1},...]", name, repeat->dim));
    return false;
  }

  // Only the caller's arrays have given strides.
  void check_owners() {
    const std::vector<Role> roles = roles_of(kernel_);
    for (std::size_t t = 0; t < roles.size(); ++t)
      if (!kernel_.tensors[t].strides.empty()) check_owner(t, roles[t]);
  }

  void check_owner(std::size_t t, Role role) {
    const Tensor& tensor = kernel_.tensors[t];
    if (role == Role::intermediate)
      fail(tensor_place(t),
           fmt::format("tensor '{}' has strides, but it is an intermediate, which the program lays out", tensor.name),
           "strides are of inputs and outputs");
    if (!kernel_.repeats.empty())
      fail(tensor_place(t),
           fmt::format("tensor '{}' has strides; those of repeated statements are dense, since their slices have "
                       "strides of their own",
                       tensor.name),
           "remove `strides`, and copy the tensor; or write a kernel of one step");
  }

  // A read before the write has no value, unless the tensor is `inout`.
  void check_order() {
    struct Reader {
      std::size_t statement = 0, access = 0;  ///< access 0: none
    };
    std::vector<Reader> reader(kernel_.tensors.size());
    std::vector<bool> written(kernel_.tensors.size(), false);
    for (std::size_t s = 0; s < kernel_.statements.size(); ++s) {
      const Computation& statement = kernel_.statements[s];
      for (std::size_t r = 0; r < statement.reads.size(); ++r) {
        const std::size_t t = statement.reads[r].tensor.index();
        if (!written[t] && reader[t].access == 0) reader[t] = {s, r + 1};
      }
      const std::size_t out = statement.write.tensor.index();
      const Tensor& tensor = kernel_.tensors[out];
      if (!written[out] && reader[out].access != 0 && !tensor.inout) {
        fail(access_place(reader[out].statement, reader[out].access),
             fmt::format("statement {} reads '{}' before statement {} writes it",
                         kernel_.statements[reader[out].statement].name, tensor.name, statement.name),
             fmt::format("give '{}' `inout: true` if it starts with what the caller left there", tensor.name));
      }
      written[out] = true;
    }
    for (std::size_t t = 0; t < written.size(); ++t) check_words(t, written[t]);
  }

  // Words at a tensor that only written, or only read ones may have.
  void check_words(std::size_t t, bool written) {
    const Tensor& tensor = kernel_.tensors[t];
    if (!written && tensor.inout)
      fail(tensor_place(t), fmt::format("tensor '{}' is `inout`, but no statement writes it", tensor.name),
           "remove `inout`");
    if (!written && tensor.output)
      fail(tensor_place(t), fmt::format("tensor '{}' is an `output`, but no statement writes it", tensor.name),
           "remove `output`");
    if (written && tensor.constant)
      fail(tensor_place(t), fmt::format("tensor '{}' is `constant`, but a statement writes it", tensor.name),
           "remove `constant`");
  }

  // In place, each point may read only the element that it writes; otherwise the result depends on the order.
  void check_in_place(const Kernel& step, std::size_t s) {
    const Computation& statement = step.statements[s];
    for (std::size_t r = 0; r < statement.reads.size(); ++r) {
      const Access& read = statement.reads[r];
      if (read.tensor != statement.write.tensor) continue;
      bool repeats = false;
      for (const Dim& dim : statement.domain.dims) repeats = repeats || dim.kind == DimKind::reduction;
      if (read.index == statement.write.index && !repeats) continue;
      fail(access_place(s, r + 1),
           fmt::format("statement {} reads '{}' at {} than the one that it writes", statement.name,
                       step.tensors[read.tensor.index()].name, repeats ? "another moment" : "another element"),
           "write to another tensor");
    }
  }

  const Kernel& kernel_;
  const KernelPlaces& places_;
  Diagnostics& problems_;
  std::string who_;
};

}  // namespace

Diagnostics verify(const Kernel& kernel, const KernelPlaces& places) {
  Diagnostics problems;
  KernelCheck(kernel, places, problems).run();
  return problems;
}

}  // namespace isamap
