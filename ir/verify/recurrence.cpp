// SPDX-License-Identifier: Apache-2.0
#include "ir/verify/recurrence.h"

#include <algorithm>
#include <tuple>

#include "isamap/result.h"

namespace isamap {
namespace {

/// The axis whose index holds the dim, and the number added to it. Verified: at most one, with coefficient 1.
Slice slice_of(const Access& access, const std::string& dim) {
  Slice slice{access.tensor};
  for (std::size_t a = 0; a < access.index.size(); ++a)
    if (access.index[a].coefficient(dim) == 1) {
      slice.axis = static_cast<int>(a);
      slice.offset = access.index[a].constant();
    }
  return slice;
}

class Stepping {
 public:
  explicit Stepping(const Kernel& whole) : whole_(whole) {}

  OneStep run() {
    step_.kernel.name = whole_.name;
    step_.kernel.sizes = whole_.sizes;
    step_.kernel.where = whole_.where;
    collect();
    for (std::size_t t = 0; t < step_.slices.size(); ++t) step_.kernel.tensors.push_back(tensor(step_.slices[t]));
    for (std::size_t s = 0; s < whole_.statements.size(); ++s) step_.kernel.statements.push_back(statement(s));
    for (std::size_t t = 0; t < step_.slices.size(); ++t) set_inout(make_id<TensorId>(t));
    return std::move(step_);
  }

 private:
  Slice of(std::size_t s, const Access& access) const {
    const Repeat* repeat = repeat_of(whole_, s);
    if (repeat == nullptr) return Slice{access.tensor};
    Slice slice = slice_of(access, repeat->dim);
    if (slice.axis >= 0) slice.repeat = static_cast<int>(repeat - whole_.repeats.data());
    return slice;
  }

  // In the order of the tensors, all of one first, then its slices by offset.
  void collect() {
    for (std::size_t s = 0; s < whole_.statements.size(); ++s)
      for (int a = 0; a < access_count(whole_.statements[s]); ++a) {
        const Slice slice = of(s, access_of(whole_.statements[s], a));
        if (std::find(step_.slices.begin(), step_.slices.end(), slice) == step_.slices.end())
          step_.slices.push_back(slice);
      }
    std::sort(step_.slices.begin(), step_.slices.end(), [](const Slice& a, const Slice& b) {
      return std::tuple(a.whole.value, a.axis, a.offset, a.repeat) <
             std::tuple(b.whole.value, b.axis, b.offset, b.repeat);
    });
  }

  Tensor tensor(const Slice& slice) {
    Tensor made = whole_.tensors[slice.whole.index()];
    if (slice.axis < 0) return made;
    made.shape.erase(made.shape.begin() + slice.axis);
    made.constant = false;  // each step has a different slice
    made.name = unique(made.name, slice);
    return made;
  }

  // "S", "S_plus1", "S_minus1"; longer if the name is in use.
  std::string unique(const std::string& name, const Slice& slice) const {
    std::string made = name;
    const bool all_of_it_too =
        std::find(step_.slices.begin(), step_.slices.end(), Slice{slice.whole}) != step_.slices.end();
    if (slice.offset != 0)
      made += (slice.offset > 0 ? "_plus" : "_minus") + std::to_string(std::abs(slice.offset));
    else if (all_of_it_too)
      made += "_step";
    const auto taken = [&](const Tensor& t) { return t.name == made; };
    const auto given = [&](const Tensor& t) { return t.name == made && made != name; };
    while (std::any_of(step_.kernel.tensors.begin(), step_.kernel.tensors.end(), taken) ||
           std::any_of(whole_.tensors.begin(), whole_.tensors.end(), given))
      made += "_";
    return made;
  }

  Access access(std::size_t s, const Access& old) const {
    const Slice slice = of(s, old);
    const auto at = std::find(step_.slices.begin(), step_.slices.end(), slice);
    Access made{make_id<TensorId>(static_cast<std::size_t>(at - step_.slices.begin())), old.index, old.outside,
                old.computed};
    if (slice.axis >= 0) made.index.erase(made.index.begin() + slice.axis);
    if (made.computed && slice.axis >= 0 && slice.axis < made.computed->axis) --made.computed->axis;
    return made;
  }

  Computation statement(std::size_t s) const {
    Computation made = whole_.statements[s];
    made.write = access(s, made.write);
    for (Access& read : made.reads) read = access(s, read);
    if (const Repeat* repeat = repeat_of(whole_, s))
      std::erase_if(made.domain.dims, [&](const Dim& dim) { return dim.name == repeat->dim; });
    return made;
  }

