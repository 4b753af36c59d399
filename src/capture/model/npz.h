#pragma once
// Arrays that numpy.savez and savez_compressed wrote: a zip of .npy files. Untrusted input: sizes are checked
// before memory is taken.

#include <string>
#include <vector>

#include "base/result.h"
#include "capture/model/onnx_runtime.h"

namespace nl::capture {

/// At most 4 GiB together. Little-endian arrays of numbers in rows-first order; others are an error that
/// names the array.
Result<std::vector<Tensor>> read_npz(const std::string& path);

}  // namespace nl::capture
