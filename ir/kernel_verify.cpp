// What a kernel must satisfy as a whole: names, and which statement may read what another one writes.
// What each statement must satisfy alone is in ir/statement_verify.cpp.

#include <fmt/core.h>

#include <set>

#include "ir/verify_internal.h"

namespace isamap {
namespace {

class KernelCheck {
 public:
  KernelCheck(const Kernel& kernel, Diagnostics& problems)
      : kernel_(kernel), problems_(problems), who_("kernel '" + kernel.name + "': ") {}

  void run() {
    check_names();
    for (const Tensor& tensor : kernel_.tensors) check_tensor(tensor, who_, kernel_.where, problems_);
    if (kernel_.statements.empty()) fail("there is no statement", "add one under `compute`");
    if (!problems_.empty()) return;  // what follows relies on names and shapes
    for (const Computation& statement : kernel_.statements) {
      check_statement(statement, kernel_.tensors, who_, kernel_.where, problems_);
    }
    if (!problems_.empty()) return;
    for (std::size_t t = 0; t < kernel_.tensors.size(); ++t) check_uses(make_id<TensorId>(t));
    for (const Computation& statement : kernel_.statements) check_in_place(statement);
  }

 private:
  void fail(std::string message, std::string hint = "") {
    problems_.push_back(error_at(kernel_.where, who_ + std::move(message), std::move(hint)));
  }

  void check_names() {
    std::set<std::string> tensors, statements;
    for (const Tensor& t : kernel_.tensors) {
      if (!tensors.insert(t.name).second) fail(fmt::format("two tensors are named '{}'", t.name));
    }
    for (const Computation& s : kernel_.statements) {
      if (!is_name(s.name)) fail(fmt::format("'{}' is no name of a statement", s.name), "letters, digits and _");
      if (!statements.insert(s.name).second) fail(fmt::format("two statements are named '{}'", s.name));
    }
  }

  // Reading before writing would find nothing; only `inout` says that the caller left something there.
  void check_uses(TensorId id) {
    const Tensor& tensor = kernel_.tensors[id.index()];
    const Computation* reader = nullptr;
    bool written = false;
    for (const Computation& statement : kernel_.statements) {
      for (const Access& access : statement.reads) {
        if (access.tensor == id && !written && !reader) reader = &statement;
      }
      if (statement.write.tensor != id) continue;
      if (!written && reader && !tensor.inout) {
        fail(fmt::format("statement {} reads '{}' before statement {} writes it", reader->name, tensor.name,
                         statement.name),
             fmt::format("give '{}' `inout: true` if it starts with what the caller left there", tensor.name));
      }
      written = true;
    }
    if (!written && tensor.inout) {
      fail(fmt::format("tensor '{}' is `inout`, but no statement writes it", tensor.name), "remove `inout`");
    }
  }

  // In place, each point may read only the element that it writes; otherwise the result depends on the order.
  void check_in_place(const Computation& statement) {
    for (const Access& read : statement.reads) {
      if (read.tensor != statement.write.tensor) continue;
      bool repeats = false;
      for (const Dim& dim : statement.domain.dims) repeats = repeats || dim.kind == DimKind::reduction;
      if (read == statement.write && !repeats) continue;
      fail(fmt::format("statement {} reads '{}' at {} than the one that it writes", statement.name,
                       kernel_.tensors[read.tensor.index()].name, repeats ? "another moment" : "another element"),
           "write to another tensor");
    }
  }

  const Kernel& kernel_;
  Diagnostics& problems_;
  std::string who_;
};

}  // namespace

Diagnostics verify(const Kernel& kernel) {
  Diagnostics problems;
  KernelCheck(kernel, problems).run();
  return problems;
}

}  // namespace isamap
