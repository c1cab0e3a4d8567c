// SPDX-License-Identifier: Apache-2.0
#pragma once
// Cancellation of long evaluations: cost models that take longer than a few tens of milliseconds ask whether their
// result is still wanted, so that the end of a search does not wait for them.

namespace isamap {

/// Leaves the evaluation, by an exception that the search catches, if the search has ended; does nothing outside of a
/// search. Call it every few microseconds to milliseconds, on the thread of `CostModel::estimate`, and let the
/// exception pass.
void leave_if_asked();

}  // namespace isamap
