// SPDX-License-Identifier: Apache-2.0
#pragma once
// The description of this machine's processor, among those that are there.

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace isamap {

/// Of the descriptions whose programs run here natively, without a shim or an emulator, the one that requires the most
/// features of the processor: each feature that it names is one that it uses, or one by which it knows the processor.
/// Of equal ones the one with the largest product in one instruction, then the first. Its name; `files`: names
/// and paths. Nothing: none runs here.
std::optional<std::string> native_target(const std::vector<std::pair<std::string, std::string>>& files);

}  // namespace isamap
