// SPDX-License-Identifier: Apache-2.0
#pragma once
// One function a verb, one file a function.

#include "cli/options.h"

namespace isamap::cli {

Exit verb_hw_check(const Options& options);
Exit verb_hw_show(const Options& options);
Exit verb_hw_graph(const Options& options);
Exit verb_hw_diff(const Options& options);
Exit verb_hw_new(const Options& options);
Exit verb_hw_verify(const Options& options);
Exit verb_targets(const Options& options);
Exit verb_coverage(const Options& options);
Exit verb_map(const Options& options);
Exit verb_explain(const Options& options);
Exit verb_extract(const Options& options);
Exit verb_schedule(const Options& options);
Exit verb_evaluate(const Options& options);
Exit verb_emit(const Options& options);
Exit verb_run(const Options& options);
Exit verb_tune(const Options& options);
Exit verb_replay(const Options& options);
Exit verb_lab_run(const Options& options);
Exit verb_lab_report(const Options& options);
Exit verb_lab_optima(const Options& options);
Exit verb_lab_csv(const Options& options);

}  // namespace isamap::cli
