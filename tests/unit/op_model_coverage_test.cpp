// Over real runs: which part of the kernel time of ops with shapes has a model, and how the shares of the
// roof lie. NEUROLENS_BUNDLES names a folder of bundles (runs/ of a ledger) whose runs have been queried
// once.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "analyze/models/op_model.h"
#include "analyze/roofline/device_peaks.h"
#include "analyze/roofline/roofline.h"
#include "base/files.h"
#include "base/json.h"
#include "store/user_query.h"

namespace nl::analyze {
namespace {

// An old forward convolution gets the shape of its result from its backward op, by the sequence number.
constexpr char kOpsOfKernels[] = R"(
SELECT o.name, o.op_type, o.shapes, o.dtypes, o.strides, o.inputs, o.args, p.name, p.shapes, p.dtypes, b.shapes,
       string_agg(DISTINCT k.name, ' '), sum(k.dur_ns), any_value(k.device)
FROM kernels k JOIN ops o ON o.op_id = k.op_id
LEFT JOIN spans s ON s.span_id = o.op_id LEFT JOIN spans p ON p.span_id = s.parent_id
LEFT JOIN (SELECT sequence_number, any_value(shapes) AS shapes FROM ops
           WHERE name LIKE '%ConvolutionBackward%' AND sequence_number IS NOT NULL GROUP BY 1) b
  ON b.sequence_number = o.sequence_number
WHERE o.shapes IS NOT NULL
GROUP BY o.op_id, o.name, o.op_type, o.shapes, o.dtypes, o.strides, o.inputs, o.args, p.name, p.shapes, p.dtypes,
         b.shapes)";

// Where nothing ran on a device; one nanosecond for layers that have no time of their own.
constexpr char kOpsOfHost[] = R"(
SELECT name, op_type, shapes, dtypes, strides, inputs, args, '', '', '', '', '', coalesce(dur_ns, 1), -1
FROM ops WHERE shapes IS NOT NULL)";

struct ModelCoverage {
  int64_t all_ns = 0;
  int64_t modelled_ns = 0;
  int64_t heavy_ns = 0;  ///< matrix products, convolutions and attention
  int64_t heavy_modelled_ns = 0;
  int64_t with_roof = 0;
  int64_t over_roof = 0;
  int64_t over_roof_beyond_cache = 0;
  int64_t heavy_over_roof = 0;
  double largest_heavy_share = 0;
  int64_t heavy_flops = 0;
  std::map<std::string, int64_t> absent_ns = {};
};

bool is_heavy(std::string_view name) {
  if (name.starts_with("symm_mem::") || name.starts_with("fbgemm::permute")) return false;
  const char* parts[] = {"mm",  "matmul",      "linear", "conv", "attention", "attn",
                         "mha", "moe_forward", "MatMul", "Gemm", "Conv"};
  return std::any_of(std::begin(parts), std::end(parts),
                     [&](const char* part) { return name.find(part) != std::string_view::npos; });
}

using Devices = std::map<int64_t, Known<DevicePeaks>>;

Devices devices_of(const std::string& bundle, const PeakTable& table, std::string& first) {
  Devices out;
  const auto text = read_file(bundle + "/run.json");
  const auto run = nlohmann::json::parse(text ? *text : "{}", nullptr, false);
  if (!run.contains("hardware") || !run["hardware"].contains("devices")) return out;
  for (const auto& device : run["hardware"]["devices"]) {
    DeviceFacts facts{device.value("name", "")};
    if (device.contains("memory_bytes")) facts.memory_bytes = device["memory_bytes"].get<int64_t>();
    if (device.contains("multiprocessors")) facts.units = device["multiprocessors"].get<int64_t>();
    const auto found = table.find(facts);
    out.emplace(device.value("device", int64_t{-1}), found);
    if (first.empty()) first = "\"" + facts.name + "\": " + (found ? found->device : found.reason());
  }
  return out;
}

