// Nsight Compute files of the corpus, in each of their exports, against values that were computed without
// NeuroLens (GOLDEN_NSIGHT.json, GOLDEN.json).

#include <cmath>
#include <set>

#include "analyze/run_analysis.h"
#include "corpus.h"
#include "ingest/adapter.h"
#include "store/open_run.h"

namespace nl::golden {
namespace {

std::vector<std::string> reports() {
  std::vector<std::string> names;
  const json golden = nsight_values().value("ncu", json::object());
  for (const auto& [name, values] : golden.items()) names.push_back(name);
  return names.empty() ? std::vector<std::string>{"absent"} : names;
}

void expect_detected(const std::string& path) {
  const auto source = ingest::open_file(path);
  ASSERT_TRUE(source) << path;
  const auto chosen = ingest::choose_adapter((*source)->head(), "x.bin", "");
  ASSERT_TRUE(chosen) << chosen.error().message;
  EXPECT_EQ(chosen->adapter->format, "ncu");
}

class Ncu : public CorpusFile {
 protected:
  json golden() const { return nsight_values().at("ncu").at(GetParam()); }
  std::string file(const json& name) const { return corpus_folder() + "/" + name.get<std::string>(); }
};

/// Counts that hold for both kinds of the raw page.
void expect_launches(Imported& run, const json& golden) {
  const int64_t launches = golden["launches"];
  EXPECT_EQ(run.document["capture"]["counts"]["seen"], launches);
  EXPECT_EQ(run.document["capture"]["counts"]["stored"], launches);
  EXPECT_EQ(run.number("SELECT count(*) FROM profiled_launches"), launches);
  EXPECT_EQ(run.number("SELECT count(DISTINCT kernel_name) FROM profiled_launches"),
            golden["distinct_kernel_names"]);
  EXPECT_EQ(run.number("SELECT count(*) FROM kernel_metrics"),
            launches * golden["metric_columns"].get<int64_t>());
  EXPECT_EQ(run.number("SELECT count(DISTINCT metric) FROM kernel_metrics"), golden["metric_columns"]);
  EXPECT_EQ(run.number("SELECT count(*) FROM kernel_metrics WHERE absent = 'empty'"),
            golden["empty_metric_cells"]);
  EXPECT_EQ(run.number("SELECT count(*) FROM profiled_launches WHERE dur_ns IS NULL"),
            golden["launches_with_nan_duration"]);
  EXPECT_EQ(run.number("SELECT count(*) FROM kernel_metrics WHERE value IS NOT NULL AND NOT isfinite(value)"),
            0);
  EXPECT_EQ(run.number("SELECT count(*) FROM kernel_metrics WHERE (value IS NULL) = (text IS NULL AND absent "
                       "IS NULL)"),
            0);
  const auto& device = run.document["hardware"]["devices"][0];
  EXPECT_EQ(device["name"], golden["device"]);
  EXPECT_EQ(device["compute_capability"], golden["cc"]);
  EXPECT_GT(device["memory_bytes"].get<int64_t>(), 0);
  EXPECT_EQ(run.number("SELECT count(*) FROM profiled_launches WHERE device_name = " +
                       store::sql_quoted(golden["device"].get<std::string>())),
            launches);
  EXPECT_EQ(run.number("SELECT count(*) FROM profiled_launches WHERE (grid_x IS NULL OR block_x IS NULL) AND "
                       "dur_ns IS NOT NULL"),
            0);
  EXPECT_EQ(run.number("SELECT count(*) FROM kernels"), 0);
}

void expect_base_units(Imported& run, const json& golden) {
  expect_launches(run, golden);
  EXPECT_FALSE(run.document["capture"]["health"].contains("rounded_duration"));
  EXPECT_EQ(run.number("SELECT sum(dur_ns)::BIGINT FROM profiled_launches"),
            golden["total_gpu__time_duration_ns"]);
  const auto& ns = golden["per_launch_ns"];
  for (size_t i = 0; i < ns.size(); i++) {
    EXPECT_EQ(run.number("SELECT coalesce(dur_ns, -1) FROM profiled_launches WHERE launch_id = " +
                         std::to_string(i)),
              ns[i].is_null() ? json(-1) : ns[i]);
  }
  for (const auto& kernel : golden["per_kernel"]) {
    const std::string of = " FROM profiled_launches WHERE kernel_name = " +
                           store::sql_quoted(kernel["kernel"].get<std::string>());
    EXPECT_EQ(run.number("SELECT count(*)" + of), kernel["launches"]);
    EXPECT_EQ(run.number("SELECT coalesce(sum(dur_ns), 0)::BIGINT" + of), kernel["ns"]);
    EXPECT_EQ(run.number("SELECT count(*) - count(dur_ns)" + of), kernel["launches_without_duration"]);
  }
  // The duration is a metric as well, with the same value.
  EXPECT_EQ(
      run.number("SELECT count(*) FROM kernel_metrics m JOIN profiled_launches l USING (launch_id) WHERE "
                 "metric = 'gpu__time_duration.sum' AND value IS DISTINCT FROM l.dur_ns"),
      0);
}

void expect_automatic_units(Imported& run, const json& golden) {
  expect_launches(run, golden);
  const int64_t total = std::llround(golden["total_from_auto_units_ns"].get<double>());
  EXPECT_EQ(run.number("SELECT sum(dur_ns)::BIGINT FROM profiled_launches"), total);
  const bool rounded = golden["duration_unit_auto"] == "second";
  EXPECT_EQ(run.document["capture"]["health"].contains("rounded_duration"), rounded);
  EXPECT_EQ(run.number("SELECT count(*) FROM kernel_metrics WHERE absent IN ('nan', '-nan')"),
            golden["nan_cells"]);
  std::set<std::string> units;
  for (const auto& unit : golden["units"]) units.insert(unit);
  units.erase("");
  EXPECT_EQ(run.number("SELECT count(DISTINCT source_unit) FROM kernel_metrics"), units.size());
}

/// Both exports say the same where both have a value, up to the digits that they print.
void expect_equal_units(Imported& base, const Imported& automatic) {
  EXPECT_EQ(base.number("SELECT count(*) FROM kernel_metrics a JOIN read_parquet('" + automatic.bundle +
                        "/kernel_metrics.parquet') b USING (launch_id, metric) WHERE a.unit <> b.unit"),
            0);
  // Six decimals of the automatic unit, two of the base unit.
  EXPECT_EQ(
      base.number("SELECT count(*) FROM kernel_metrics a JOIN read_parquet('" + automatic.bundle +
                  "/kernel_metrics.parquet') b USING (launch_id, metric) WHERE abs(a.value - b.value) > "
                  "0.00501 + 1e-6 * abs(a.value) + CASE b.source_unit WHEN 'second' THEN 501 WHEN 'Gbyte' "
                  "THEN 501 WHEN 'Gbyte/second' THEN 501 WHEN 'cycle/nsecond' THEN 501 WHEN "
                  "'sector/nsecond' THEN 501 WHEN 'block/nsecond' THEN 501 WHEN 'Tbyte/second' THEN 501e3 "
                  "ELSE 0.51 END"),
      0);
}

void expect_details(Imported& run, const json& golden) {
  const json details = golden["details"];
  EXPECT_EQ(run.document["capture"]["counts"]["seen"], details["rows"]);
  EXPECT_EQ(run.document["capture"]["counts"]["stored"], details["rows"]);
  EXPECT_EQ(run.number("SELECT count(*) FROM profiled_launches"), details["launches"]);
  EXPECT_EQ(run.number("SELECT count(*) FROM kernel_metrics"), details["metric_rows"]);
  EXPECT_EQ(run.number("SELECT count(DISTINCT metric) FROM kernel_metrics"), details["distinct_metrics"]);
  EXPECT_EQ(run.number("SELECT count(*) FROM kernel_advice"), details["rule_rows"]);
  EXPECT_EQ(run.number("SELECT count(*) FROM (SELECT section FROM kernel_metrics UNION SELECT section FROM "
                       "kernel_advice)"),
            details["sections"].size());
  for (const auto& type : details["rule_types"]) {
    if (type == "") continue;
    EXPECT_GT(run.number("SELECT count(*) FROM kernel_advice WHERE kind = " +
                         store::sql_quoted(type.get<std::string>())),
              0);
  }
  // Two decimals of the unit of each row; the stream is that of metric rows, not of rules.
  const auto& ns = golden["per_launch_ns"];
  for (size_t i = 0; i < ns.size(); i++) {
    if (ns[i].is_null()) continue;
    const double exact = ns[i];
    const double unit = exact >= 1e9 ? 1e9 : exact >= 1e6 ? 1e6 : 1e3;
    const auto rounded = static_cast<double>(
        run.number("SELECT dur_ns FROM profiled_launches WHERE launch_id = " + std::to_string(i)));
    EXPECT_NEAR(rounded, exact, 0.00501 * unit) << i;
  }
  EXPECT_EQ(run.number("SELECT count(*) - count(DISTINCT source_id) FROM profiled_launches"), 0);
}

/// A kernel's stream in the details page is that of the raw page.
void expect_equal_launches(Imported& raw, Imported& details, const json& golden, bool has_ranges) {
  EXPECT_EQ(raw.number("SELECT count(*) FROM profiled_launches a JOIN read_parquet('" + details.bundle +
                       "/profiled_launches.parquet') b USING (source_id) WHERE a.kernel_name = b.kernel_name "
                       "AND a.stream = b.stream AND a.process_id = b.process_id AND a.process_name = "
                       "b.process_name"),
            golden["launches"]);
  for (Imported* run : {&raw, &details}) {
    EXPECT_EQ(run->number("SELECT count(*) FROM profiled_launches WHERE ranges LIKE '%used-GEMM'"),
              has_ranges ? golden["launches"] : json(0));
  }
}

analyze::CountersAnswer counters_of(const Imported& run) {
  auto analysis = analyze::analyze_run(store::OpenRun::open(store::place_in_ledger(run.bundle)).value(), {});
  EXPECT_TRUE(analysis) << analysis.error().message;
  if (!analysis || !analysis->data.counters) {
    ADD_FAILURE() << "no counters";
    return {};
  }
  return *analysis->data.counters;
}

/// Every page of every version carries these; the others depend on the sections that were recorded.
void expect_core_meanings(Imported& run) {
  const analyze::CountersAnswer counters = counters_of(run);
  bool has_caches = false;
  for (const analyze::CountedKernel& row : counters.kernels) {
    if (row.measured == 0) continue;
    EXPECT_TRUE(row.theoretical_occupancy_pct && row.sm_pct && row.memory_pct && row.dram_pct &&
                row.registers && row.sm_clock_hz && row.bound)
        << to_json_tree(row).dump();
    ASSERT_TRUE(row.achieved_occupancy_pct);
    EXPECT_LE(*row.achieved_occupancy_pct, 100) << row.label;
    has_caches = has_caches || row.l2_hit_pct;
  }
  const int64_t carried = run.number(
      "SELECT count(*) FROM kernel_metrics WHERE value IS NOT NULL AND metric IN "
      "('lts__t_sector_hit_rate.pct', 'L2 Hit Rate')");
  EXPECT_EQ(has_caches, carried > 0);
  EXPECT_EQ(counters.replay_ns, run.number("SELECT coalesce(sum(dur_ns), 0)::BIGINT FROM profiled_launches"));
}

TEST_P(Ncu, EveryExportEqualsTheIndependentValues) {
  const json golden = this->golden();
  const std::string paths[] = {file(golden["base_file"]), file(golden["file"]),
                               file(golden["details"]["file"])};
  for (const std::string& path : paths) expect_detected(path);
  Imported base(temp_.path(), {paths[0]});
  Imported automatic(temp_.path(), {paths[1]});
  Imported details(temp_.path(), {paths[2]});
  expect_base_units(base, golden);
  expect_automatic_units(automatic, golden);
  expect_equal_units(base, automatic);
  expect_details(details, golden);
  for (Imported* run : {&base, &automatic, &details}) expect_core_meanings(*run);
  expect_equal_launches(base, details, golden, GetParam().starts_with("cutlass_b2b"));
}

INSTANTIATE_TEST_SUITE_P(Corpus, Ncu, testing::ValuesIn(reports()), test_name);

class CountersOfMistic : public CorpusFile {};

/// A Python script summed the columns of the CSV: rates x clock x time, weighted by the time.
TEST_P(CountersOfMistic, EqualTheScript) {
  Imported run(temp_.path(), {corpus_folder() + "/ncu/mistic_higgs_a100.raw.base.csv.gz"});
  const auto kernels = counters_of(run).kernels;
  ASSERT_FALSE(kernels.empty());
  const analyze::CountedKernel& row = kernels[0];
  EXPECT_EQ(row.launches, 14);
  EXPECT_EQ(row.replay_ns, 40795683136);
  EXPECT_NEAR(row.flops.value(), 10245703423012.428, 1);
  EXPECT_EQ(row.dram_bytes, 2182949405952.0);
  EXPECT_NEAR(row.intensity.value(), 4.693513919780565, 1e-9);
  EXPECT_NEAR(row.achieved_occupancy_pct.value(), 67.38159931474569, 1e-9);
  EXPECT_EQ(row.dtype, "fp64");
  EXPECT_EQ(row.bound, "latency");
  EXPECT_EQ(row.not_counted, (std::vector<std::string>{"fp16", "tensor"}));
  // A100 PCIe 40 GB moves 1555 GB/s: the memory is the roof, at 4.69 FLOP/B.
  EXPECT_EQ(row.roof_bound, "memory");
  EXPECT_NEAR(row.roof_share.value(), 2182949405952.0 / 1555e9 / 40.795683136, 1e-6);
}

INSTANTIATE_TEST_SUITE_P(Corpus, CountersOfMistic, testing::ValuesIn(std::vector<std::string>{reports()[0]}),
                         test_name);

class NcuLog : public CorpusFile {};

TEST_P(NcuLog, EqualsTheIndependentValues) {
  const json golden = expected();
  expect_detected(path());
  Imported run(temp_.path(), {path()});
  EXPECT_EQ(run.document["capture"]["counts"]["seen"], golden["rows"]);
  EXPECT_EQ(run.document["capture"]["counts"]["stored"], golden["rows"]);
  EXPECT_EQ(run.document["extensions"]["ncu"]["foreign_lines"], golden["preamble_lines"]);
  EXPECT_EQ(run.number("SELECT count(*) FROM profiled_launches"), golden["launches"]);
  EXPECT_EQ(run.number("SELECT count(*) FROM kernel_metrics"), golden["metrics"]);
  EXPECT_EQ(run.number("SELECT count(*) FROM kernel_advice"), golden["rule_rows"]);
  for (const auto& [metric, value] : golden["launch0"].items()) {
    const std::string of =
        " FROM kernel_metrics WHERE metric = " + store::sql_quoted(metric) +
        " AND coalesce(source_unit, '') = " + store::sql_quoted(value[1].get<std::string>());
    const std::string text = value[0];
    const bool is_number = text.find_first_not_of("0123456789.") == std::string::npos;
    EXPECT_EQ(run.number("SELECT count(*)" + of +
                         (is_number ? " AND value = " + text : " AND text = " + store::sql_quoted(text))),
              1)
        << metric;
  }
  EXPECT_EQ(run.number("SELECT dur_ns FROM profiled_launches"), 406240);
  EXPECT_EQ(run.number("SELECT grid_x * 10000 + grid_y * 10 + grid_z FROM profiled_launches"), 90321);
  EXPECT_EQ(run.document["hardware"]["devices"][0]["compute_capability"], "10.0");
  EXPECT_EQ(run.document["hardware"]["devices"][0]["multiprocessors"], 152);
}

INSTANTIATE_TEST_SUITE_P(Corpus, NcuLog, testing::ValuesIn(files_of("ncu/superbench")), test_name);

class NcuText : public CorpusFile {};

/// The same tables as text; the numbers were counted and read in the file itself.
TEST_P(NcuText, HasEveryMetric) {
  expect_detected(path());
  Imported run(temp_.path(), {path()});
  EXPECT_EQ(run.number("SELECT count(*) FROM profiled_launches"), 1);
  EXPECT_EQ(run.number("SELECT count(*) FROM kernel_metrics"), 75);
  EXPECT_EQ(run.number("SELECT count(*) FROM kernel_advice"), 14);
  EXPECT_EQ(run.number("SELECT count(*) FROM kernel_advice WHERE speedup_pct IS NOT NULL"), 11);
  EXPECT_EQ(run.number("SELECT dur_ns FROM profiled_launches"), 3250000);
  EXPECT_EQ(run.number("SELECT value::BIGINT FROM kernel_metrics WHERE metric = 'Elapsed Cycles'"), 4483626);
  EXPECT_EQ(run.number("SELECT (value * 100)::BIGINT FROM kernel_metrics WHERE metric = 'SM Active Cycles'"),
            439155413);
  EXPECT_EQ(run.number("SELECT value::BIGINT FROM kernel_metrics WHERE metric = 'DRAM Frequency' AND unit = "
                       "'Hz'"),
            6980000000);
  EXPECT_EQ(
      run.number("SELECT count(*) FROM profiled_launches WHERE kernel_name = "
                 "'count_kmers_coalesced_kernel(const char *, int, int, unsigned int *, int)' AND grid_x = "
                 "1024 AND block_x = 256 AND process_name = 'gpu_kmer_optimized'"),
      1);
}

INSTANTIATE_TEST_SUITE_P(Corpus, NcuText, testing::ValuesIn(files_of("ncu/bobbyal")), test_name);

}  // namespace
}  // namespace nl::golden
