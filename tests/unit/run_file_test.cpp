// The JSON Schema of the run file and its reader must agree: both are asked about the same documents.

#include "model/run_file.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "base/json_schema.h"
#include "ingest/formats/run_file/run_file_reader.h"

namespace nl::ingest {
namespace {

using nlohmann::json;

class CountingSink final : public model::RunSink {
 public:
  Result<void> push(std::shared_ptr<model::Batch> batch) override {
    for (size_t t = 0; t < model::kTableCount; t++) {
      rows += batch->rows(static_cast<model::TableId>(t)).size();
    }
    return {};
  }
  size_t rows = 0;
};

struct Answer {
  Result<void> read;
  std::vector<JsonFault> faults;
  model::RunInfo info;
  bool accepts() const { return read && faults.empty(); }
  std::string text() const {
    return !read ? read.error().message : faults.empty() ? "" : fault_text(faults[0]);
  }
};

Answer ask_reader(const std::string& text) {
  CountingSink sink;
  model::RunInfo info;
  auto source = open_memory(text).value();
  RunFileReader reader(sink, info, 20);
  Result<void> read = reader.read(*source, {});
  return {std::move(read), reader.faults(), std::move(info)};
}

bool schema_accepts(const std::string& text) {
  static const JsonSchema schema(model::run_file_schema().dump(), "document");
  json document = json::parse(text, nullptr, false);
  if (document.is_discarded()) return false;
  settle_numbers(document);
  return schema.faults(document, 1).value().empty();
}

/// A document with one row of a table.
std::string with_row(const std::string& table, const std::string& row) {
  return R"({"schema":"neurolens.run-file/1",")" + table + R"(":[)" + row + "]}";
}
std::string with_metadata(const std::string& metadata) {
  return R"({"schema":"neurolens.run-file/1","metadata":)" + metadata + R"(,"ops":[{"start_ns":1}]})";
}

const std::string kValid[] = {
    with_row("ops", R"({"name":"a","start_ns":0,"dur_ns":5})"),
    with_row("ops", R"({"start_ns":1e3,"dur_ns":5.0})"),
    with_row("ops", R"({"start_ns":-4000000000000000000,"dur_ns":1000000000000000000})"),
    with_row("ops", R"({"start_ns":1,"n\u0061me":"\ud83d\ude00"})"),
    with_row("spans", R"({"start_ns":1,"kind":"python"})"),
    with_row("kernels", "{}"),
    with_row("kernels", R"({"occupancy_pct":12.5,"grid_x":-2147483648,"args":{"a":[1,{"b":null}]}})"),
    with_row("kernels", R"({"occupancy_pct":1e-400,"warps_per_sm":-0.0})"),
    with_row("kernels", R"({"name":"k","metrics":{"a":1,"b":{"value":-1.5e3,"unit":"B"},"":{"value":0}}})"),
    with_row("kernels", R"({"metrics":{}})"),
    with_row("counters", R"({"value":3,"name":"power"})"),
    with_row("layers", R"({"shapes":"not json","dtypes":"[1]","args":[]})"),
    with_row("tracks", R"({"kind":"thread","args":"{}"})"),
    with_row("requests", R"({"first_token_ns":-5})"),
    with_metadata("{}"),
    with_metadata(R"({"labels":{"model":"m","batch":8,"x.y-z":true,"scale":0.5}})"),
    with_metadata(
        R"({"hardware":{"devices":[{"device":0,"rank":1}],"ranks":[{"rank":1,"world_size":2}],"hosts":["h"]}})"),
    with_metadata(R"({"hardware":{"ranks":[{"rank":0},{"rank":1}]}})"),
    with_metadata(
        R"({"software":{"backend":"pytorch","versions":{"cuda":"12"}},"tool":"t","tool_version":"1"})"),
    with_metadata(R"({"clocks":[{"kind":"unix","base_unix_ns":1700000000000000000},{"kind":"relative"}]})"),
    with_metadata(R"({"windows":{"kept":[{"kind":"step","name":"1","start_ns":0,"dur_ns":1}]}})"),
    with_metadata(R"({"extensions":{"mine":[1.0,{}]},"origin":{"run_id":"x"}})"),
    R"({"summary":{"ops":{"rows":1,"total_ns":7}},"ops":[{"start_ns":1,"dur_ns":7}],"schema":"neurolens.run-file/1"})",
    R"({"schema":"neurolens.run-file/1","tracks":[{}],"spans":[{"kind":"op","start_ns":1,"track_id":0}],"copies":[]})",
};

const std::string kBroken[] = {
    "{}",
    "[]",
    "{",
    R"({"schema":"neurolens.run-file/1"})",
    R"({"schema":"neurolens.run-file/1","ops":[]})",
    R"({"schema":"neurolens.run-file/0","ops":[{"start_ns":1}]})",
    R"({"schema":"neurolens.run-file/2","ops":[{"start_ns":1}]})",
    R"({"schema":"neurolens.run/1","ops":[{"start_ns":1}]})",
    R"({"schema":1,"ops":[{"start_ns":1}]})",
    R"({"ops":[{"start_ns":1}]})",
    R"({"schema":"neurolens.run-file/1","ops":{"start_ns":1}})",
    R"({"schema":"neurolens.run-file/1","ops":[{"start_ns":1}],"op":[]})",
    R"({"schema":"neurolens.run-file/1","ops":[{"start_ns":1}],"span_tree":[]})",
    with_row("ops", "1"),
    with_row("ops", "null"),
    with_row("ops", "[]"),
    with_row("ops", "{}"),
    with_row("ops", R"({"start_ns":1,"kind":"op"})"),
    with_row("ops", R"({"start_ns":1,"span_id":0})"),
    with_row("ops", R"({"start_ns":1.5})"),
    with_row("ops", R"({"start_ns":1e-3})"),
    with_row("ops", R"({"start_ns":"1"})"),
    with_row("ops", R"({"start_ns":null})"),
    with_row("ops", R"({"start_ns":true})"),
    with_row("ops", R"({"start_ns":01})"),
    with_row("ops", R"({"start_ns":[]})"),
    with_row("ops", R"({"start_ns":4000000000000000001000})"),
    with_row("ops", R"({"start_ns":5000000000000000000})"),
    with_row("ops", R"({"start_ns":1,"dur_ns":-1})"),
    with_row("ops", R"({"start_ns":1,"dur_ns":2000000000000000000})"),
    with_row("ops", R"({"start_ns":1,"name":5})"),
    with_row("ops", R"({"start_ns":1,"name":"\x"})"),
    with_row("ops", R"({"start_ns":1,"nam":"x"})"),
    with_row("ops", R"({"start_ns":1,"track_id":-1})"),
    with_row("ops", R"({"start_ns":1,"api_id":2147483648})"),
    with_row("ops", R"({"start_ns":1,"shapes":5})"),
    with_row("ops", R"({"start_ns":1,"args":null})"),
    with_row("ops", R"({"start_ns":1,})"),
    with_row("spans", R"({"start_ns":1})"),
    with_row("spans", R"({"start_ns":1,"kind":"operator"})"),
    with_row("spans", R"({"start_ns":1,"kind":0})"),
    with_row("spans", R"({"start_ns":1,"kind":"op","metrics":{}})"),
    with_row("kernels", R"({"occupancy_pct":"50"})"),
    with_row("kernels", R"({"correlation_id":10000000000000000000000})"),
    with_row("kernels", R"({"metrics":[]})"),
    with_row("kernels", R"({"metrics":{"a":"1"}})"),
    with_row("kernels", R"({"metrics":{"a":null}})"),
    with_row("kernels", R"({"metrics":{"a":{"unit":"B"}}})"),
    with_row("kernels", R"({"metrics":{"a":{"value":1,"unit":5}}})"),
    with_row("kernels", R"({"metrics":{"a":{"value":1,"base":5}}})"),
    with_metadata("[]"),
    with_metadata(R"({"model":"m"})"),
    with_metadata(R"({"labels":{"Model":"m"}})"),
    with_metadata(R"({"labels":{"model":""}})"),
    with_metadata(R"({"labels":{"model":null}})"),
    with_metadata(R"({"labels":{"model":{}}})"),
    with_metadata(R"({"tool":""})"),
    with_metadata(R"({"hardware":{"devices":[{"name":"x"}]}})"),
    with_metadata(R"({"hardware":{"devices":[{"device":0,"vendor":"Acme"}]}})"),
    with_metadata(R"({"hardware":{"devices":[{"device":3000000000}]}})"),
    with_metadata(R"({"hardware":{"devices":[{"device":0,"memory_bytes":1e30}]}})"),
    with_metadata(R"({"software":{"backend":"mine"}})"),
    with_metadata(R"({"software":{"precision":"fp16"}})"),
    with_metadata(R"({"clocks":[]})"),
    with_metadata(R"({"clocks":[{"kind":"gps"}]})"),
    with_metadata(R"({"clocks":[{"kind":"unix","resolution_ns":0}]})"),
    with_metadata(R"({"windows":{"kept":[{"kind":"step"}]}})"),
    with_metadata(R"({"extensions":{"neurolens-json":{}}})"),
    with_metadata(R"({"extensions":5})"),
    with_metadata(R"({"origin":"x"})"),
    R"({"schema":"neurolens.run-file/1","ops":[{"start_ns":1}],"summary":{"ops":{}}})",
    R"({"schema":"neurolens.run-file/1","ops":[{"start_ns":1}],"summary":{"ops":{"rows":-1}}})",
    R"({"schema":"neurolens.run-file/1","ops":[{"start_ns":1}],"summary":{"tracks":{"rows":0,"total_ns":0}}})",
    R"({"schema":"neurolens.run-file/1","ops":[{"start_ns":1}],"summary":{"op":{"rows":0}}})",
};

TEST(RunFile, ReaderAndSchemaAcceptTheSame) {
  for (const auto& text : kValid) {
    const Answer answer = ask_reader(text);
    EXPECT_TRUE(answer.accepts()) << text << "\n" << answer.text();
    EXPECT_TRUE(schema_accepts(text)) << text;
    EXPECT_TRUE(answer.info.counts.closes());
  }
}

TEST(RunFile, ReaderAndSchemaRefuseTheSame) {
  for (const auto& text : kBroken) {
    EXPECT_FALSE(ask_reader(text).accepts()) << text;
    EXPECT_FALSE(schema_accepts(text)) << text;
  }
}

/// Beyond what a JSON Schema can say.
TEST(RunFile, ReaderChecksReferencesOrderAndSums) {
  const std::pair<std::string, std::string> kCases[] = {
      {R"({"schema":"neurolens.run-file/1","tracks":[{}],"kernels":[{},{"track_id":0},{"track_id":1}]})",
       "/kernels/2/track_id"},
      {with_row("ops", R"({"start_ns":1,"track_id":0})"), "/ops/0/track_id"},
      {R"({"schema":"neurolens.run-file/1","ops":[{"start_ns":1}],"tracks":[{}]})", "/tracks"},
      {R"({"schema":"neurolens.run-file/1","ops":[{"start_ns":1}],"summary":{"ops":{"rows":2}}})",
       "/summary/ops/rows"},
      {R"({"schema":"neurolens.run-file/1","ops":[{"start_ns":1}],"summary":{}})", "/summary/ops/rows"},
      {R"({"schema":"neurolens.run-file/1","ops":[{"start_ns":1,"dur_ns":5}],"summary":{"ops":{"rows":1,"total_ns":6}}})",
       "/summary/ops/total_ns"},
      {with_metadata(R"({"clocks":[{"kind":"unix","clock_id":1}]})"), "/metadata/clocks/0/clock_id"},
      {with_row("ops", R"({"start_ns":1,"start_ns":2})"), "/ops/0/start_ns"},
      {R"({"schema":"neurolens.run-file/1","ops":[{"start_ns":1}],"ops":[{"start_ns":1}]})", "/ops"},
  };
  for (const auto& [text, pointer] : kCases) {
    const Answer answer = ask_reader(text);
    ASSERT_TRUE(answer.read) << text << answer.text();
    ASSERT_FALSE(answer.faults.empty()) << text;
    EXPECT_EQ(answer.faults[0].pointer, pointer) << text;
  }
}

TEST(RunFile, FaultsNameTheirPlace) {
  std::string rows;
  for (int i = 0; i < 30'000; i++) {
    const char* const row = i == 17 ? R"({"dur_ns":-1,"nme":1},)" : i == 29'000 ? R"({"args":1},)" : "{},";
    rows += row;
  }
  const Answer answer = ask_reader(with_row("kernels", rows + "{}"));
  ASSERT_EQ(answer.faults.size(), 3);
  EXPECT_EQ(answer.faults[0].pointer, "/kernels/17/dur_ns");
  EXPECT_EQ(answer.faults[1].pointer, "/kernels/17/nme");
  EXPECT_EQ(answer.faults[2].pointer, "/kernels/29000/args");
}

TEST(RunFile, StopsAtTwentyFaults) {
  std::string rows;
  for (int i = 0; i < 100; i++) rows += R"({"x":1},)";
  EXPECT_EQ(ask_reader(with_row("kernels", rows + "{}")).faults.size(), 20);
}

}  // namespace
}  // namespace nl::ingest
