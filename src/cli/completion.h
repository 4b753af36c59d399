#pragma once
// Scripts for shell completion, generated from the registry of operations.

#include <string>

namespace nl::cli {

/// The script for bash, zsh or fish.
std::string completion_script(const std::string& shell);

}  // namespace nl::cli
