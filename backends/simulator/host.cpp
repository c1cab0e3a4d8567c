// SPDX-License-Identifier: Apache-2.0
#include "backends/simulator/host.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/overloaded.h"

namespace isamap {
namespace {

Scalar load(DType type, const std::uint8_t* from) {
  std::uint64_t raw = 0;
  for (int b = bytes(type); b-- > 0;) raw = raw << 8 | from[b];
  return decode(type, raw);
}

void store(DType type, std::uint8_t* to, Scalar value) {
  const std::uint64_t raw = encode(type, value);
  for (int b = 0; b < bytes(type); ++b) to[b] = static_cast<std::uint8_t>(raw >> (8 * b));
}

}  // namespace

std::optional<Diagnostic> Host::run(const Node& nest, const std::int64_t* loops) {
  values_.assign(loops, loops + slots_.names().size());
  values_.push_back(0);
  visit(nest);
  return problem_;
}

void Host::visit(const std::vector<Node>& nodes) {
  for (const Node& node : nodes)
    if (!problem_) visit(node);
}

void Host::visit(const Node& node) {
  std::visit(overloaded{
                 [&](const Loop& loop) {
                   const EnclosingLoop outer = loops_.empty() ? EnclosingLoop{} : loops_.back();
                   loops_.push_back({loop.variable, static_cast<double>(loop.trip), outer.variable, outer.steps});
                   for (std::int64_t i = 0; i < loop.trip && !problem_; ++i) {
                     values_[slots_.slot(loop.variable)] = i;
                     visit(loop.body);
                   }
                   loops_.pop_back();
                   values_[slots_.slot(loop.variable)] = 0;
                 },
                 [&](const Guard& guard) {
                   auto [found, fresh] = guards_.try_emplace(&guard);
                   if (fresh)
                     for (const AffineExpr& e : guard.conditions) found->second.emplace_back(e, slots_.names());
                   const bool holds = std::all_of(found->second.begin(), found->second.end(),
                                                  [&](const CompiledAffine& e) { return e(values_.data()) >= 0; });
                   visit(holds ? guard.then : guard.otherwise);
                 },
                 [&](const Element& element) { execute(element); },
                 [](const auto&) {},
             },
             node.is);
}

Host::Place Host::place(const Ref& ref) {
  if (!ref.buffer.valid()) return {true, 0, CompiledAffine(ref.index.at(0), slots_.names())};
  const Buffer& buffer = program_.buffers[ref.buffer.index()];
  Place place{false, ref.buffer.index(), {}};
  AffineExpr offset;
  for (std::size_t a = 0; a < ref.index.size() && a < buffer.strides.size(); ++a) {
    const auto name = ref.index[a].as_dim();
    if (const auto by = name ? computed_read(*name) : std::nullopt) {
      place.computed_by = static_cast<std::size_t>(*by);
      place.stride = buffer.strides[a];
      place.last = buffer.extents[a] - 1;
    } else {
      offset += ref.index[a] * buffer.strides[a];
    }
  }
  if (buffer.slots >= 0)
    problem_ = error(fmt::format("an element statement uses register '{}', which a host cannot", buffer.name));
  place.offset = CompiledAffine(offset, slots_.names());
  return place;
}

/// The offset in the image, or nothing (and a diagnostic) when outside the buffer.
std::uint8_t* Host::at(const Place& place, std::int64_t chosen) {
  const Buffer& buffer = program_.buffers[place.buffer];
  const std::int64_t offset = place.offset(values_.data()) + chosen;
  if (offset >= 0 && offset < element_span(buffer))
    return machine_.image(buffer.memory).data() + buffer.address + offset * bytes(buffer.dtype);
  if (!problem_)
    problem_ = error(fmt::format("an element statement reaches element {} of '{}', which has {}", offset, buffer.name,
                                 element_span(buffer)));
  return nullptr;
}

void Host::execute(const Element& element) {
  auto [found, fresh] = statements_.try_emplace(&element);
  if (fresh) {
    found->second.places.push_back(place(element.write));
    for (const Ref& ref : element.reads) found->second.places.push_back(place(ref));
    if (problem_) return;
    found->second.cycles =
        element_cycles(element, program_.buffers, loops_.empty() ? EnclosingLoop{} : loops_.back(), each_);
  }
  cycles_ += found->second.cycles;
  const auto& places = found->second.places;
  std::vector<Scalar> reads;
  for (std::size_t r = 1; r < places.size(); ++r) {
    const Place& own = places[r];
    if (own.is_value) {
      reads.push_back({0, own.offset(values_.data())});
      continue;
    }
    const std::int64_t index =
        own.computed_by ? std::clamp<std::int64_t>(reads[*own.computed_by].integer, 0, own.last) : 0;
    const std::uint8_t* from = at(own, index * own.stride);
    if (from == nullptr) return;
    reads.push_back(load(program_.buffers[places[r].buffer].dtype, from));
  }
  std::uint8_t* to = at(places[0]);
  if (to == nullptr) return;
  const DType type = program_.buffers[places[0].buffer].dtype;
  const Scalar value = evaluate(element.body, reads.data());
  store(type, to,
        element.reduction == Reduction::assign ? value : combine(element.reduction, type, load(type, to), value));
}

}  // namespace isamap
