#pragma once
// Serves the pages of a recording while it runs, and a while longer: the process that `record --live` starts,
// see ops/capture/live_pages.h.

#include <string>

namespace nl::cli {

/// Standard input is a pipe that closes when the recorder ends. The exit code of the process.
int serve_live_pages(const std::string& ledger, const std::string& recording);

}  // namespace nl::cli