  // A tensor that a step updates is `inout`; one used outside the step is no intermediate.
  void set_inout(TensorId id) {
    Tensor& tensor = step_.kernel.tensors[id.index()];
    const Slice& slice = step_.slices[id.index()];
    bool written = false, updates = false, adds = false, written_otherwise = false, read_behind = false;
    for (const Computation& s : step_.kernel.statements) {
      const Slice& to = step_.slices[s.write.tensor.index()];
      written_otherwise = written_otherwise || (!written && to.whole == slice.whole && to != slice);
      const bool reads =
          std::any_of(s.reads.begin(), s.reads.end(), [&](const Access& read) { return read.tensor == id; });
      read_behind = read_behind || (written && reads);
      if (s.write.tensor != id) continue;
      updates = updates || (!written && reads);
      written = true;
      adds = adds || s.reduction != Reduction::assign;
    }
    const bool starts = (adds || updates) && (tensor.inout || written_otherwise);
    tensor.inout = false;
    const bool kept = read_behind && is_kept(step_, whole_, id);
    tensor.inout = written && (starts || (kept && !adds));
    tensor.output = written && (tensor.output || (kept && adds));  // a sum that begins at its identity
  }

  const Kernel& whole_;
  OneStep step_;
};

/// The statements [begin, end) over the tensors that they use.
struct Group {
  Kernel kernel;
  std::vector<Slice> slices;
};

Group group_of(const OneStep& step, std::size_t begin, std::size_t end) {
  Group group;
  group.kernel.name = step.kernel.name;
  group.kernel.sizes = step.kernel.sizes;
  std::vector<int> number(step.slices.size(), -1);
  const auto take = [&](Access& access) {
    const std::size_t old = access.tensor.index();
    if (number[old] < 0) {
      number[old] = static_cast<int>(group.slices.size());
      group.slices.push_back(step.slices[old]);
      group.kernel.tensors.push_back(step.kernel.tensors[old]);
      bool before = false;
      for (std::size_t s = 0; s < begin; ++s)
        before = before || step.kernel.statements[s].write.tensor == make_id<TensorId>(old);
      group.kernel.tensors.back().inout = group.kernel.tensors.back().inout || before;
    }
    access.tensor = make_id<TensorId>(static_cast<std::size_t>(number[old]));
  };
  for (std::size_t s = begin; s < end; ++s) {
    Computation statement = step.kernel.statements[s];
    take(statement.write);
    for (Access& read : statement.reads) take(read);
    group.kernel.statements.push_back(std::move(statement));
  }
  return group;
}

}  // namespace

OneStep one_step(const Kernel& kernel) {
  ISAMAP_CHECK(!kernel.repeats.empty(), "kernel " + kernel.name + " repeats statements");
  return Stepping(kernel).run();
}

Kernel one_step_of(const Kernel& kernel) { return kernel.repeats.empty() ? kernel : one_step(kernel).kernel; }

bool is_kept(const OneStep& step, const Kernel& whole, TensorId tensor) {
  const Slice& own = step.slices[tensor.index()];
  if (role_of(whole, own.whole) != Role::intermediate) return true;
  return std::count_if(step.slices.begin(), step.slices.end(), [&](const Slice& s) { return s.whole == own.whole; }) >
         1;
}

void for_each_group(const Kernel& kernel, const VisitGroup& visit) {
  const OneStep step = one_step(kernel);
  std::size_t at = 0;
  const auto once = [&](std::size_t end) {
    if (at == end) return;
    const Group group = group_of(step, at, end);
    visit(group.kernel, group.slices, 0);
  };
  for (const Repeat& repeat : kernel.repeats) {
    once(repeat.first);
    at = repeat.first + repeat.count;
    const Group group = group_of(step, repeat.first, at);
    for (std::int64_t t = 0; t < repeat.steps; ++t)
      visit(group.kernel, group.slices, repeat.backward ? repeat.steps - 1 - t : t);
  }
  once(kernel.statements.size());
}

std::vector<std::int64_t> positions(const Tensor& whole, const Slice& slice, std::int64_t step) {
  std::int64_t outer = 1, extent = 1, inner = 1;
  for (std::size_t a = 0; a < whole.shape.size(); ++a)
    (slice.axis < 0 || static_cast<int>(a) < slice.axis ? outer
     : static_cast<int>(a) == slice.axis                ? extent
                                                        : inner) *= whole.shape[a];
  const std::int64_t at = slice.axis < 0 ? 0 : step + slice.offset;
  std::vector<std::int64_t> result;
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t i = 0; i < inner; ++i) result.push_back((o * extent + at) * inner + i);
  return result;
}

std::int64_t repetitions(const Kernel& kernel, std::size_t statement) {
  const Repeat* repeat = repeat_of(kernel, statement);
  return repeat ? repeat->steps : 1;
}

}  // namespace isamap
