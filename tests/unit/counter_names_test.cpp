#include "analyze/names/counter_names.h"

#include <gtest/gtest.h>

#include <set>

namespace nl::analyze {
namespace {

const CounterNames& built_in() {
  static const CounterNames names = CounterNames::built_in().value();
  return names;
}

std::string meaning_of(const char* name, const char* unit) {
  const CounterName* found = built_in().find(name, unit);
  return found == nullptr ? "" : built_in().meanings()[found->meaning].id;
}

TEST(CounterNames, NamesOfAllVersionsLeadToOneMeaning) {
  for (const char* name :
       {"SOL DRAM", "SOL FB", "DRAM Throughput", "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"})
    EXPECT_EQ(meaning_of(name, "%"), "dram_throughput") << name;
  for (const char* name : {"SM [%]", "Compute (SM) [%]", "Compute (SM) Throughput"})
    EXPECT_EQ(meaning_of(name, "%"), "sm_throughput") << name;
  EXPECT_EQ(meaning_of("smsp__thread_inst_executed_per_inst_executed.ratio", "1"), "warp_efficiency");
  EXPECT_EQ(meaning_of("nothing of the kind", "%"), "");
}

TEST(CounterNames, TheUnitTellsNamesApart) {
  EXPECT_EQ(meaning_of("Memory Throughput", "%"), "memory_throughput");
  EXPECT_EQ(meaning_of("Memory Throughput", "B/s"), "dram_bytes_per_second");
  EXPECT_EQ(meaning_of("Memory Throughput", "1"), "");
  EXPECT_EQ(meaning_of("Duration", "%"), "");
}

TEST(CounterNames, ScalesAreThoseOfTheTools) {
  EXPECT_EQ(built_in().find("achieved_occupancy", "1")->scale, 100);
  EXPECT_EQ(built_in().find("dram_utilization", "1")->scale, 10);
  EXPECT_EQ(built_in().find("Avg. Active Threads Per Warp", "1")->scale * 32, 100);
  EXPECT_EQ(built_in().find("sm__warps_active.avg.pct_of_peak_sustained_active", "%")->scale, 1);
  EXPECT_EQ(built_in().find("lts__t_sectors.sum", "sector")->scale, 32);
  EXPECT_EQ(built_in().find("FETCH_SIZE", "")->scale, 1024);
}

/// Whatever stands in the table, a name with a unit has one meaning, and a meaning is told once.
TEST(CounterNames, TheTableHasNoConflicts) {
  std::set<std::string> ids;
  for (const auto& meaning : built_in().meanings()) {
    EXPECT_TRUE(ids.insert(meaning.id).second) << meaning.id;
    EXPECT_FALSE(meaning.source.empty()) << meaning.id;
  }
  std::set<std::pair<std::string, std::string>> seen;
  for (const auto& name : built_in().names()) {
    EXPECT_TRUE(seen.insert({name.name, name.unit}).second) << name.name;
    EXPECT_EQ(built_in().find(name.name, name.unit)->meaning, name.meaning) << name.name;
  }
  EXPECT_GT(ids.size(), 50u);
}

std::string table(const std::string& names) {
  return "meanings:\n  - {meaning: a, unit: '%', what: w, source: s, names: [" + names +
         "]}\n  - {meaning: b, unit: '%', what: w, source: s, names: [{tool: ncu, name: x, unit: '%'}]}\n";
}

TEST(CounterNames, FaultsAreErrors) {
  EXPECT_TRUE(CounterNames::parse(table("{tool: ncu, name: x, unit: B}"), "t"));
  for (const char* names :
       {"{tool: ncu, name: x}", "{tool: nvprof, name: x, unit: '%'}", "{tool: other, name: y}",
        "{tool: ncu, name: y, scale: 0}", "{tool: ncu, name: y, scale: much}", "{tool: ncu}",
        "{tool: ncu, name: y, factor: 2}", ""}) {
    EXPECT_FALSE(CounterNames::parse(table(names), "t")) << names;
  }
  EXPECT_FALSE(CounterNames::parse("meanings: {}", "t"));
}

}  // namespace
}  // namespace nl::analyze
