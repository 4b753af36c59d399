// Reads recordings of NeuroLens itself (wire/recording.h): markers that a program set while it ran, or
// samples of its stacks. If the recorder was killed or the file is damaged in places, the valid chunks are
// read and the rest is counted as lost.

#include "ingest/adapter.h"
#include "ingest/formats/recording/recording_decoder.h"
#include "ingest/formats/recording/recording_reader.h"
#include "ingest/row_loop.h"

namespace nl::ingest::recording_adapter {
namespace {

using model::TableId;
namespace samples = model::samples;
namespace spans = model::spans;

Sniffed sniff(std::string_view head, std::string_view) {
  if (!is_recording(head)) return {};
  return {1.0, is_of_samples(head) ? "samples" : ""};
}

void expect(model::RunSink& sink, TableId table, std::initializer_list<int> columns) {
  uint64_t mask = 0;
  for (const int column : columns) mask |= uint64_t{1} << column;
  sink.expect(table, mask);
}

Result<void> read(ByteSource& source, const ReadOptions& options, model::RunSink& sink,
                  model::RunInfo& info) {
  expect(sink, TableId::spans,
         {spans::track_id, spans::name, spans::category, spans::kind, spans::start_ns, spans::dur_ns,
          spans::correlation_id, spans::args});
  expect(sink, TableId::samples, {samples::track_id, samples::start_ns, samples::stack, samples::weight});
  RecordingReader reader(source);
  NL_CHECK(reader.start());
  RecordingDecoder decoder(sink, info);
  wire::ChunkHeader chunk;
  std::string_view payload;
  NL_CHECK(for_each_row(source, options, [&]() -> Result<bool> {
    NL_TRY(const bool found, reader.next(chunk, payload));
    if (found) NL_CHECK(decoder.take(chunk, payload));
    return found;
  }));
  return decoder.finish(reader);
}

}  // namespace

const Adapter& adapter() {
  static constexpr Adapter kAdapter{
      "recording", 2,   "Markers or stack samples of a program, recorded by NeuroLens (.nlr)", "markers", {},
      sniff,       read};
  return kAdapter;
}

}  // namespace nl::ingest::recording_adapter
