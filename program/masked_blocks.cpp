// SPDX-License-Identifier: Apache-2.0
#include "program/masked_blocks.h"

#include <algorithm>
#include <limits>

#include "support/overloaded.h"

namespace isamap {
namespace {

class ExtentComparison {
 public:
  ExtentComparison(const Program& a, const Program& b, std::int64_t more, const HardwareModel* model = nullptr)
      : a_(a), b_(b), more_(more), model_(model) {}

  std::optional<std::set<std::int64_t>> run() {
    compare_buffers();
    compare(a_.prepack, b_.prepack);
    compare(a_.body, b_.body);
    return good_ ? std::optional(changed_) : std::nullopt;
  }
  /// Some extent that differs has the number of one that does not.
  bool is_ambiguous() const {
    return std::any_of(changed_.begin(), changed_.end(), [&](std::int64_t extent) { return kept_.contains(extent); });
  }

  std::int64_t room() const { return room_; }

 private:
  void require(bool condition) { good_ = good_ && condition; }

  void compare_buffers() {
    require(a_.buffers.size() == b_.buffers.size());
    for (std::size_t b = 0; good_ && b < a_.buffers.size(); ++b) {
      Buffer one = a_.buffers[b], other = b_.buffers[b];
      if (one.role == BufferRole::argument) one.extents = other.extents, one.strides = other.strides;
      one.name = other.name = "";  // tells extents
      one.address = other.address = 0;
      one.layout_text = other.layout_text = "";
      if (one.slots < 0 || one.role == BufferRole::argument) {
        require(one == other);
      } else {
        const std::int64_t slot = a_.buffers[b].address, same = b_.buffers[b].address;
        require(one == other && slot == same);
      }
    }
  }

  void compare(const std::vector<Node>& a, const std::vector<Node>& b) {
    std::size_t i = 0, j = 0;
    const auto skip = [](const std::vector<Node>& nodes, std::size_t& at) {
      while (at < nodes.size() && std::holds_alternative<Comment>(nodes[at].is)) ++at;
    };
    while (good_) {
      skip(a, i), skip(b, j);
      if (i == a.size() || j == b.size()) return require(i == a.size() && j == b.size());
      if (a[i].is.index() != b[j].is.index()) return require(false);
      std::visit([&](const auto& one) { compare(one, std::get<std::decay_t<decltype(one)>>(b[j].is)); }, a[i].is);
      ++i, ++j;
    }
  }
  void compare(const Loop& a, const Loop& b) {
    Loop head = a, other = b;
    head.body.clear(), other.body.clear();
    require(head == other);
    compare(a.body, b.body);
  }
  void compare(const Guard& a, const Guard& b) {
    require(a.conditions == b.conditions && a.role == b.role);
    compare(a.then, b.then);
    compare(a.otherwise, b.otherwise);
  }
  void compare(const Call& a, const Call& b) {
    Call one = a;
    one.extents = b.extents;
    require(one == b && a.extents.size() == b.extents.size());
    for (std::size_t d = 0; good_ && d < a.extents.size(); ++d) {
      if (a.extents[d] == b.extents[d])
        kept_.insert(a.extents[d]);
      else if (b.extents[d] - a.extents[d] == more_)
        change(a, d);
      else
        require(false);
    }
  }
  void change(const Call& call, std::size_t d) {
    changed_.insert(call.extents[d]);
    if (model_ == nullptr) return;
    const std::vector<DimRange>& ranges = model_->instruction(call.instruction).ranges;
    room_ = std::min(room_, d < ranges.size() ? ranges[d].max - call.extents[d] : 0);
  }
  void compare(const Element& a, const Element& b) { require(a == b); }
  void compare(const Sync& a, const Sync& b) { require(a == b); }
  void compare(const Comment&, const Comment&) {}

  const Program &a_, &b_;
  std::int64_t more_;
  const HardwareModel* model_;
  std::int64_t room_ = std::numeric_limits<std::int64_t>::max();
  bool good_ = true;
  std::set<std::int64_t> changed_, kept_;
};

}  // namespace

std::optional<std::set<std::int64_t>> masked_extents(const Program& a, const Program& b, std::int64_t more) {
  ExtentComparison comparison(a, b, more);
  auto extents = comparison.run();
  return comparison.is_ambiguous() ? std::nullopt : extents;
}

std::int64_t masked_room(const Program& a, const Program& b, std::int64_t more, const HardwareModel& model) {
  ExtentComparison comparison(a, b, more, &model);
  const auto extents = comparison.run();
  return extents && !extents->empty() ? comparison.room() : 0;
}

std::optional<std::set<std::int64_t>> differing_extents(const Program& a, const Program& b, std::int64_t more) {
  return ExtentComparison(a, b, more).run();
}

}  // namespace isamap
