// SPDX-License-Identifier: Apache-2.0
#pragma once
// The question R of a certificate: values within their ranges for which an instruction is not exact.

#include <map>
#include <optional>
#include <string>

#include "mapper/match/exact_form.h"
#include "mapper/proof/certificate.h"

namespace isamap {

/// The expression over integers: reads are v0, v1, ... or their constant; casts are left out, as they change no value
/// of their type. Nothing where it has other operators than + - * and abs.
std::optional<std::string> integer_text(const ScalarExpr& e, const std::map<int, std::int64_t>& constants);

/// Reads v0, v1, ... in their ranges whose sum saturates, or wraps before it is widened. Not linear.
Question value_question(const Exactness& exact, const Loss& cast);

}  // namespace isamap
