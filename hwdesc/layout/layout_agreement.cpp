// SPDX-License-Identifier: Apache-2.0
#include "hwdesc/layout/layout_agreement.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "hwdesc/layout/bank_conflicts.h"
#include "hwdesc/layout/layout_compose.h"
#include "support/arithmetic.h"
#include "support/box.h"

namespace isamap {

namespace {

constexpr std::int64_t max_compared = 1 << 18;

/// A layout of strides, compiled: bytes for each term, or free.
struct Strides {
  std::vector<CompiledAffine> terms;
  std::vector<std::optional<std::int64_t>> bytes;
  std::vector<std::string> names;
  std::optional<XorSwizzle> swizzle;
};

std::optional<Strides> strides_of(const Operand& operand, const Box& box, std::int64_t width) {
  Strides strides;
  if (std::holds_alternative<FragmentLayout>(operand.layout)) return std::nullopt;
  if (const auto* layout = std::get_if<StridedLayout>(&operand.layout)) {
    strides.swizzle = layout->swizzle;
    for (const StrideTerm& term : layout->terms) {
      const auto stride = term.stride
                              ? evaluate(*term.stride, [](const Reference&) { return std::optional<std::int64_t>(); })
                              : std::nullopt;
      if (!term.each.empty() || (term.stride && !stride)) return std::nullopt;
      strides.terms.emplace_back(term.term, operand.index_names);
      strides.bytes.push_back(stride ? std::optional(*stride * width) : std::nullopt);
      strides.names.push_back(term.text);
    }
    return strides;
  }
  std::int64_t stride = width;
  for (std::size_t d = box.size(); d-- > 0; stride *= box[d]) {
    strides.terms.emplace_back(AffineExpr::dim(operand.index_names[d]), operand.index_names);
    strides.bytes.push_back(stride);
    strides.names.push_back(operand.index_names[d]);
  }
  return strides;
}

struct Written {
  const Operand& operand;
  Box box;
  Strides strides;
};

/// One comparison: the operand's box against the move's, index by index.
struct Pairing {
  std::vector<std::size_t> index;  // of the move's operand
  Box tiles;                       // of the operand inside the move's box, along each index
  Box pieces;                      // moves that fill one operand, along each index
};

std::optional<Pairing> pairing_of(const Box& read, const Box& written, std::vector<std::size_t> index) {
  Pairing pairing{std::move(index), {}, {}};
  for (std::size_t d = 0; d < read.size(); ++d) {
    const std::int64_t r = read[d], w = written[pairing.index[d]];
    if (r <= w ? w % r != 0 : r % w != 0) return std::nullopt;
    pairing.tiles.push_back(r <= w ? w / r : 1);
    pairing.pieces.push_back(r <= w ? 1 : r / w);
  }
  return pairing;
}

std::string shown(const Operand& operand, const Box& point) {
  std::string text;
  for (std::size_t d = 0; d < point.size(); ++d)
    text += fmt::format("{}{}={}", d > 0 ? ", " : "", operand.index_names[d], point[d]);
  return "[" + text + "]";
}

class TileComparison {
 public:
  TileComparison(const Written& written, const Written& read, Pairing pairing, std::int64_t width)
      : written_(written), read_(read), pairing_(std::move(pairing)), width_(width) {
    symbols_ = read_.box.size();  // a distance between pieces along each index
    for (const auto& bytes : written_.strides.bytes)
      if (!bytes) ++symbols_;
  }

  Agreement run() {
    Agreement result;
    result.index = pairing_.index;
    if (!solve(result)) return result;
    compare(result);
    return result;
  }

