// SPDX-License-Identifier: Apache-2.0
// An extension of another isamap: the same names, other numbers, and a function that must never be called.
#include <cstdlib>

extern "C" {
extern const unsigned long long isamap_strategy_abi[8];
const unsigned long long isamap_strategy_abi[8] = {999999};
void isamap_strategy_factory(void*) { std::abort(); }
}
