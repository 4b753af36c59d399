#pragma once
// Reads bench.yaml. Its shape is that of schema/bench.schema.json; what that says of a place is reported with
// the line. The file says what is run on this machine: it is trusted like any script of its owner, but its
// text is not.

#include <string>
#include <string_view>
#include <vector>

#include "base/environment.h"
#include "base/result.h"
#include "lab/targets/target.h"

namespace nl::lab {

/// `path` stands in messages and says what relative paths begin at.
Result<BenchFile> parse_bench_file(const std::string& text, const std::string& path);
Result<BenchFile> read_bench_file(const Environment& surroundings, const std::string& path);

/// bench.yaml, bench.yml and *.bench.yaml in the folder and below, sorted; hidden folders and links are left
/// out.
std::vector<std::string> find_bench_files(const std::string& folder);

/// "speedup >= 1.05"
Result<Expectation> parse_expectation(const std::string& text);

/// The schema as people and editors read it.
std::string_view bench_schema();

}  // namespace nl::lab
