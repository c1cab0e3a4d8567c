// SPDX-License-Identifier: Apache-2.0
#pragma once
// A list of nodes (version 0.4): containers and components, each inside the one before. Or a tree (up to 0.3, and what
// the front end of 0.4 writes): subtrees with local components, names[0..n] counting instances. Both become a row of
// storage levels with meshes between them.

#include <optional>
#include <string>
#include <vector>

#include "frontends/timeloop/reader.h"
#include "frontends/timeloop/timeloop.h"

namespace isamap::timeloop {

/// A storage level, or the compute unit inside the last one, as the file describes it.
struct Component {
  std::string name, of;              ///< its class
  const yaml::Node* node = nullptr;  ///< its map, with attributes
  Mesh mesh;                         ///< towards the component around it
};

/// Attributes without effect on access counts, cycles and stated energies; with underscores for hyphens.
inline const std::vector<std::string> ignored_attributes = {
    "technology", "global_cycle_seconds", "num_ports", "num_banks",          "n_rd_ports",
    "n_wr_ports", "n_rdwr_ports",         "n_banks",   "cluster_area",       "storage_area",
    "area",       "min_utilization",      "latency",   "num_pipeline_stages"};

/// Outermost first. `notes`: ignored parts. Nothing: there are neither nodes: nor subtree:, which is reported.
std::optional<std::vector<Component>> read_components(const yaml::Node& architecture, Diagnostics& problems,
                                                      std::vector<std::string>& notes);

}  // namespace isamap::timeloop
