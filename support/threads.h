// SPDX-License-Identifier: Apache-2.0
#pragma once
// Parallel work with exceptions: an exception of a thread (an InternalError, or one of user code) is rethrown in the
// caller after all threads have ended.

#include <cstddef>
#include <functional>

namespace isamap {

/// Calls work(0) .. work(count - 1), each in its own thread, the first in the caller's. Of several exceptions that of
/// the smallest number is rethrown.
void side_by_side(std::size_t count, const std::function<void(std::size_t)>& work);

}  // namespace isamap
