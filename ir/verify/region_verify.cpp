// SPDX-License-Identifier: Apache-2.0
// Checks of the elements that statements write and read. Several statements may write one tensor:
//
//   C[p,a]      = A[p,a]           a < 64: elements that no earlier statement wrote,
//   C[p,b + 64] = B[p,b]
//   C[p,c]     += D[p,c]           a reduction into what begins at its identity, or was written,
//   C[p,c]      = max(C[p,c], 0)   or an update in place.
//
// What is read was written before, by a statement or (`inout`) by the caller. Regions that are not found within the
// limits of ir/verify/regions.h are not checked: a tensor without a value holds the identity of its first writer, so
// that results are defined in any case.

#include <fmt/format.h>

#include <algorithm>

#include "ir/verify/regions.h"
#include "ir/verify/verify_internal.h"

namespace isamap {
namespace {

/// An access of a tensor; access 0 is the write.
struct Use {
  std::size_t statement = 0, access = 0;
};

class RegionCheck {
 public:
  RegionCheck(const Kernel& kernel, const KernelPlaces& places, const std::string& who, Diagnostics& problems)
      : kernel_(kernel), places_(places), who_(who), problems_(problems) {}

  void run() {
    std::vector<std::vector<Use>> uses(kernel_.tensors.size());
    for (std::size_t s = 0; s < kernel_.statements.size(); ++s) {
      const Computation& statement = kernel_.statements[s];
      for (std::size_t r = 0; r < statement.reads.size(); ++r)
        uses[statement.reads[r].tensor.index()].push_back({s, r + 1});
      uses[statement.write.tensor.index()].push_back({s, 0});
    }
    for (std::size_t t = 0; t < uses.size(); ++t) check_tensor(kernel_.tensors[t], uses[t]);
  }

 private:
  const Access& access_at(const Use& use) const {
    return access_of(kernel_.statements[use.statement], static_cast<int>(use.access));
  }
  const std::string& name_of(const Use& use) const { return kernel_.statements[use.statement].name; }

  void fail(const Use& use, std::string message, std::string hint) {
    SourceLocation where = kernel_.where;
    if (use.statement < places_.statements.size()) {
      const StatementPlaces& places = places_.statements[use.statement];
      const bool known = use.access < places.index.size() && !places.index[use.access].empty();
      where = known ? places.index[use.access].front() : places.statement;
    }
    problems_.push_back(error_at(where, who_ + std::move(message), std::move(hint)));
  }

  /// The first writer has no earlier one to agree with; if it writes all, every later read has a value.
  void check_tensor(const Tensor& tensor, const std::vector<Use>& uses) {
    const auto writes = [](const Use& use) { return use.access == 0; };
    const auto first = std::find_if(uses.begin(), uses.end(), writes);
    if (first == uses.end()) return;
    const bool once = std::none_of(first + 1, uses.end(), writes);
    if (once && (first + 1 == uses.end() || tensor.inout)) return;
    std::vector<std::pair<Use, Region>> written;
    for (const Use& use : uses) {
      if (use.access != 0 && (tensor.inout || written.empty() || is_of_an_earlier_step(use, uses))) continue;
      const auto region = region_of(use, tensor);
      if (!region) return;
      const std::size_t before = problems_.size();
      if (use.access != 0)
        check_read(use, tensor, *region, written);
      else if (!written.empty())
        check_write(use, tensor, *region, written);
      if (problems_.size() > before) return;  // one problem a tensor
      if (use.access == 0) written.emplace_back(use, *region);
      if (once && use.access == 0 && difference({all_of(tensor)}, *region).value_or(Region{{}}).empty()) return;
    }
  }

  std::optional<Region> region_of(const Use& use, const Tensor& tensor) const {
    const Computation& statement = kernel_.statements[use.statement];
    IterationDomain domain = statement.domain;
    // A reduction over no points leaves the identity.
    if (use.access == 0 && statement.reduction != Reduction::assign && domain.faces.empty())
      std::erase_if(domain.dims, [&](const Dim& dim) { return dim.kind == DimKind::reduction && dim.extent == 0; });
    return touched(access_at(use), domain, tensor.shape);
  }

