// SPDX-License-Identifier: Apache-2.0
#include "driver/launch_fusion.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "backends/model_runner.h"
#include "frontends/layers.h"
#include "hwdesc/model/program_language.h"
#include "isamap/scheduler.h"
#include "planner/tensor_layouts.h"

namespace isamap {
namespace {

constexpr std::size_t most_joined = 64;  // statements of a part

/// Element by element, which the backend distributes over threads.
bool is_scalar(const Schedule& schedule) {
  return schedule.splits.empty() && schedule.lanes.empty() &&
         std::all_of(schedule.nests.begin(), schedule.nests.end(), [](const Nest& nest) {
           return std::all_of(nest.lines.begin(), nest.lines.end(), [](const Line& line) {
             if (const auto* loop = std::get_if<For>(&line.is)) return loop->unit.empty() && loop->combine.empty();
             const auto* compute = std::get_if<Do>(&line.is);
             return compute != nullptr && compute->instruction.empty();
           });
         });
}

Schedule scalar_schedule(const Kernel& kernel, const HardwareModel& machine) {
  Schedule schedule;
  schedule.name = schedule.kernel = kernel.name;
  schedule.target = machine.name;
  for (const Computation& statement : kernel.statements) {
    Nest nest;
    for (const Dim& dim : statement.domain.dims) {
      For loop;
      loop.loops = {{dim.name, 1}};
      nest.lines.push_back({std::move(loop)});
    }
    Do compute;
    compute.statement = statement.name;
    nest.lines.push_back({std::move(compute)});
    schedule.nests.push_back(std::move(nest));
  }
  return schedule;
}

class LaunchJoiner {
 public:
  LaunchJoiner(const Model& model, PartStore& store) : kernel_(model.kernel), store_(store) {}

  std::int64_t launches = 0;  ///< of all parts that have a program
  double price = 0;           ///< of them as they were, in cycles, without launches

  /// Until no two neighbours gain: a product joins others of its input once what lies between has been joined.
  std::vector<Part> run(std::vector<Part> parts) {
    std::vector<Part> joined = join(parts);
    const double as_they_were = price;
    while (joined.size() < parts.size()) {
      parts = std::move(joined);
      joined = join(parts);
    }
    price = as_they_were;
    return joined;
  }

 private:
  std::vector<Part> join(const std::vector<Part>& parts) {
    launches = 0;
    std::vector<Kernel> kernels;
    for (const Part& part : parts) kernels.push_back(kernel_of(part));
    store_.add(kernels);
    for (std::size_t p = 0; p < parts.size(); ++p) {
      const auto compiled = store_.find(kernels[p]);
      price += store_.price(kernels[p]) - (compiled->scheduled ? compiled->scheduled->cost.launch_cycles : 0);
      const std::int64_t own = compiled->program ? launches_of(*compiled->program, store_.machine()).value_or(0) : 0;
      const bool may_join = own > 0 && is_scalar(compiled->scheduled->schedule);
      if (may_join && absorbs(parts[p], own)) continue;
      close();
      open_ = parts[p];
      launches_ = own;
      open_may_join_ = may_join;
      count_ = 1;
    }
    close();
    return std::exchange(joined_, {});
  }

  Kernel kernel_of(const Part& part) const {
    return part.statements.size() == kernel_.statements.size() ? kernel_ : cut(kernel_, part.statements, "part");
  }

  /// Have the open part and this one fewer launches together than apart?
  bool absorbs(const Part& part, std::int64_t own) {
    if (count_ == 0 || !open_may_join_ || open_.statements.size() + part.statements.size() > most_joined) return false;
    Part both = open_;
    both.statements.insert(both.statements.end(), part.statements.begin(), part.statements.end());
    std::sort(both.statements.begin(), both.statements.end());
    const Kernel kernel = kernel_of(both);
    const auto program = lower(scalar_schedule(kernel, store_.machine()), kernel, store_.machine());
    if (!program) return false;
    const auto together = launches_of(*program, store_.machine());
    if (!together || *together >= launches_ + own) return false;
    open_ = std::move(both);
    launches_ = *together;
    ++count_;
    return true;
  }

  void close() {
    if (count_ == 0) return;
    if (count_ > 1) {
      const Kernel kernel = kernel_of(open_);
      store_.add_scheduled(kernel, scalar_schedule(kernel, store_.machine()));
    }
    launches += launches_;
    joined_.push_back(std::move(open_));
    count_ = 0;
  }

  const Kernel& kernel_;
  PartStore& store_;
  Part open_;
  std::int64_t launches_ = 0;  ///< of the open part
  bool open_may_join_ = false;
  std::size_t count_ = 0;  ///< parts in it
  std::vector<Part> joined_;
};

bool stitches(const Kernel& kernel, const ModelPlan& plan, const HardwareModel& machine) {
  return has_thread_blocks(machine) && plan.bands.empty() && kernel.repeats.empty();
}

}  // namespace

ModelPlan with_orders_for_launches(const Model& model, ModelPlan plan, PartStore& store) {
  if (!stitches(model.kernel, plan, store.machine()) || plan.order.empty()) return plan;
  const auto priced = [&](const ModelPlan& one) {
    Model stored = model;
    stored.kernel = in_order(model.kernel, one.order);
    LaunchJoiner joiner(stored, store);
    joiner.run(one.parts);
    return joiner.price + static_cast<double>(joiner.launches) * store.machine().timing.launch;
  };
  ModelPlan as_in_the_file = plan;
  as_in_the_file.order.clear();
  const double before = priced(plan), after = priced(as_in_the_file);
  plan.orders_priced.push_back(
      fmt::format("with launches: {:.0f} cycles, and {:.0f} with the orders of the file", before, after));
  if (after < before) plan.order.clear();
  return plan;
}

ModelPlan fuse_launches(const Model& model, ModelPlan plan, PartStore& store) {
  if (!stitches(model.kernel, plan, store.machine())) return plan;
  plan.parts = LaunchJoiner(model, store).run(plan.parts);
  return plan;
}

}  // namespace isamap
