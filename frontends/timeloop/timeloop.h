// SPDX-License-Identifier: Apache-2.0
#pragma once
// Import of Timeloop's problem, architecture and mapping files (version 0.4; Parashar et al., ISPASS 2019;
// timeloop.csail.mit.edu/v4/input-formats). The subset: a dense problem with a projection for each tensor, one product
// of two inputs; storage levels in a row, in a list of nodes or in a tree with one branch, with sizes, word bits,
// bandwidths and one mesh between two levels; a mapping of temporal, spatial and bypass entries. Anything else is an
// error.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "support/yaml.h"

namespace isamap::timeloop {

struct Term {
  std::string dim;
  std::int64_t coefficient = 1;
};

struct DataSpace {
  std::string name;
  bool output = false;
  std::vector<std::vector<Term>> ranks;  ///< each a sum
  SourceLocation where;
};

struct Problem {
  std::string name;
  std::vector<std::pair<std::string, std::int64_t>> dims;
  std::vector<DataSpace> spaces;
  std::optional<std::int64_t> extent(const std::string& dim) const;
};

/// Units between a level and the one around it; 1 x 1: none.
struct Mesh {
  std::int64_t x = 1, y = 1;
  std::vector<std::string> names;  ///< of the containers: spatial entries may target them
};

struct Level {
  std::string name;
  double words = 0;  ///< capacity; 0: unlimited
  std::int64_t word_bits = 16;
  double read_bandwidth = 0, write_bandwidth = 0;  ///< words/cycle of an instance; 0: unlimited
  double read_energy = 0, write_energy = 0;        ///< pJ/word
  Mesh mesh;                                       ///< towards the level around it
};

struct Architecture {
  std::string name;
  std::vector<Level> levels;  ///< outermost first
  std::string compute;
  double compute_energy = 0;  ///< pJ
};

struct LevelMapping {
  std::vector<std::pair<std::string, std::int64_t>> temporal, spatial;  ///< inner to outer; spatial: towards the child
  std::optional<std::size_t> split;                                     ///< spatial: position of the first one on y
  std::vector<std::string> bypass;
  SourceLocation where;
};

/// By level of the architecture.
using Mapping = std::vector<LevelMapping>;

std::optional<Problem> read_problem(const yaml::Node& root, Diagnostics& problems);
/// `energies`: a file with an energy reference table (ERT); null: energies are attributes. `notes`: ignored parts.
std::optional<Architecture> read_architecture(const yaml::Node& root, const yaml::Node* energies, Diagnostics& problems,
                                              std::vector<std::string>& notes);
std::optional<Mapping> read_mapping(const yaml::Node& root, const Problem& problem, const Architecture& architecture,
                                    Diagnostics& problems);

struct Files {
  std::string problem, architecture, mapping, energy;  ///< paths; the last two may be empty
};

/// Texts of our kernel, hardware and schedule files.
struct Imported {
  std::string kernel, hardware, schedule;
  std::vector<std::string> notes;
};

Result<Imported> import(const Files& files);

/// A name valid in our files: letters, digits, underscores.
std::string identifier(const std::string& name);

}  // namespace isamap::timeloop