  static Product all_of(const Tensor& tensor) {
    Product all;
    for (const std::int64_t size : tensor.shape) all.push_back({{0, size - 1}});
    return all;
  }

  /// Slices of earlier steps have checks of their own (ir/verify/repeat_verify.cpp).
  bool is_of_an_earlier_step(const Use& read, const std::vector<Use>& uses) const {
    const Repeat* repeat = repeat_of(kernel_, read.statement);
    return repeat != nullptr && std::any_of(uses.begin(), uses.end(), [&](const Use& use) {
             return use.access == 0 && repeat->contains(use.statement);
           });
  }

  std::string element(const Tensor& tensor, const std::vector<std::int64_t>& index) const {
    return fmt::format("{}[{}]", tensor.name, fmt::join(index, ","));
  }

  void check_read(const Use& use, const Tensor& tensor, Region region,
                  const std::vector<std::pair<Use, Region>>& written) {
    for (const auto& [by, part] : written) {
      const auto rest = difference(std::move(region), part);
      if (!rest) return;
      region = *rest;
    }
    if (region.empty()) return;
    std::string writers;
    for (const auto& [by, part] : written) writers += (writers.empty() ? "" : ", ") + name_of(by);
    fail(use,
         fmt::format("statement {} reads {}, which no statement writes before it ({} {} other elements)", name_of(use),
                     element(tensor, first_element(region)), writers, written.size() == 1 ? "writes" : "write"),
         fmt::format("write it, or give '{}' `inout: true` if it starts with what the caller left there", tensor.name));
  }

  void check_write(const Use& use, const Tensor& tensor, const Region& region,
                   const std::vector<std::pair<Use, Region>>& written) {
    const Computation& statement = kernel_.statements[use.statement];
    if (statement.reduction != Reduction::assign) return check_start(use, tensor, region, written);
    const bool in_place = std::any_of(statement.reads.begin(), statement.reads.end(),
                                      [&](const Access& read) { return read.tensor == statement.write.tensor; });
    if (in_place) return;
    for (const auto& [by, part] : written)
      if (const auto both = common_element(region, part))
        return fail(use,
                    fmt::format("statement {} overwrites {}, which statement {} has written", name_of(use),
                                element(tensor, *both), name_of(by)),
                    "statements write disjoint regions of a tensor, or combine: `+=`, or an update in place");
  }

  // Elements that nothing has written hold the identity of the first writer's operator.
  void check_start(const Use& use, const Tensor& tensor, Region region,
                   const std::vector<std::pair<Use, Region>>& written) {
    const Reduction first = kernel_.statements[written.front().first.statement].reduction,
                    own = kernel_.statements[use.statement].reduction;
    if (tensor.inout || identity(first, tensor.dtype) == identity(own, tensor.dtype)) return;
    for (const auto& [by, part] : written) {
      const auto rest = difference(std::move(region), part);
      if (!rest) return;
      region = *rest;
    }
    if (region.empty()) return;
    fail(use,
         fmt::format("statement {} combines by `{}` into {}, which no statement has written: '{}' starts at the "
                     "identity of `{}` of statement {}",
                     name_of(use), symbol(own), element(tensor, first_element(region)), tensor.name, symbol(first),
                     name_of(written.front().first)),
         "combine into a tensor of its own, then copy that");
  }

  const Kernel& kernel_;
  const KernelPlaces& places_;
  const std::string& who_;
  Diagnostics& problems_;
};

}  // namespace

void check_regions(const Kernel& kernel, const KernelPlaces& places, const std::string& who, Diagnostics& problems) {
  RegionCheck(kernel, places, who, problems).run();
}

}  // namespace isamap