 private:
  /// The address at which the move writes the operand's index `point` in tile `tile`: calls term(symbol or bytes,
  /// value).
  template <class Fixed, class Free>
  void for_each_term(const Box& point, const Box& tile, Box& in_move, Fixed fixed, Free free) const {
    for (std::size_t d = 0; d < point.size(); ++d) {
      const std::size_t m = pairing_.index[d];
      const std::int64_t x = point[d] + tile[d] * read_.box[d];
      in_move[m] = x % written_.box[m];
      free(d, x / written_.box[m]);
    }
    std::size_t symbol = read_.box.size();
    for (std::size_t t = 0; t < written_.strides.terms.size(); ++t) {
      const std::int64_t value = written_.strides.terms[t](in_move.data());
      if (written_.strides.bytes[t])
        fixed(*written_.strides.bytes[t] * value);
      else
        free(symbol++, value);
    }
  }

  Distance written_at(const Box& point, const Box& tile) const {
    Distance at{0, std::vector<std::int64_t>(symbols_, 0)};
    Box in_move(point.size(), 0);
    for_each_term(
        point, tile, in_move, [&](std::int64_t bytes) { at.bytes += bytes; },
        [&](std::size_t symbol, std::int64_t value) { at.pitches[symbol] += value; });
    return at;
  }

  bool solve(Agreement& result) {
    std::vector<PlaceEquation> equations;
    std::vector<Box> points;
    Box point(read_.box.size(), 0);
    const Box first(read_.box.size(), 0);
    do {  // the axes determine every stride; all other points are compared afterwards
      if (point.size() - static_cast<std::size_t>(std::count(point.begin(), point.end(), 0)) > 1) continue;
      PlaceEquation equation{written_at(point, first), 0, 0, {}};
      for (std::size_t t = 0; t < read_.strides.terms.size(); ++t) {
        const std::int64_t value = read_.strides.terms[t](point.data());
        if (read_.strides.bytes[t])
          equation.fixed += *read_.strides.bytes[t] * value;
        else
          equation.factors.push_back(value);
      }
      equations.push_back(std::move(equation));
      points.push_back(point);
    } while (advance(point, read_.box));
    const auto solved = place(equations);
    if (const auto* wrong = std::get_if<Misplacement>(&solved)) {
      result.compared = static_cast<std::int64_t>(wrong->second) * width_;
      result.fault = wrong->free
                         ? "no free strides make its bytes fall on those that are written"
                         : fmt::format("{} and {} are written {} bytes apart and read {} bytes apart",
                                       shown(read_.operand, points[wrong->first]),
                                       shown(read_.operand, points[wrong->second]), text(wrong->apart), wrong->needed);
      return false;
    }
    const auto& placement = std::get<Placement>(solved);
    std::size_t free = 0;
    for (std::size_t t = 0; t < read_.strides.terms.size(); ++t) {
      if (read_.strides.bytes[t]) continue;
      const auto& stride = placement.strides[free++];
      if (stride)
        result.strides +=
            fmt::format("{}{}: {} bytes", result.strides.empty() ? "" : ", ", read_.strides.names[t], text(*stride));
      read_strides_.push_back(stride);
    }
    return true;
  }

  std::string text(const Distance& distance) const {
    std::vector<std::string> names;
    for (std::size_t d = 0; d < read_.box.size(); ++d)
      names.push_back("step of the move along " + read_.operand.index_names[d]);
    for (std::size_t t = 0; t < written_.strides.terms.size(); ++t)
      if (!written_.strides.bytes[t]) names.push_back("stride " + written_.strides.names[t] + " of the move");
    return print(distance, names);
  }

  /// Numbers for the chosen distances: each box after the one before, at its alignment.
  std::vector<std::int64_t> chosen() const {
    std::int64_t reach = width_;
    for (std::size_t t = 0; t < written_.strides.terms.size(); ++t) {
      Box last;
      for (const std::int64_t extent : written_.box) last.push_back(extent - 1);
      if (written_.strides.bytes[t])
        reach += std::abs(*written_.strides.bytes[t] * written_.strides.terms[t](last.data()));
    }
    std::vector<std::int64_t> pitches;
    std::int64_t next = round_up(2 * reach, std::max(written_.operand.align, written_.operand.align_buffer));
    for (std::size_t s = 0; s < symbols_; ++s, next *= 64) pitches.push_back(next);
    return pitches;
  }

