// isamap as a library: a machine, a kernel, its mappings, and a search strategy of one's own.
#include <cstdio>

#include "frontends/frontends.h"
#include "hwdesc/yaml_loader.h"
#include "scheduler/scheduler.h"

/// Sixty legal or illegal points at random; whoever asks keeps the best legal one.
class Lottery final : public isamap::SearchStrategy {
 public:
  explicit Lottery(const isamap::SearchSpace& space) : space_(space) {}
  std::optional<isamap::Point> next() override {
    if (asked_ == 60) return std::nullopt;
    return asked_++ == 0 ? space_.first() : space_.random(asked_);
  }
  void report(const isamap::Point&, std::optional<double> cost) override { legal_ += cost.has_value(); }
  int legal() const { return legal_; }

 private:
  const isamap::SearchSpace& space_;
  std::uint64_t asked_ = 0;
  int legal_ = 0;
};

int main(int argc, char** argv) {
  if (argc != 3) return std::fputs("usage: library_example HARDWARE.yaml KERNEL.yaml\n", stderr), 2;
  auto hardware = isamap::load_hardware(argv[1], {});
  auto kernel = isamap::load_kernel(argv[2]);
  if (!hardware || !kernel)
    return std::fputs((render(hardware.diagnostics()) + render(kernel.diagnostics())).c_str(), stderr), 1;
  auto mapped = isamap::enumerate_mappings(*kernel, hardware->model, {});
  if (!mapped) return std::fputs(render(mapped.diagnostics()).c_str(), stderr), 1;
  const isamap::SearchSpace space(*kernel, isamap::StatementId{0}, mapped->mappings, hardware->model, {});
  Lottery lottery(space);
  isamap::ScheduleOptions options;
  options.objective = isamap::Objective::cycles;
  options.user_strategy = &lottery;
  auto found = isamap::schedule(*kernel, *mapped, hardware->model, options);
  if (!found) return std::fputs(render(found.diagnostics()).c_str(), stderr), 3;
  std::printf("%zu mappings; %lld evaluations, %d legal; best: %.0f cycles\n%s", mapped->mappings.size(),
              static_cast<long long>(found->evaluations), lottery.legal(), found->cost.cycles, print(found->schedule).c_str());
}
