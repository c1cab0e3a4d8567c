// SPDX-License-Identifier: Apache-2.0
#pragma once
// Breakdown of the cost of a nest: its loops and tiles in words, bytes of each link, the terms of cycles and energy,
// each with the line of the hardware file that states its figure.

#include <string>
#include <vector>

#include "scheduler/cost/latency.h"
#include "scheduler/cost/priced_nest.h"

namespace isamap {

struct CostTerm {
  std::string name;  ///< "memory GLB", "reads of A in GLB"
  double value = 0;  ///< cycles or pJ
  std::string how;   ///< "8192 words x 6 pJ"
  SourceLocation where;
};

/// Residence of a tile: a stage, or a tensor at home.
struct TileRow {
  std::string memory, tensor, extents;  ///< "m 8 x k 16"
  std::vector<double> shares;           ///< by dim of the statement: part of its extent
  double words = 0, bytes = 0;          ///< of one buffer
  int buffers = 1;
  double renewals = 0;  ///< of the busiest instance
  double capacity = 0;  ///< bytes; 0: not stated
};

struct LinkRow {
  std::string link, tensor;
  double bytes = 0;
};

struct CostReport {
  std::string statement;
  std::vector<std::string> loops;  ///< the nest in words, a line each
  std::vector<std::string> dims;
  std::vector<TileRow> tiles;
  std::vector<LinkRow> links;
  std::vector<CostTerm> overlap;  ///< with perfect overlap: the largest is the binding bound
  std::vector<CostTerm> parts;    ///< of the predicted cycles, their sum; empty where these are the largest bound
  std::vector<CostTerm> latency;  ///< their sum
  std::vector<CostTerm> energy;   ///< their sum
  Cost cost;                      ///< closed form; of a command stream its cycles as replayed
  double latency_cycles = 0;
  Latency times;                   ///< the same as numbers
  std::vector<std::string> flows;  ///< "A in GLB", in the order of times.waited
};

CostReport cost_report(const PricedNest& nest);

/// Terms that differ between a and b, by how much: "energy: reads of A in GLB 24576 -> 49152 pJ".
std::vector<CostTerm> differences(const std::vector<CostTerm>& a, const std::vector<CostTerm>& b);

/// "a1.yaml:14"; empty where unknown.
std::string place_of(const SourceLocation& where);

}  // namespace isamap
