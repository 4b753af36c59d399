#pragma once
// A profile that the Python package measures, of a script, a function or a model. Either we start the process
// (`python -m neurolens._profile_target`), or a program has called `neurolens.profile` itself.

#include "ops/capture/profile_run.h"

namespace nl::ops {

/// script.py, script.py:function or module:function.
bool is_python_target(const std::string& text);

/// `parameters` are those of the operation profile; `framework` is that of the plan: auto or openvino. What
/// was measured is in the folder.
Result<MeasuredProfile> profile_python(const Context& context, const nlohmann::json& parameters,
                                       const std::string& framework, const std::string& folder);

/// The same of a folder `from` that a Python program has filled; its files are copied.
Result<MeasuredProfile> take_python_passes(const std::string& from, const std::string& folder);

}  // namespace nl::ops
