// SPDX-License-Identifier: Apache-2.0
#pragma once
// Arrays as numpy stores them: .npy, and .npz, which is a zip archive of them.
//
// bf16, tf32 and floats of 8 bits have no numpy type: they are written as unsigned integers of their width, bit by bit,
// and such integers are read as them where a model wants them (`as_type`).

#include "frontends/model.h"

namespace isamap {

/// One array of an .npy file's bytes, row-major. Errors name what is wrong; they have no location.
Result<TensorData> parse_npy(const std::string& bytes);
std::string print_npy(const TensorData& data);

/// All arrays of an .npz file, by name without ".npy", or the one of an .npy file, without a name.
Result<std::vector<NamedData>> load_arrays(const std::string& path);
/// As .npz; as .npy if the path ends so, with one array.
Result<bool> save_arrays(const std::string& path, const std::vector<NamedData>& arrays);

/// The same bytes as `type` where numpy has no type of that name; otherwise as they are.
TensorData as_type(TensorData data, DType type);

}  // namespace isamap