void add(ModelCoverage& coverage, std::span<const store::Cell> cells, const Known<DevicePeaks>& peaks) {
  const OpFacts parent{.name = cells[7].text, .shapes = cells[8].text, .dtypes = cells[9].text};
  const OpFacts op{.name = cells[0].text,
                   .op_type = cells[1].text,
                   .shapes = cells[2].text,
                   .dtypes = cells[3].text,
                   .strides = cells[4].text,
                   .inputs = cells[5].text,
                   .args = cells[6].text,
                   .output_shapes = cells[10].text};
  const int64_t ns = std::strtoll(std::string(cells[12].text).c_str(), nullptr, 10);
  const bool on_host = cells[11].text.empty();
  if (on_host && is_composite(op.op_type)) return;
  const bool heavy = is_heavy(op.op_type);
  const auto model = model_op(op, &parent);
  coverage.all_ns += ns;
  coverage.modelled_ns += model ? ns : 0;
  coverage.heavy_ns += heavy ? ns : 0;
  coverage.heavy_modelled_ns += heavy && model ? ns : 0;
  if (!model) {
    coverage.absent_ns[std::string(op.name) + ": " + model.reason()] += ns;
    return;
  }
  coverage.heavy_flops += heavy ? model->flops : 0;
  if (!peaks) return;
  const auto roof = roofline(*model, ns, *peaks, cells[11].text);
  if (!roof) return;
  coverage.with_roof++;
  coverage.over_roof += roof->share.model_or_peak_error ? 1 : 0;
  coverage.over_roof_beyond_cache += roof->share.model_or_peak_error && !roof->fits_cache ? 1 : 0;
  if (!heavy) return;
  coverage.heavy_over_roof += roof->share.model_or_peak_error ? 1 : 0;
  coverage.largest_heavy_share = std::max(coverage.largest_heavy_share, roof->share.value);
}

double percent(int64_t part, int64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

void print(const std::string& run, const std::string& device, const ModelCoverage& c) {
  fmt::print("{}  {}\n", run.substr(0, 12), device);
  fmt::print(
      "  time of ops with shapes {:.3f} ms, modelled {:.1f} %; heavy {:.3f} ms, modelled {:.1f} %, {:.4f} "
      "Tflop\n",
      static_cast<double>(c.all_ns) / 1e6, percent(c.modelled_ns, c.all_ns),
      static_cast<double>(c.heavy_ns) / 1e6, percent(c.heavy_modelled_ns, c.heavy_ns),
      static_cast<double>(c.heavy_flops) / 1e12);
  fmt::print("  with a roof {}, over it {} (beyond the cache {}, heavy {}), largest heavy share {:.3f}\n",
             c.with_roof, c.over_roof, c.over_roof_beyond_cache, c.heavy_over_roof, c.largest_heavy_share);
  for (const auto& [reason, ns] : c.absent_ns) {
    if (ns * 100 > c.all_ns) fmt::print("    absent {:.1f} %  {}\n", percent(ns, c.all_ns), reason);
  }
}

/// Adds every row of the query.
void collect(ModelCoverage& coverage, const store::RunFiles& files, const char* sql, const Devices& devices) {
  store::QuerySink sink;
  sink.columns = [](const auto&) { return Result<void>(); };
  sink.row = [&](std::span<const store::Cell> cells) {
    const auto found = devices.find(std::strtoll(std::string(cells[13].text).c_str(), nullptr, 10));
    add(coverage, cells, found != devices.end() ? found->second : Absent{"no such device"});
    return Result<void>();
  };
  const store::QueryLimits limits;
  store::EngineStart engine(store::query_engine(limits));
  const auto done = store::run_user_query(engine, files, sql, limits, sink);
  ASSERT_TRUE(done) << done.error().message;
}

TEST(OpModelCoverage, OfRealRuns) {
  const char* folder = std::getenv("NEUROLENS_BUNDLES");
  if (folder == nullptr) GTEST_SKIP() << "NEUROLENS_BUNDLES names no folder of bundles";
  const auto table = PeakTable::built_in();
  ASSERT_TRUE(table);
  int64_t heavy_ns = 0;
  int64_t heavy_modelled_ns = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const auto files = store::run_files(store::place_in_ledger(entry.path().string()));
    if (!files || files->derived.empty()) continue;
    std::string device;
    const Devices devices = devices_of(entry.path().string(), *table, device);
    ModelCoverage coverage;
    collect(coverage, *files, kOpsOfKernels, devices);
    if (coverage.all_ns == 0) collect(coverage, *files, kOpsOfHost, devices);
    if (coverage.all_ns == 0) continue;
    print(entry.path().filename().string(), device, coverage);
    heavy_ns += coverage.heavy_ns;
    heavy_modelled_ns += coverage.heavy_modelled_ns;
  }
  fmt::print("all runs: products, convolutions, attention {:.3f} ms, modelled {:.1f} %\n",
             static_cast<double>(heavy_ns) / 1e6, percent(heavy_modelled_ns, heavy_ns));
  EXPECT_GT(heavy_ns, 0);
  EXPECT_GE(percent(heavy_modelled_ns, heavy_ns), 90);
}

}  // namespace
}  // namespace nl::analyze