  void compare(Agreement& result) const {
    const std::vector<std::int64_t> pitches = chosen();
    std::vector<std::int64_t> strides;  // of the operand, in bytes; an unconstrained free one is 0
    std::size_t free = 0;
    for (const auto& bytes : read_.strides.bytes) {
      const auto& stride = bytes ? std::optional<Distance>() : read_strides_[free++];
      strides.push_back(bytes ? *bytes : stride ? stride->at(pitches) : 0);
    }
    Box in_move(read_.box.size(), 0);
    const auto written_at_number = [&](const Box& point, const Box& tile) {
      std::int64_t at = 0;
      for_each_term(
          point, tile, in_move, [&](std::int64_t bytes) { at += bytes; },
          [&](std::size_t symbol, std::int64_t value) { at += pitches[symbol] * value; });
      return at;
    };
    Box tile(read_.box.size(), 0);
    do {
      Box point(read_.box.size(), 0);
      const std::int64_t start = written_at_number(point, tile);
      if (start % std::max<std::int64_t>(read_.operand.align, 1) != 0) continue;  // not aligned
      ++result.starts;
      do {
        std::int64_t at = start;
        for (std::size_t t = 0; t < strides.size(); ++t) at += strides[t] * read_.strides.terms[t](point.data());
        const std::int64_t read = swizzled(read_.strides.swizzle, at);
        const std::int64_t written = swizzled(written_.strides.swizzle, written_at_number(point, tile));
        if (read != written) {
          result.fault = fmt::format("{} of the tile at byte {} is written at byte {} and read at byte {}",
                                     shown(read_.operand, point), start, written, read);
          return;
        }
        result.compared += width_;
      } while (advance(point, read_.box));
    } while (advance(tile, pairing_.tiles));
    if (result.starts == 0) result.fault = "none of its tiles begins where the operand's alignment allows";
  }

  const Written& written_;
  const Written& read_;
  Pairing pairing_;
  std::int64_t width_;
  std::size_t symbols_ = 0;
  std::vector<std::optional<Distance>> read_strides_;
};

}  // namespace

std::vector<Agreement> agreements(const HardwareModel& model, const Instruction& move, const Instruction& user,
                                  std::size_t operand) {
  if (!is_move(move) || !move.operands[0].memory.valid() || !user.operands[operand].memory.valid()) return {};
  const Operand &target = move.operands[0], &reader = user.operands[operand];
  if (target.memory != reader.memory || model.memory(target.memory).is_register() || !target.dtype || !reader.dtype)
    return {};
  if (*target.dtype != *reader.dtype && !is_bits(*target.dtype)) return {};
  const std::int64_t width = bytes(*reader.dtype);
  const Box &written_box = move.tensors[0].shape, &read_box = user.tensors[operand].shape;
  if (width < 1 || bytes(*target.dtype) != width || written_box.size() != read_box.size()) return {};
  std::int64_t points = 1;
  for (std::size_t d = 0; d < read_box.size(); ++d)
    points = checked_mul(points, std::max(read_box[d], written_box[d])).value_or(INT64_MAX);
  if (points > max_compared || read_box.size() > 4) return {};
  auto of_move = strides_of(target, written_box, width), of_user = strides_of(reader, read_box, width);
  if (!of_move || !of_user) return {};
  const Written written{target, written_box, std::move(*of_move)}, read{reader, read_box, std::move(*of_user)};

  std::vector<Agreement> found;
  std::vector<std::size_t> index(read_box.size());
  std::iota(index.begin(), index.end(), std::size_t{0});
  do {
    if (auto pairing = pairing_of(read_box, written_box, index))
      found.push_back(TileComparison(written, read, std::move(*pairing), width).run());
  } while (std::next_permutation(index.begin(), index.end()));
  std::stable_sort(found.begin(), found.end(), [](const Agreement& a, const Agreement& b) {
    return std::pair(!a.fault.empty(), -a.compared) < std::pair(!b.fault.empty(), -b.compared);
  });
  return found;
}

}  // namespace isamap
