// SPDX-License-Identifier: Apache-2.0
// From the parsed files to our own file formats.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "frontends/timeloop/timeloop.h"

namespace isamap::timeloop {

namespace {

/// Tags repeat the kind of a node, which follows from its keys (a component has a class): replaced by blanks.
std::string without_tags(std::string text) {
  bool comment = false;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') comment = false;
    if (comment) continue;
    if (quote != 0) {
      if (c == quote) quote = 0;
      continue;
    }
    if (c == '"' || c == '\'') quote = c;
    const bool after_blank = i == 0 || text[i - 1] == ' ' || text[i - 1] == '\n';
    if (c == '#' && after_blank) comment = true;
    if (c != '!' || !after_blank) continue;
    while (i < text.size() && std::isspace(static_cast<unsigned char>(text[i])) == 0) text[i++] = ' ';
    --i;
  }
  return text;
}

/// One file may contain all of Timeloop's input; each option reads its section.
void check_sections(const yaml::Node& root, Diagnostics& problems) {
  static const std::vector<std::string> known = {"problem",
                                                 "architecture",
                                                 "mapping",
                                                 "ERT",
                                                 "ART",
                                                 "mapper",
                                                 "mapspace",
                                                 "mapspace_constraints",
                                                 "architecture_constraints",
                                                 "variables",
                                                 "components",
                                                 "compound_components",
                                                 "globals"};
  for (std::size_t i = 0; i < root.entries.size(); ++i) {
    const std::string& key = root.entries[i].first;
    if (std::find(known.begin(), known.end(), key) == known.end())
      problems.push_back(error_at(root.key_where[i], "unknown section '" + key + "'", yaml::did_you_mean(key, known)));
  }
}

std::optional<yaml::Node> parse(const std::string& path, Diagnostics& problems) {
  const auto text = yaml::read_text_file(path);
  if (!text) {
    problems.insert(problems.end(), text.diagnostics().begin(), text.diagnostics().end());
    return {};
  }
  auto root = yaml::parse_text(without_tags(*text), path);
  if (root) {
    check_sections(*root, problems);
    return *root;
  }
  problems.insert(problems.end(), root.diagnostics().begin(), root.diagnostics().end());
  return {};
}

std::string iterator(const std::string& dim) {
  std::string name = identifier(dim);
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name;
}

std::string dtype(std::int64_t bits) { return fmt::format("s{}", bits); }

std::string kernel_text(const Problem& problem, std::int64_t bits) {
  const std::string name = problem.name.empty() ? "imported" : identifier(problem.name);
  std::string text = fmt::format("kernel: {}\ndims: {{}}\nwhere: {{", name), tensors, compute;
  for (std::size_t d = 0; d < problem.dims.size(); ++d)
    text += fmt::format("{}{}: {}", d ? ", " : "", iterator(problem.dims[d].first), problem.dims[d].second);
  text += "}\ntensors:\n";
  std::string output, inputs;
  for (const DataSpace& space : problem.spaces) {
    std::vector<std::string> shape, index;
    for (const auto& rank : space.ranks) {
      std::int64_t width = 1;
      std::vector<std::string> sum;
      for (const Term& term : rank) {
        width += term.coefficient * (*problem.extent(term.dim) - 1);
        sum.push_back((term.coefficient == 1 ? "" : fmt::format("{}*", term.coefficient)) + iterator(term.dim));
      }
      shape.push_back(std::to_string(width));
      index.push_back(fmt::format("{}", fmt::join(sum, "+")));
    }
    text +=
        fmt::format("  {}: {{shape: [{}], dtype: {}}}\n", identifier(space.name), fmt::join(shape, ", "), dtype(bits));
    const std::string access = fmt::format("{}[{}]", identifier(space.name), fmt::join(index, ","));
    if (space.output)
      output = access;
    else
      inputs += (inputs.empty() ? "" : " * ") + access;
  }
  return text + fmt::format("compute:\n  - {} += {}\n", output, inputs);
}

/// The unit around all meshes; a mesh may have any name.
std::string whole_chip(const Architecture& architecture) {
  std::string name = "chip";
  const auto taken = [&](const Level& level) {
    return level.mesh.x * level.mesh.y > 1 && !level.mesh.names.empty() && identifier(level.mesh.names.back()) == name;
  };
  while (std::any_of(architecture.levels.begin(), architecture.levels.end(), taken)) name += "_";
  return name;
}

std::string unit_of(const Architecture& architecture, std::size_t level) {
  for (std::size_t l = level + 1; l-- > 0;)
    if (const Mesh& mesh = architecture.levels[l].mesh; mesh.x * mesh.y > 1)
      return identifier(mesh.names.empty() ? architecture.levels[l].name + "_unit" : mesh.names.back());
  return whole_chip(architecture);
}

std::string hardware_text(const Architecture& a) {
  const double bytes = static_cast<double>(a.levels.front().word_bits) / 8;
  std::string text =
      fmt::format("hardware: {}\nclock: 1GHz\nprogram: {{language: asm}}\nunits:\n  - {{name: {}, count: 1}}\n",
                  a.name.empty() ? "imported" : identifier(a.name), whole_chip(a));
  for (std::size_t l = 0; l < a.levels.size(); ++l)
    if (const Mesh& mesh = a.levels[l].mesh; mesh.x * mesh.y > 1)
      text += fmt::format("  - {{name: {}, count: {{x: {}, y: {}}}}}\n", unit_of(a, l), mesh.x, mesh.y);
  text += "memories:\n";
  for (std::size_t l = 0; l < a.levels.size(); ++l) {
    const Level& level = a.levels[l];
    text += fmt::format("  - {{name: {}, per: {}, kind: {}, capacity: {}, word: {}B,\n     ", identifier(level.name),
                        unit_of(a, l), l == 0 ? "dram" : "scratchpad",
                        level.words > 0 ? fmt::format("{}B", level.words * bytes) : "1TiB", bytes);
    std::string rates;
    if (level.read_bandwidth > 0) rates += fmt::format("read: {}words/cycle", level.read_bandwidth);
    if (level.write_bandwidth > 0)
      rates += fmt::format("{}write: {}words/cycle", rates.empty() ? "" : ", ", level.write_bandwidth);
    if (!rates.empty()) text += fmt::format("bandwidth: {{{}}}, ", rates);
    text += fmt::format("energy: {{read: {}pJ, write: {}pJ}}}}\n", level.read_energy, level.write_energy);
  }
  text += "links:\n";
  std::vector<std::string> links;
  for (std::size_t l = 1; l < a.levels.size(); ++l)
    for (const bool down : {true, false}) {
      const std::string outer = identifier(a.levels[l - 1].name), inner = identifier(a.levels[l].name);
      links.push_back((down ? "to_" : "from_") + inner);
      text +=
          fmt::format("  - {{name: {}, from: {}, to: {}}}\n", links.back(), down ? outer : inner, down ? inner : outer);
    }
  const std::string last = identifier(a.levels.back().name), unit = unit_of(a, a.levels.size() - 1);
  const std::string type = dtype(a.levels.front().word_bits), name = identifier(a.compute);
  text += fmt::format(
      "instructions:\n  - {{name: {0}, unit: {1}, compute: \"Z[] += A[] * B[]\", emit: \"{0} {{Z}}, {{A}}, {{B}}\",\n"
      "     timing: {{interval: 1cycles}}, energy: {2}pJ,\n"
      "     operands: {{A: {{memory: {3}, dtype: {4}}}, B: {{memory: {3}, dtype: {4}}}, Z: {{memory: {3}, dtype: "
      "{4}}}}}}}\n"
      "  - {{name: {5}, unit: {1}, compute: \"D[] = 0\", emit: \"{5} {{D}}\", operands: {{D: {{memory: {3}, dtype: "
      "{4}}}}}}}\n",
      name, unit, a.compute_energy, last, type, name == "clear" ? "clear_output" : "clear");
  text += fmt::format(
      "  - {{name: \"copy_${{l}}\", link: \"${{l}}\", compute: \"D[] = S[]\", emit: \"copy_${{l}} {{D}}, {{S}}\", "
      "operands: {{D: {{dtype: {}}}}},\n     variants: [{{l: {}}}]}}\n",
      type, fmt::join(links, "}, {l: "));
  return text;
}

/// Assigns spatial steps to the two axes: by `split`, else the first assignment that fits.
std::optional<std::vector<bool>> on_y(const LevelMapping& level, const Mesh& mesh) {
  const std::size_t n = level.spatial.size();
  for (std::size_t mask = 0; mask < (std::size_t{1} << n); ++mask) {
    std::vector<bool> y(n);
    std::int64_t used_x = 1, used_y = 1;
    bool as_said = true;
    for (std::size_t i = 0; i < n; ++i) {
      y[i] = (mask >> i & 1U) != 0;
      (y[i] ? used_y : used_x) *= level.spatial[i].second;
      if (level.split) as_said = as_said && y[i] == (i >= *level.split);
    }
    if (as_said && used_x <= mesh.x && used_y <= mesh.y) return y;
  }
  return {};
}

std::string schedule_text(const Problem& problem, const Architecture& a, const Mapping& mapping,
                          Diagnostics& problems) {
  std::string text = "schedule: imported\nlevels:\n";
  for (std::size_t l = 0; l < mapping.size(); ++l) {
    std::vector<std::string> loops, spatial, keep;
    for (std::size_t i = mapping[l].temporal.size(); i-- > 0;)
      loops.push_back(fmt::format("{} {}", iterator(mapping[l].temporal[i].first), mapping[l].temporal[i].second));
    if (!mapping[l].spatial.empty()) {
      const Mesh none, &mesh = l + 1 < a.levels.size() ? a.levels[l + 1].mesh : none;
      const auto y = on_y(mapping[l], mesh);
      if (!y) {
        problems.push_back(error_at(mapping[l].where, fmt::format("spatial steps of {} do not fit the mesh of {} x {}",
                                                                  a.levels[l].name, mesh.x, mesh.y)));
        continue;
      }
      for (std::size_t i = mapping[l].spatial.size(); i-- > 0;)
        spatial.push_back(fmt::format("{} {} {}", iterator(mapping[l].spatial[i].first), mapping[l].spatial[i].second,
                                      (*y)[i] ? "y" : "x"));
    }
    for (const DataSpace& space : problem.spaces)
      if (std::find(mapping[l].bypass.begin(), mapping[l].bypass.end(), space.name) == mapping[l].bypass.end())
        keep.push_back(identifier(space.name));
    text += fmt::format("  - {{memory: {}, loops: [{}]", identifier(a.levels[l].name), fmt::join(loops, ", "));
    if (!spatial.empty()) text += fmt::format(", spatial: [{}]", fmt::join(spatial, ", "));
    if (keep.size() < problem.spaces.size()) text += fmt::format(", keep: [{}]", fmt::join(keep, ", "));
    text += "}\n";
  }
  return text;
}

/// One type for all tensors, and distinct names.
void check_together(const Problem& problem, const Architecture& a, Diagnostics& problems) {
  for (const Level& level : a.levels)
    if (level.word_bits != a.levels.front().word_bits)
      problems.push_back(error(fmt::format("words of {} have {} bits, those of {} {}", level.name, level.word_bits,
                                           a.levels.front().name, a.levels.front().word_bits),
                               "only words of one size are imported"));
  const std::int64_t bits = a.levels.front().word_bits;
  if (bits != 8 && bits != 16 && bits != 32)
    problems.push_back(error(fmt::format("words of {} bits have no type here", bits), "8, 16 and 32 have"));
  std::vector<std::string> names;
  for (const auto& [dim, extent] : problem.dims) names.push_back(iterator(dim));
  std::sort(names.begin(), names.end());
  if (const auto same = std::adjacent_find(names.begin(), names.end()); same != names.end())
    problems.push_back(error(fmt::format("two dimensions would both be called {} here", *same)));
}

}  // namespace

