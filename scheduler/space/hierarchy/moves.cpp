// SPDX-License-Identifier: Apache-2.0
// Neighbourhoods and random changes of points of the per-memory form.

#include <algorithm>
#include <cmath>

#include "isamap/interpret.h"
#include "scheduler/space/hierarchy/genome.h"
#include "support/arithmetic.h"

namespace isamap::hierarchy {

namespace {

int one_of(int count, Random& random) { return static_cast<int>(random.between(0, count - 1)); }

std::int64_t smallest_factor(std::int64_t n) {
  for (std::int64_t p = 2; p * p <= n; ++p)
    if (n % p == 0) return p;
  return std::max<std::int64_t>(n, 2);
}

/// `from`, `to`: positions in slots; one past the end is the outermost loop. Unless tiles must divide, any factor is
/// valid.
void move_factor(const Genomes& genomes, Genome& genome, int d, std::size_t from, std::size_t to, std::int64_t factor) {
  if (from < genomes.slots().size()) {
    std::int64_t& n = Genomes::steps(genome, genomes.slots()[from], d);
    n = ceil_div(n, factor);
  }
  if (to < genomes.slots().size()) Genomes::steps(genome, genomes.slots()[to], d) *= factor;
}

std::int64_t steps_at(const Genomes& genomes, const Genome& genome, std::size_t slot, int d) {
  return slot < genomes.slots().size() ? Genomes::steps(genome, genomes.slots()[slot], d)
                                       : genomes.outermost(genome, d);
}

/// The next value up or down.
void step_value(const Genomes& genomes, Genome& genome, Slot slot, int d, int by) {
  const auto& values = genomes.values(d);
  std::int64_t& n = Genomes::steps(genome, slot, d);
  auto position = std::lower_bound(values.begin(), values.end(), n) - values.begin() + by;
  position = std::clamp<std::ptrdiff_t>(position, 0, static_cast<std::ptrdiff_t>(values.size()) - 1);
  n = values[static_cast<std::size_t>(position)];
}

/// Moves the loop of a dim to another position.
void place_loop(const Genomes& genomes, Genome& genome, int level, int d, int place) {
  auto& places = genome.levels[at(level)].place;
  const int before = places[at(d)];
  for (int e = 0; e < genomes.problem().dim_count(); ++e) {
    if (e == d) continue;
    if (before < place && places[at(e)] > before && places[at(e)] <= place) --places[at(e)];
    if (before > place && places[at(e)] < before && places[at(e)] >= place) ++places[at(e)];
  }
  places[at(d)] = static_cast<std::uint8_t>(place);
}

void change_factor(const Genomes& genomes, Genome& genome, Random& random) {
  const int d = one_of(genomes.problem().dim_count(), random);
  const int slots = static_cast<int>(genomes.slots().size()) + 1;
  const auto from = at(one_of(slots, random)),
             to = at((static_cast<int>(from) + 1 + one_of(slots - 1, random)) % slots);
  const std::int64_t n = steps_at(genomes, genome, from, d);
  if (n == 1) return;
  std::int64_t factor = smallest_factor(n);
  if (random.unit() < 0.2) factor = n;
  if (!genomes.options().dividing && random.unit() < 0.3) factor = 2;
  move_factor(genomes, genome, d, from, to, factor);
}

void change_steps(const Genomes& genomes, Genome& genome, Random& random) {
  const int d = one_of(genomes.problem().dim_count(), random);
  const Slot slot = genomes.slots()[at(one_of(static_cast<int>(genomes.slots().size()), random))];
  if (random.unit() < 0.7) return step_value(genomes, genome, slot, d, random.unit() < 0.5 ? 1 : -1);
  const auto& values = genomes.values(d);
  Genomes::steps(genome, slot, d) = values[at(one_of(static_cast<int>(values.size()), random))];
}

void change_order(const Genomes& genomes, Genome& genome, Random& random) {
  const int dims = genomes.problem().dim_count(), level = one_of(genomes.problem().level_count() - 1, random);
  const int d = one_of(dims, random);
  place_loop(genomes, genome, level, d, random.unit() < 0.5 ? dims - 1 : one_of(dims, random));
}

void change_units(const Genomes& genomes, Genome& genome, Random& random) {
  std::vector<int> levels;
  for (int l = 0; l + 1 < genomes.problem().level_count(); ++l)
    if (!genomes.problem().levels[at(l)].axes.empty()) levels.push_back(l);
  if (levels.empty()) return change_steps(genomes, genome, random);
  auto& units = genome.levels[at(levels[at(one_of(static_cast<int>(levels.size()), random))])].units;
  const int dims = genomes.problem().dim_count(), d = one_of(dims, random);
  std::swap(units[at(d)], units[at(one_of(dims, random))]);
}

void change_flag(const Genomes& genomes, Genome& genome, Random& random, bool keep) {
  const int level = 1 + one_of(genomes.problem().level_count() - 1, random);
  const int operand = one_of(genomes.problem().operand_count(), random);
  Genome::At& own = genome.levels[at(level)];
  (keep ? own.keep : own.doubled) ^= 1U << operand;
}

}  // namespace

Genome drawn(const Genomes& genomes, Random& random) {
  const Problem& problem = genomes.problem();
  Genome genome = genomes.plain();
  for (int d = 0; d < problem.dim_count(); ++d) {
    double left = static_cast<double>(problem.dims[at(d)].extent);
    for (std::size_t i = genomes.slots().size(); i-- > 0;) {  // slots in an order that depends on the dim
      const Slot slot =
          genomes.slots()[(i + at(one_of(static_cast<int>(genomes.slots().size()), random))) % genomes.slots().size()];
      const double steps = std::exp(random.unit() * std::log(left));
      std::int64_t& n = Genomes::steps(genome, slot, d);
      if (n > 1) continue;
      n = std::max<std::int64_t>(1, std::llround(steps));
      if (slot.units) n = std::min(n, genomes.most_units(slot.level));
      left = std::max(1.0, left / static_cast<double>(n));
    }
  }
  for (int l = 0; l < problem.level_count(); ++l) {
    for (int d = 0; d < problem.dim_count(); ++d)
      place_loop(genomes, genome, l, d, one_of(problem.dim_count(), random));
    const std::uint32_t all = (1U << problem.operand_count()) - 1;
    if (random.unit() < 0.5) genome.levels[at(l)].keep = static_cast<std::uint32_t>(random.between(0, all));
    if (random.unit() < 0.2) genome.levels[at(l)].doubled = static_cast<std::uint32_t>(random.between(0, all));
  }
  return genome;
}

Genome changed(const Genomes& genomes, Genome genome, Random& random) {
  const double kind = random.unit();
  if (kind < 0.4)
    change_factor(genomes, genome, random);
  else if (kind < 0.6)
    change_steps(genomes, genome, random);
  else if (kind < 0.8)
    change_order(genomes, genome, random);
  else if (kind < 0.88)
    change_units(genomes, genome, random);
  else
    change_flag(genomes, genome, random, !genomes.chooses_buffers() || kind < 0.96);
  return genome;
}

std::vector<Genome> around(const Genomes& genomes, const Genome& genome) {
  const Problem& problem = genomes.problem();
  std::vector<Genome> found;
  const auto with = [&](const auto& change) {
    found.push_back(genome);
    change(found.back());
  };
  for (int d = 0; d < problem.dim_count(); ++d) {
    for (const Slot slot : genomes.slots())
      for (const int by : {-1, 1}) with([&](Genome& g) { step_value(genomes, g, slot, d, by); });
    for (std::size_t from = 0; from <= genomes.slots().size(); ++from) {
      const std::int64_t n = steps_at(genomes, genome, from, d);
      if (n == 1) continue;
      std::vector<std::int64_t> factors{smallest_factor(n)};
      if (factors.front() != n) factors.push_back(n);
      if (!genomes.options().dividing && factors.front() != 2) factors.push_back(2);
      for (std::size_t to = 0; to <= genomes.slots().size(); ++to)
        for (const std::int64_t factor : factors)
          if (to != from) with([&](Genome& g) { move_factor(genomes, g, d, from, to, factor); });
    }
  }
  for (int l = 0; l < problem.level_count(); ++l) {
    const int dims = problem.dim_count();
    for (int d = 0; d < dims && l + 1 < problem.level_count(); ++d) {
      with([&](Genome& g) { place_loop(genomes, g, l, d, dims - 1); });
      if (const int place = genome.levels[at(l)].place[at(d)]; place + 2 < dims)
        with([&](Genome& g) { place_loop(genomes, g, l, d, place + 1); });
      for (int e = 0; e < d; ++e)
        with([&](Genome& g) { std::swap(g.levels[at(l)].units[at(d)], g.levels[at(l)].units[at(e)]); });
    }
    for (int a = 0; a < problem.operand_count() && l > 0; ++a) {
      with([&](Genome& g) { g.levels[at(l)].keep ^= 1U << a; });
      if (genomes.chooses_buffers()) with([&](Genome& g) { g.levels[at(l)].doubled ^= 1U << a; });
    }
  }
  return found;
}

}  // namespace isamap::hierarchy
