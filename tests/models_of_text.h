// SPDX-License-Identifier: Apache-2.0
#pragma once
// Small models for tests, out of the text of a kernel, and their simplest plan.

#include <algorithm>
#include <cctype>
#include <string>

#include "frontends/model.h"
#include "ir/text/parse.h"
#include "planner/plan.h"

namespace isamap {

/// Inputs are the tensors that no statement writes and that are no constants, outputs those that none reads; files call
/// them like the kernel, in small letters.
inline Model model_of(Kernel kernel) {
  Model model;
  model.kernel = std::move(kernel);
  for (std::size_t t = 0; t < model.kernel.tensors.size(); ++t) {
    const auto id = make_id<TensorId>(t);
    bool written = false, read = false;
    for (const Computation& statement : model.kernel.statements) {
      written = written || statement.write.tensor == id;
      read = read || std::any_of(statement.reads.begin(), statement.reads.end(),
                                 [&](const Access& access) { return access.tensor == id; });
    }
    if (written == read || model.kernel.tensors[t].constant) continue;
    (written ? model.outputs : model.inputs).push_back(id);
    std::string name = model.kernel.tensors[t].name;
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    model.file_names[id] = name;
  }
  return model;
}
inline Model model_of(const std::string& text) { return model_of(*parse_kernel(text)); }

/// Each statement is a node of its name.
inline Model with_origins(Model model) {
  for (const Computation& statement : model.kernel.statements) {
    Origin origin;
    origin.nodes = {statement.name};
    model.origins.push_back(origin);
  }
  return model;
}

/// Every statement is a part.
inline ModelPlan single_statements(const Kernel& kernel) {
  ModelPlan plan;
  for (std::size_t s = 0; s < kernel.statements.size(); ++s) plan.parts.push_back({{s}});
  return plan;
}

}  // namespace isamap