std::string identifier(const std::string& name) {
  std::string made;
  for (const char c : name) made += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  if (made.empty() || std::isdigit(static_cast<unsigned char>(made.front())) != 0) made.insert(made.begin(), '_');
  return made;
}

Result<Imported> import(const Files& files) {
  Diagnostics problems;
  const auto problem_file = parse(files.problem, problems);
  const auto architecture_file = parse(files.architecture, problems);
  const auto mapping_file = files.mapping.empty() ? std::nullopt : parse(files.mapping, problems);
  const auto energy_file = files.energy.empty() ? std::nullopt : parse(files.energy, problems);
  if (has_errors(problems)) return problems;
  Imported made;
  const auto problem = read_problem(*problem_file, problems);
  const auto architecture =
      read_architecture(*architecture_file, energy_file ? &*energy_file : nullptr, problems, made.notes);
  if (!problem || !architecture) return problems;
  check_together(*problem, *architecture, problems);
  if (has_errors(problems)) return problems;
  made.kernel = kernel_text(*problem, architecture->levels.front().word_bits);
  made.hardware = hardware_text(*architecture);
  if (mapping_file) {
    const auto mapping = read_mapping(*mapping_file, *problem, *architecture, problems);
    if (!mapping) return problems;
    made.schedule = schedule_text(*problem, *architecture, *mapping, problems);
  }
  if (has_errors(problems)) return problems;
  return made;
}

}  // namespace isamap::timeloop
