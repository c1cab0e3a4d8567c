// isamap tune: search with measured cost.

#include "cli/common.h"
#include "cli/verbs.h"

namespace isamap::cli {

Exit verb_tune(const Options&) {
  return fail(Exit::usage, "tune, a search whose costs are measured, is not part of this version",
              "`isamap schedule` searches with predicted cost, `isamap run` measures one schedule");
}

}  // namespace isamap::cli
