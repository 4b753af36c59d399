#pragma once
// The part of an answer about a recorded program: the time of its scopes and of the sampled functions, and
// what its threads waited for.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/described.h"

namespace nl::analyze {

struct RecordedScope {
  std::optional<std::string> name = {};
  std::optional<int64_t> calls = {};
  std::optional<int64_t> own_ns = {};
  std::optional<int64_t> total_ns = {};

  static constexpr auto fields() {
    using S = RecordedScope;
    return std::tuple{field("name", &S::name, "of the scope"),
                      field("calls", &S::calls, "how often it was entered"),
                      field("own_ns", &S::own_ns, "time that no scope inside of it has"),
                      field("total_ns", &S::total_ns, "with the scopes inside")};
  }
};

struct RecordedFunction {
  std::optional<std::string> name = {};
  std::optional<int64_t> own_ns = {};
  std::optional<int64_t> total_ns = {};
  std::optional<int64_t> all_ns = {};
  std::optional<double> share = {};

  static constexpr auto fields() {
    using F = RecordedFunction;
    return std::tuple{
        field("name", &F::name, "of the function"),
        field("own_ns", &F::own_ns, "sampled in it, not in what it calls"),
        field("total_ns", &F::total_ns, "with what it calls; a function that calls itself counts once"),
        field("all_ns", &F::all_ns, "of all samples"), field("share", &F::share, "own_ns of all_ns")};
  }
};

struct RecordedWait {
  std::optional<std::string> name = {};
  std::optional<int64_t> times = {};
  std::optional<int64_t> total_ns = {};

  static constexpr auto fields() {
    using W = RecordedWait;
    return std::tuple{field("name", &W::name, "why threads did not run"),
                      field("times", &W::times, "how often"),
                      field("total_ns", &W::total_ns, "over all threads")};
  }
};

/// The SQL of each list.
struct RecordedQueries {
  std::string scopes = {}, functions = {}, python = {}, waits = {};

  static constexpr auto fields() {
    using Q = RecordedQueries;
    return std::tuple{field("scopes", &Q::scopes, "SQL"), field("functions", &Q::functions, "SQL"),
                      field("python", &Q::python, "SQL"), field("waits", &Q::waits, "SQL")};
  }
};

/// Each list has the longest own times first.
struct RecordedTimes {
  std::vector<RecordedScope> scopes = {};
  std::vector<RecordedFunction> functions = {};
  std::vector<RecordedFunction> python = {};
  std::vector<RecordedWait> waits = {};
  RecordedQueries queries = {};

  static constexpr auto fields() {
    using R = RecordedTimes;
    return std::tuple{field("scopes", &R::scopes, "by the time that is their own"),
                      field("functions", &R::functions, "by sampled processor time"),
                      field("python", &R::python, "Python functions, with what they call in C as their own"),
                      field("waits", &R::waits, "why threads did not run"),
                      field("queries", &R::queries, "SQL that gives each list again")};
  }
};

}  // namespace nl::analyze
