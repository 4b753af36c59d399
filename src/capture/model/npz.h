#pragma once
// Reads arrays that numpy.savez or savez_compressed wrote: a zip of .npy files. The input is untrusted, so
// sizes are checked before memory is allocated.

#include <string>
#include <vector>

#include "base/result.h"
#include "capture/model/onnx_runtime.h"

namespace nl::capture {

/// At most 4 GiB together. Little-endian arrays of numbers in rows-first order; others are an error that
/// names the array.
Result<std::vector<Tensor>> read_npz(const std::string& path);

}  // namespace nl::capture
