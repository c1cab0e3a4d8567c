// What `hw graph` draws: units as nested boxes, memories in them, links between.

#include <fmt/format.h>

#include <functional>

#include "hwdesc/describe_internal.h"
#include "hwdesc/yaml_loader.h"

namespace isamap {

namespace {

std::string memory_size(const Memory& memory) {
  return memory.is_register() ? fmt::format("{} x {}", memory.count, size_text(memory.size))
                              : size_text(memory.capacity);
}

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

std::string unit_title(const Unit& unit) {
  return unit.count == 1 ? unit.name : fmt::format("{} x {}{}", unit.name, unit.at_most ? "up to " : "", unit.count);
}

std::vector<std::size_t> children(const HardwareModel& model, UnitId parent) {
  std::vector<std::size_t> result;
  for (std::size_t i = 0; i < model.units().size(); ++i)
    if (model.units()[i].parent == parent) result.push_back(i);
  return result;
}

std::vector<std::size_t> owned(const HardwareModel& model, UnitId unit) {
  std::vector<std::size_t> result;
  for (std::size_t i = 0; i < model.memories().size(); ++i)
    if (model.memories()[i].per == unit) result.push_back(i);
  return result;
}

// --- SVG: boxes are laid out from the leaves; a unit's memories stand in a row above the units inside it ---

constexpr int memory_width = 130, memory_height = 46, gap = 16, title_height = 26, link_room = 30;

struct Box {
  int x = 0, y = 0, width = 0, height = 0;
};

class Layout {
 public:
  explicit Layout(const HardwareModel& model)
      : model_(model), units(model.units().size()), memories(model.memories().size()) {}

  void place(std::size_t unit, int x, int y) {
    const auto id = make_id<UnitId>(unit);
    int right = x + gap + 9 * static_cast<int>(unit_title(model_.units()[unit]).size()), bottom = y + title_height,
        at = x + gap;
    for (const std::size_t m : owned(model_, id)) {
      memories[m] = {at, bottom, memory_width, memory_height};
      at += memory_width + 2 * gap;
      right = std::max(right, at - gap);
    }
    if (at > x + gap) bottom += memory_height + link_room;
    at = x + gap;
    int lowest = bottom;
    for (const std::size_t child : children(model_, id)) {
      place(child, at, bottom);
      at += units[child].width + gap;
      right = std::max(right, at);
      lowest = std::max(lowest, bottom + units[child].height);
    }
    units[unit] = {x, y, right - x, lowest + gap - y};
  }

 private:
  const HardwareModel& model_;

 public:
  std::vector<Box> units, memories;
};

const char* colour(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::dram:
      return "#cfe3f7";
    case MemoryKind::cache:
      return "#eeeeee";
    case MemoryKind::scratchpad:
      return "#d8f0d2";
    case MemoryKind::accumulator:
      return "#f9e2c4";
    case MemoryKind::register_file:
      return "#f3d3dd";
  }
  return "#ffffff";
}

std::string draw_box(const Box& b, const char* fill, const char* stroke) {
  return fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"5\" fill=\"{}\" stroke=\"{}\"/>\n", b.x,
                     b.y, b.width, b.height, fill, stroke);
}

std::string draw_text(int x, int y, const std::string& text, const char* anchor = "middle") {
  return fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor, escaped(text));
}

/// An arrow from box to box; the two directions of a pair run beside each other.
std::string draw_link(const HardwareModel& model, const Link& link, const Layout& layout) {
  const Box& a = layout.memories[link.from.index()];
  const Box& b = layout.memories[link.to.index()];
  const bool down = a.y < b.y, level = a.y == b.y;
  const int shift = link.from < link.to ? -12 : 12;
  const int x1 = level ? (a.x < b.x ? a.x + a.width : a.x) : a.x + a.width / 2 + shift,
            x2 = level ? (a.x < b.x ? b.x : b.x + b.width) : b.x + b.width / 2 + shift;
  const int y1 = level ? a.y + a.height / 2 + shift / 2 : (down ? a.y + a.height : a.y),
            y2 = level ? b.y + b.height / 2 + shift / 2 : (down ? b.y : b.y + b.height);
  const std::string label = link.name + (link.bandwidth > 0 ? " " + rate_text(link.bandwidth) : "");
  std::string via;
  for (const MemoryId cache : link.via) via += " via " + model.memory(cache).name;
  return fmt::format(
      "<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" stroke=\"#555\" "
      "marker-end=\"url(#arrow)\"><title>{}</title></line>\n",
      x1, y1, x2, y2, escaped(label + via));
}

}  // namespace

std::string svg(const HardwareModel& model) {
  Layout layout(model);
  int x = gap, height = 0;
  for (const std::size_t root : children(model, UnitId{})) {
    layout.place(root, x, gap);
    x += layout.units[root].width + gap;
    height = std::max(height, layout.units[root].height + 2 * gap);
  }
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n",
      x, height);
  text +=
      "<defs><marker id=\"arrow\" markerWidth=\"8\" markerHeight=\"8\" refX=\"7\" refY=\"3\" orient=\"auto\"><path "
      "d=\"M0,0 L7,3 L0,6 z\" fill=\"#555\"/></marker></defs>\n";
  const std::function<void(std::size_t)> draw_unit = [&](std::size_t u) {
    const Box& box = layout.units[u];
    text +=
        draw_box(box, "#fcfcfc", "#999") + draw_text(box.x + gap, box.y + 17, unit_title(model.units()[u]), "start");
    for (const std::size_t child : children(model, make_id<UnitId>(u))) draw_unit(child);
  };
  for (const std::size_t root : children(model, UnitId{})) draw_unit(root);
  for (const Link& link : model.links()) text += draw_link(model, link, layout);
  for (std::size_t m = 0; m < model.memories().size(); ++m) {
    const Box& box = layout.memories[m];
    text += draw_box(box, colour(model.memories()[m].kind), "#666") +
            draw_text(box.x + box.width / 2, box.y + 19, model.memories()[m].name) +
            draw_text(box.x + box.width / 2, box.y + 36, memory_size(model.memories()[m]));
  }
  return text + "</svg>\n";
}

std::string graphviz(const HardwareModel& model) {
  std::string text = "digraph hardware {\n  node [shape=box, style=rounded];\n";
  const std::function<void(std::size_t, std::string)> unit = [&](std::size_t u, const std::string& indent) {
    text += fmt::format("{}subgraph \"cluster_{}\" {{\n{}  label=\"{}\";\n", indent, model.units()[u].name, indent,
                        unit_title(model.units()[u]));
    for (const std::size_t m : owned(model, make_id<UnitId>(u)))
      text += fmt::format("{}  \"{}\" [label=\"{}\\n{} {}\"];\n", indent, model.memories()[m].name,
                          model.memories()[m].name, name(model.memories()[m].kind), memory_size(model.memories()[m]));
    for (const std::size_t child : children(model, make_id<UnitId>(u))) unit(child, indent + "  ");
    text += indent + "}\n";
  };
  for (const std::size_t root : children(model, UnitId{})) unit(root, "  ");
  for (const Link& link : model.links())
    text +=
        fmt::format("  \"{}\" -> \"{}\" [label=\"{}{}\"];\n", model.memory(link.from).name, model.memory(link.to).name,
                    link.name, link.bandwidth > 0 ? "\\n" + rate_text(link.bandwidth) : "");
  return text + "}\n";
}

}  // namespace isamap
