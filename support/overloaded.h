// SPDX-License-Identifier: Apache-2.0
#pragma once
// std::visit with one lambda for each alternative: a new alternative fails to compile until it is handled.

namespace isamap {

template <class... Ts>
struct overloaded : Ts... {
  using Ts::operator()...;
};
template <class... Ts>
overloaded(Ts...) -> overloaded<Ts...>;

}  // namespace isamap
