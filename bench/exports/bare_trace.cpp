// The encoder of Perfetto's format alone, fed with the same rows as an export: reads each table once in the
// order of its rows and writes a begin and an end for each, without order, lanes, arrows, counters or a
// report. What an export costs above this is what it costs to get the order right. usage: bare_trace BUNDLE
// FILE

#include <cstdio>

#include "exports/timeline/perfetto_packets.h"
#include "store/open_run.h"

namespace {

using namespace nl;

Result<void> write_bare(const std::string& bundle, std::FILE* file) {
  const store::EngineOptions engine{.threads = 1, .memory_mb = 192, .temp_folder = "/tmp"};
  NL_TRY(const auto run,
         store::OpenRun::open(store::place_in_ledger(bundle), store::EngineStart::leased(engine)));
  const exports::ExportCall call{*run, {}, [&](std::string_view bytes) -> Result<void> {
                                   if (std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size())
                                     return {};
                                   return Error{ErrorCode::kIo, "cannot write"};
                                 }};
  exports::TraceReader reader(call);
  exports::PerfettoPackets packets(call.write);
  for (int table = 0; table < static_cast<int>(exports::trace_tables().size()); table++) {
    NL_CHECK(reader.for_each_row(table, {}, [&](exports::TraceRow& row) -> Result<void> {
      const auto track = static_cast<uint64_t>(row.track + 100);
      NL_CHECK(packets.begin(row, track, {}));
      return packets.end(exports::end_of(row.start_ns, row.dur_ns.value_or(0)), track);
    }));
  }
  return packets.flush();
}

}  // namespace

int main(int count, char** arguments) {
  std::FILE* const file = count == 3 ? std::fopen(arguments[2], "wb") : nullptr;
  if (file == nullptr) {
    std::fprintf(stderr, "usage: bare_trace BUNDLE FILE\n");
    return 2;
  }
  const auto written = write_bare(arguments[1], file);
  std::fclose(file);
  if (!written) std::fprintf(stderr, "bare_trace: %s\n", written.error().message.c_str());
  return written ? 0 : 1;
}
