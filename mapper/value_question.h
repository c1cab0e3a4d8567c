#pragma once
// The question R of a certificate: values within their ranges for which an instruction is not exact.

#include "mapper/certificate.h"
#include "mapper/exact_form.h"

namespace isamap {

/// Reads v0, v1, ... in their ranges whose sum saturates, or wraps before it is widened. Not linear.
Question value_question(const Exactness& exact, const Loss& held);

}  // namespace isamap
