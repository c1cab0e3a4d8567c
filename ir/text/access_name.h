// SPDX-License-Identifier: Apache-2.0
#pragma once
// Names of a statement's accesses in the lines of a schedule.
//
//   G[i,j] += X[i,k] * X[j,k]        stage X in spad       the tile of X[i,k]
//                                    stage X.2 in spad     the tile of X[j,k]

#include "isamap/kernel.h"
#include "isamap/schedule.h"

namespace isamap {

/// The tensor's name; the second and later reads have their number, "X.2". Reads of the written tensor have its plain
/// name.
std::string access_name(const std::vector<Tensor>& tensors, const Computation& statement, int access);

/// Is the tile of the stage that of the access? A fused tile (`from` another nest) is that of every read of its tensor.
bool holds(const Stage& stage, const std::vector<Tensor>& tensors, const Computation& statement, int access);

/// Of its buffer in a program: "X_2_spad".
std::string tile_name(const Stage& stage);

}  // namespace isamap
