#pragma once
// Decides which of the given files belong to one run. Some formats, such as trtexec's, write a run into
// several files in one folder with similar names (net.profile.json, net.timing.json, net.layers.json).

#include <string>
#include <vector>

namespace nl::ops {

/// The paths, each group a run, in the order of the first path of each. Only looks into files that are named
/// alike; `format` overrules detection.
std::vector<std::vector<std::string>> group_by_run(const std::vector<std::string>& paths,
                                                   const std::string& format);

/// The name of a file without its extensions and the words that tell the files of one run apart.
std::string run_stem(const std::string& file_name);

}  // namespace nl::ops
