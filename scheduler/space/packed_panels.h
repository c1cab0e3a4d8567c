// SPDX-License-Identifier: Apache-2.0
#pragma once
// Packed copies as panels of the register tile: their layout, where they are made, and how much at a time.

#include "scheduler/space/cpu_nest.h"

namespace isamap {

/// Widens blocks of one call, [j/16, k, j%16], to panels of the register tile, [j/48, k, j%48]: a step of the loop
/// around the calls then reads one row, and consecutive rows are prefetched by hardware. Where an input is contiguous
/// along a dim of which each call takes one element, [i, k/4, k%4] becomes [i/14, k/4, i%14, k%4]: rows of the tensor
/// are copied to rows of the panel. Where the reduction loops are not in the stated order, the panel has their order.
std::vector<LayoutDigit> panel_layout(const CpuTemplate& form, int access, std::vector<LayoutDigit> layout);

/// An input with disjoint tiles along the outermost loop is packed tile by tile, so that it is still cached when
/// used; also below loops distributed over threads, if their tiles are disjoint.
bool packs_inside(const CpuTemplate& form, int access);

/// Elements of the outermost parallel dim, of `extent`, for which inputs are packed at a time: the register tile, or as
/// many of them as make a row of what a cache fetches together (`fetch` of its file, or a line) in a tensor that is
/// contiguous along the dim. Rows of the tensor are far apart, so prefetchers do not follow them, and a line that two
/// panels share is fetched for each. u8 times s8, 16 x 3072 x 1024, Zen 5: 0.182 ms with rows of 48 bytes, 0.157 with
/// 64, 0.147 with 128, 0.147 with 256.
std::int64_t packed_at_once(const CpuTemplate& form, std::int64_t extent);

}  // namespace isamap
