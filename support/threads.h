// SPDX-License-Identifier: Apache-2.0
#pragma once
// Work side by side that ends like work in one thread: what a thread throws, an InternalError or what code of the user
// throws, reaches the caller, once all threads have ended.

#include <cstddef>
#include <functional>

namespace isamap {

/// Calls work(0) .. work(count - 1), each in a thread of its own, the first in that of the caller. Where several throw,
/// what that with the smallest number throws is thrown.
void side_by_side(std::size_t count, const std::function<void(std::size_t)>& work);

}  // namespace isamap
