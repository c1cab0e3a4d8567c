// SPDX-License-Identifier: Apache-2.0
// `hw graph --format svg`: units as nested boxes, outermost first, their memories stacked inside; every link leaves its
// memory to the right with its name and bandwidth on the line, runs down or up in a separate lane and returns.

#include <fmt/format.h>

#include <algorithm>

#include "hwdesc/model/describe_internal.h"
#include "isamap/hardware.h"

namespace isamap {

namespace {

constexpr int gap = 14, memory_width = 170, row_height = 22, title = 30, lane = 14, character = 7;

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

int width_of(const std::string& text) { return character * static_cast<int>(text.size()); }

struct Frame {
  int x = 0, y = 0, width = 0, height = 0;
};

std::string rectangle(const Frame& b, const char* fill, const char* stroke) {
  return fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"5\" fill=\"{}\" stroke=\"{}\"/>\n", b.x,
                     b.y, b.width, b.height, fill, stroke);
}

std::string words(int x, int y, const std::string& text, const char* style = "") {
  return fmt::format("<text x=\"{}\" y=\"{}\"{}>{}</text>\n", x, y, style, escaped(text));
}

/// The first few instructions that a unit executes.
std::string work_of(const HardwareModel& model, UnitId unit) {
  constexpr std::size_t most = 4;
  std::string text;
  std::size_t count = 0;
  for (const Instruction& instruction : model.instructions())
    if (instruction.unit == unit && is_compute(instruction) && ++count <= most)
      text += (text.empty() ? "" : ", ") + instruction.name;
  return count > most ? fmt::format("{} and {} more", text, count - most) : text;
}

class Picture {
 public:
  explicit Picture(const HardwareModel& model)
      : model_(model),
        units_(model.units().size()),
        memories_(model.memories().size()),
        slots_(model.memories().size()) {}

  std::string draw() {
    int y = gap;
    for (const std::size_t root : units_inside(model_, UnitId{})) y = place(root, gap, y) + gap;
    for (const Frame& box : units_) widest_ = std::max(widest_, 2 * box.x - gap + box.width);
    for (Frame& box : units_) box.width = widest_ - 2 * box.x + gap;  // as far from the right as from the left
    for (const std::size_t root : units_inside(model_, UnitId{})) draw_unit(root);
    draw_links();
    for (std::size_t m = 0; m < memories_.size(); ++m) draw_memory(m);
    const int width = right_ + gap;
    return fmt::format(
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
               "font-family=\"Helvetica, Arial, sans-serif\" font-size=\"13\" fill=\"#222\">\n"
               "<defs><marker id=\"arrow\" markerWidth=\"9\" markerHeight=\"8\" refX=\"8\" refY=\"3.5\" "
               "orient=\"auto\">"
               "<path d=\"M0,0 L8,3.5 L0,7 z\" fill=\"#333\"/></marker></defs>\n"
               "<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n",
               width, y) +
           text_ + "</svg>\n";
  }

 private:
  int links_at(std::size_t memory) const {
    return static_cast<int>(std::count_if(model_.links().begin(), model_.links().end(), [&](const Link& link) {
      return link.from.index() == memory || link.to.index() == memory;
    }));
  }

  /// Places the unit's box, its memories and the units inside it; returns the y below it.
  int place(std::size_t unit, int x, int y) {
    const auto id = make_id<UnitId>(unit);
    int bottom = y + title;
    for (std::size_t m = 0; m < memories_.size(); ++m) {
      if (!(model_.memories()[m].per == id)) continue;
      memories_[m] = {x + gap, bottom, memory_width, std::max(2, links_at(m)) * row_height + 6};
      bottom += memories_[m].height + gap;
    }
    for (const std::size_t child : units_inside(model_, id)) bottom = place(child, x + gap, bottom) + gap;
    const std::string work = work_of(model_, id);
    const int wide =
        std::max(2 * gap + memory_width, gap * 3 + width_of(unit_title(model_.units()[unit])) + width_of(work));
    units_[unit] = {x, y, wide, std::max(bottom, y + title) - y};
    return y + units_[unit].height;
  }

  void draw_unit(std::size_t unit) {
    const Frame& box = units_[unit];
    const std::string name = unit_title(model_.units()[unit]), work = work_of(model_, make_id<UnitId>(unit));
    text_ += rectangle(box, "#fafafa", "#999") + words(box.x + gap, box.y + 20, name, " font-weight=\"bold\"");
    if (!work.empty()) text_ += words(box.x + 2 * gap + width_of(name), box.y + 20, work, " fill=\"#777\"");
    for (const std::size_t child : units_inside(model_, make_id<UnitId>(unit))) draw_unit(child);
  }

  void draw_memory(std::size_t m) {
    const Memory& memory = model_.memories()[m];
    const Frame& box = memories_[m];
    const int middle = box.y + box.height / 2;
    text_ += rectangle(box, colour(memory.kind), "#555") +
             words(box.x + box.width / 2, middle - 4, memory.name, " text-anchor=\"middle\" font-weight=\"bold\"") +
             words(box.x + box.width / 2, middle + 13, fmt::format("{} {}", name(memory.kind), memory_size(memory)),
                   " text-anchor=\"middle\" font-size=\"11\"");
  }

  /// Slots are assigned top down, so that lines at one memory do not cross.
  int slot(std::size_t memory) { return memories_[memory].y + 3 + row_height / 2 + row_height * slots_[memory]++; }

  void draw_links() {
    int labels = widest_ + 2 * gap;
    for (const Link& link : model_.links()) labels = std::max(labels, widest_ + 2 * gap + width_of(label(link)));
    int at = labels + gap;
    for (const Link& link : model_.links()) {
      const std::size_t from = link.from.index(), to = link.to.index();
      const int y1 = slot(from), y2 = slot(to), x1 = memories_[from].x + memory_width,
                x2 = memories_[to].x + memory_width;
      text_ += fmt::format(
          "<path d=\"M{},{} H{} V{} H{}\" fill=\"none\" stroke=\"#333\" stroke-width=\"1.3\" "
          "marker-end=\"url(#arrow)\"/>\n",
          x1, y1, at, y2, x2 + 1);
      text_ += words(widest_ + 2 * gap, y1 - 4, label(link), " font-size=\"12\"");
      at += lane;
    }
    right_ = model_.links().empty() ? widest_ + gap : at;
  }
  std::string label(const Link& link) const {
    std::string text = link.name;
    if (link.bandwidth > 0) text += " " + rate_text(link.bandwidth);
    for (const MemoryId cache : link.via)
      text += (cache == link.via.front() ? " via " : ", ") + model_.memory(cache).name;
    return text;
  }

  const HardwareModel& model_;
  std::vector<Frame> units_, memories_;
  std::vector<int> slots_;
  std::string text_;
  int widest_ = 0, right_ = 0;
};

}  // namespace

std::string svg(const HardwareModel& model) { return Picture(model).draw(); }

}  // namespace isamap
