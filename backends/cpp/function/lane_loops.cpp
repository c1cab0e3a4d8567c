// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/function/lane_loops.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/cpp/text/types.h"

namespace isamap {
namespace {

constexpr std::int64_t lane_count = 32;

/// Do consecutive iterations read the same or consecutive elements?
bool follows(const Place& place, const std::string& variable) {
  if (place.kind == Place::Kind::immediate) return true;
  if (place.kind != Place::Kind::memory || place.scattered || !place.strided.empty()) return false;
  const std::int64_t step = place.offset.coefficient(variable);
  const bool linear = !(place.offset - step * AffineExpr::dim(variable)).names().contains(variable);
  return linear && (step == 0 || step == 1);
}

/// The only statement of the loop, if its reduction gives the same in any order but for signs of zeros.
const Element* extreme_of(const Loop& loop, const Item& item, const Program& program) {
  if (!loop.unit.empty() || loop.trip < 2 * lane_count || item.body.size() != 1) return nullptr;
  const Item& inner = item.body.front();
  const auto* element = std::get_if<Element>(&inner.node->is);
  if (element == nullptr || !inner.variables.empty() ||
      (element->reduction != Reduction::max && element->reduction != Reduction::min))
    return nullptr;
  const Buffer& written = program.buffers[element->write.buffer.index()];
  const bool narrow = format_of(written.dtype).precision < format_of(DType::f32).precision;
  if (is_float(written.dtype) ? narrow : bytes(written.dtype) > 4) return nullptr;
  for (std::size_t p = 0; p < inner.places.size(); ++p) {
    const bool again = p > 0 && inner.places[p].buffer == element->write.buffer;
    const bool computed = p > 0 && std::any_of(element->reads[p - 1].index.begin(), element->reads[p - 1].index.end(),
                                               [](const AffineExpr& e) {
                                                 const auto name = e.as_dim();
                                                 return name && computed_read(*name).has_value();
                                               });
    if (again || computed || !follows(inner.places[p], loop.variable)) return nullptr;
  }
  const Place& place = inner.places[0];
  return place.kind == Place::Kind::memory && !place.offset.names().contains(loop.variable) ? element : nullptr;
}

}  // namespace

bool LanePrinter::print(const Loop& loop, const Item& item, const std::set<int>& fresh,
                        const std::function<void()>& body) {
  const Element* element = function_.numbers == nullptr ? extreme_of(loop, item, function_.program) : nullptr;
  if (element == nullptr) return false;
  const DType dtype = function_.program.buffers[element->write.buffer.index()].dtype;
  const std::string type = element_type(function_.model, dtype), lane = function_.names.unique("lane"),
                    number = function_.names.unique("n"), whole = function_.names.unique("whole"),
                    name = open_.names[loop.variable] = function_.names.unique(loop.variable);
  const std::int64_t in_lanes = loop.trip / lane_count * lane_count;
  const std::string each = fmt::format("for (long {0} = 0; {0} < {1}; ++{0})", number, lane_count),
                    of_lane = lane + "[" + number + "]";
  const auto in_order = [&](std::int64_t first) {
    out_.line(fmt::format("for (long {0} = {1}; {0} < {2}; ++{0}) {{", name, first, loop.trip));
    body_with(loop, whole, body);
    out_.line("}");
  };
  const auto combined = [&](const std::string& with) {
    return function_.elements.statement(element->reduction, dtype, whole, read(0, dtype), {with});
  };
  statements_.declare(fresh);
  statements_.state().before_loop(item.body);
  out_.line("{");
  ++out_.depth;
  const ScalarExpr least = constant(as_double(dtype, identity(element->reduction, dtype)), dtype);
  out_.line(fmt::format("{} {}[{}];", type, lane, lane_count));
  out_.line(each + " " + function_.elements.statement(Reduction::assign, dtype, of_lane, least, {}));
  out_.line(fmt::format("for (long {0}_0 = 0; {0}_0 < {1}; {0}_0 += {2})", name, in_lanes, lane_count));
  out_.line("  " + each + " {");
  out_.line(fmt::format("    const long {0} = {0}_0 + {1};", name, number));
  ++out_.depth;
  body_with(loop, of_lane, body);
  out_.line("}");
  --out_.depth;
  const std::string before = statements_.written(item.body.front());
  out_.line(fmt::format("{} {} = {};", type, whole, before));
  out_.line(each + " " + combined(of_lane));
  if (in_lanes < loop.trip) in_order(in_lanes);
  if (is_float(dtype)) {
    out_.line(fmt::format("if ({} == 0) {{  // the sign is that of the last zero", whole));
    ++out_.depth;
    out_.line(fmt::format("{} = {};", whole, before));
    in_order(0);
    --out_.depth;
    out_.line("}");
  }
  out_.line(before + " = " + whole + ";");
  --out_.depth;
  out_.line("}");
  for (const std::string& used : {lane, number, whole, name}) function_.names.release(used);
  return true;
}

/// The statement with another place to combine into.
void LanePrinter::body_with(const Loop& loop, const std::string& target, const std::function<void()>& body) {
  open_.ranges[loop.variable] = {0, loop.trip - 1};
  statements_.write_to(target);
  body();
  statements_.write_to("");
  open_.ranges.erase(loop.variable);
}

}  // namespace isamap
