// The file format of speedscope.app: one evented profile for each thread and each stream of a device, and a
// sampled one for the stack samples of each thread. Times are nanoseconds since the first row or the window,
// since JavaScript has no integers of 64 bits. Spans that cross each other are cut, see span_sweep.h.

#include <algorithm>
#include <string>
#include <vector>

#include "base/json.h"
#include "exports/exporter.h"
#include "exports/stacks/frame_names.h"
#include "exports/stacks/span_sweep.h"
#include "exports/stacks/stack_rows.h"
#include "exports/window_cut.h"

namespace nl::exports::speedscope_exporter {
namespace {

constexpr size_t kSpeedscopePiece = 1 << 16;

std::string speedscope_string(std::string_view text) {
  return nlohmann::json(safe_line(text)).dump();
}

/// Hands text out in pieces. The first error counts: status() tells it.
class SpeedscopeText {
 public:
  explicit SpeedscopeText(const ExportCall& call) : write_(call.write) {}

  SpeedscopeText& operator<<(std::string_view text) {
    text_ += text;
    if (text_.size() >= kSpeedscopePiece) hand_out();
    return *this;
  }
  SpeedscopeText& operator<<(int64_t number) { return *this << std::string_view(std::to_string(number)); }

  Result<void> status() const { return failed_ ? Result<void>(*failed_) : Result<void>(); }
  Result<void> flush() {
    hand_out();
    return status();
  }

 private:
  void hand_out() {
    if (!failed_) {
      if (auto done = write_(text_); !done) failed_ = done.error();
    }
    text_.clear();
  }

  const std::function<Result<void>(std::string_view)>& write_;
  std::string text_;
  std::optional<Error> failed_;
};

/// The list of profiles. A profile begins with its first event, so that there are no empty ones.
class SpeedscopeProfiles {
 public:
  SpeedscopeProfiles(SpeedscopeText& text, int64_t origin_ns) : text_(text), origin_ns_(origin_ns) {}

  void begin_evented(std::string name) {
    end_evented();
    name_ = std::move(name);
  }
  void event(char type, uint32_t frame, int64_t at_ns) {
    if (events_++ == 0) {
      head("evented", name_, "nanoseconds");
      text_ << R"(,"startValue":0,"events":[)";
    } else {
      text_ << ",";
    }
    last_ns_ = at_ns - origin_ns_;
    text_ << (type == 'O' ? R"({"type":"O","frame":)" : R"({"type":"C","frame":)") << frame << R"(,"at":)"
          << last_ns_ << "}";
  }
  void end_evented() {
    if (events_ > 0) text_ << R"(],"endValue":)" << last_ns_ << "}";
    events_ = 0;
  }

  void begin_sampled(const std::string& name, const char* unit) {
    head("sampled", name, unit);
    text_ << R"(,"startValue":0,"samples":[)";
    weights_.clear();
  }
  void sample(const std::vector<uint32_t>& frames, int64_t weight) {
    text_ << (weights_.empty() ? "[" : ",[");
    for (size_t i = 0; i < frames.size(); i++) text_ << (i == 0 ? "" : ",") << frames[i];
    text_ << "]";
    weights_.push_back(weight);
  }
  void end_sampled() {
    int64_t sum = 0;
    text_ << R"(],"weights":[)";
    for (size_t i = 0; i < weights_.size(); i++) {
      text_ << (i == 0 ? "" : ",") << weights_[i];
      sum += weights_[i];
    }
    text_ << R"(],"endValue":)" << sum << "}";
  }

 private:
  void head(const char* type, const std::string& name, const char* unit) {
    text_ << (profiles_++ == 0 ? "\n" : ",\n") << R"({"type":")" << type << R"(","name":)"
          << speedscope_string(name) << R"(,"unit":")" << unit << "\"";
  }

  SpeedscopeText& text_;
  const int64_t origin_ns_;
  std::string name_;
  int64_t profiles_ = 0;
  int64_t events_ = 0;
  int64_t last_ns_ = 0;
  std::vector<int64_t> weights_;
};

/// The events of one timeline, as far as they lie inside of the window: where a stretch ends, all that is
/// open is closed, and opened again where the next one begins.
class SpeedscopeTimeline {
 public:
  SpeedscopeTimeline(SpeedscopeProfiles& profiles, const std::vector<Stretch>& window)
      : profiles_(profiles), window_(window) {}

  void begin(const std::string& name) {
    profiles_.begin_evented(name);
    next_ = 0;
    is_inside_ = window_.empty();
  }
  void open(const SweptSpan& span, int64_t at, bool) {
    pass_to(at);
    open_.push_back(span.name);
    if (is_inside_) profiles_.event('O', span.name, at);
  }
  void close(const SweptSpan& span, int64_t at) {
    pass_to(at);
    open_.pop_back();
    if (is_inside_) profiles_.event('C', span.name, at);
  }

 private:
  void pass_to(int64_t at) {
    for (; next_ < window_.size(); next_++) {
      const Stretch& stretch = window_[next_];
      if (!is_inside_ && at >= stretch.begin_ns) enter(stretch.begin_ns);
      if (at < stretch.end_ns) return;
      leave(stretch.end_ns);
    }
  }
  void enter(int64_t at) {
    is_inside_ = true;
    for (const uint32_t frame : open_) profiles_.event('O', frame, at);
  }
  void leave(int64_t at) {
    is_inside_ = false;
    for (size_t i = open_.size(); i-- > 0;) profiles_.event('C', open_[i], at);
  }

  SpeedscopeProfiles& profiles_;
  const std::vector<Stretch>& window_;
  std::vector<uint32_t> open_;
  size_t next_ = 0;  ///< the stretch that is next, or that we are in
  bool is_inside_ = true;
};

class SpeedscopeFile {
 public:
  SpeedscopeFile(const ExportCall& call, int64_t origin_ns)
      : call_(call),
        window_(call.window),
        origin_ns_(origin_ns),
        text_(call),
        profiles_(text_, origin_ns),
        timeline_(profiles_, call.window),
        sweep_(timeline_, FrameNames::kOthers) {}

  Result<ExportReport> write() {
    NL_TRY(tracks_, TrackNames::read(call_.run));
    head();
    NL_CHECK(write_threads());
    NL_CHECK(write_streams());
    end_timeline();
    NL_CHECK(write_samples());
    NL_CHECK(write_layers());
    tail();
    NL_CHECK(text_.flush());
    return finish_report();
  }

 private:
  void head() {
    const std::string run = call_.run.document().value("run_id", "");
    text_ << R"({"$schema":"https://www.speedscope.app/file-format-schema.json","exporter":"neurolens",)"
          << R"("name":)" << speedscope_string("run " + run.substr(0, 12)) << ",\"neurolens\":{\"run_id\":\""
          << run << R"(","origin_ns":")" << origin_ns_ << R"("},"activeProfileIndex":0,"profiles":[)";
  }
  /// The frames come last: only now they are all known.
  void tail() {
    text_ << "\n],\"shared\":{\"frames\":[";
    for (uint32_t i = 0; i < names_.size(); i++)
      text_ << (i == 0 ? "\n" : ",\n") << "{\"name\":" << nlohmann::json(names_[i]).dump() << "}";
    text_ << "\n]}}\n";
  }

  void begin_timeline(const std::string& name) {
    end_timeline();
    timeline_.begin(name);
  }
  void end_timeline() {
    sweep_.finish();
    profiles_.end_evented();
  }

  /// Whether it touches the window. Rows that do not are not even opened.
  bool add(int64_t start_ns, int64_t end_ns, std::string_view name) {
    if (!window_.touches(start_ns, end_ns)) return false;
    sweep_.add({start_ns, end_ns, names_.number(name)});
    return true;
  }

  Result<void> write_threads() {
    int32_t track = -2;
    NL_CHECK(for_host_spans(
        call_, false,
        [&](const HostSpan& span) -> Result<void> {
          if (span.track_id != track) begin_timeline(tracks_.track(span.track_id));
          track = span.track_id;
          written_spans_ += add(span.start_ns, span.end_ns, span.name) ? 1 : 0;
          return text_.status();
        },
        report_));
    crossed_spans_ = sweep_.crossed();
    return {};
  }

  Result<void> write_streams() {
    int32_t track = -2;
    return for_streams(
        call_,
        [&](const StreamWork& work) -> Result<void> {
          if (work.track_id != track) begin_timeline(tracks_.stream(work.track_id));
          track = work.track_id;
          if (add(work.start_ns, work.end_ns, work.name))
            (work.is_copy ? written_copies_ : written_kernels_)++;
          return text_.status();
        },
        report_);
  }

  /// What a weight is differs: our own recordings count nanoseconds, other samplers cycles.
  const char* sample_unit() const {
    const auto& formats = call_.run.files().formats;
    return formats.contains("recording") && !formats.contains("nsys") ? "nanoseconds" : "none";
  }

  Result<void> write_samples() {
    int32_t track = -2;
    std::vector<uint32_t> frames;
    NL_CHECK(for_samples(
        call_,
        [&](const StackSample& sample) -> Result<void> {
          if (sample.track_id != track) {
            if (track != -2) profiles_.end_sampled();
            profiles_.begin_sampled("samples of " + tracks_.track(sample.track_id), sample_unit());
            track = sample.track_id;
          }
          frames.clear();
          for_frames(sample.stack, [&](std::string_view frame) { frames.push_back(names_.number(frame)); });
          profiles_.sample(frames, sample.weight);
          written_samples_++;
          return text_.status();
        },
        report_));
    if (track != -2) profiles_.end_sampled();
    return {};
  }

  Result<void> write_layers() {
    if (!window_.is_all() || !call_.run.has("layer_times")) return {};
    profiles_.begin_sampled("layers of the engine", "nanoseconds");
    NL_CHECK(for_layers(
        call_,
        [&](const LayerTime& layer) {
          profiles_.sample({names_.number(layer.name)}, layer.total_ns);
          written_layers_++;
        },
        report_));
    profiles_.end_sampled();
    return {};
  }

  Result<ExportReport> finish_report() {
    for (const auto& [table, rows] :
         {std::pair{"spans", written_spans_}, std::pair{"kernels", written_kernels_},
          std::pair{"copies", written_copies_}, std::pair{"samples", written_samples_},
          std::pair{"layer_times", written_layers_}}) {
      if (rows > 0) report_.written[table] = rows;
    }
    count_lost(report_, "nesting of spans that cross another, which are cut there", crossed_spans_);
    count_lost(report_, "device work that overlaps other work of its stream, which is cut there",
               sweep_.crossed() - crossed_spans_);
    count_lost(report_, "spans nested too deep, merged into (others)", sweep_.too_deep());
    count_lost(report_, "names merged into (others)", names_.without_room());
    std::vector<std::string> written = {"spans", "kernels", "copies", "samples"};
    if (window_.is_all()) written.emplace_back("layer_times");
    NL_CHECK(count_tables_left_out(call_, written, report_));
    return std::move(report_);
  }

  const ExportCall& call_;
  const WindowCut window_;
  const int64_t origin_ns_;
  SpeedscopeText text_;
  SpeedscopeProfiles profiles_;
  SpeedscopeTimeline timeline_;
  SpanSweep<SpeedscopeTimeline> sweep_;
  FrameNames names_;
  TrackNames tracks_;
  ExportReport report_;
  int64_t written_spans_ = 0, written_kernels_ = 0, written_copies_ = 0, written_samples_ = 0;
  int64_t written_layers_ = 0, crossed_spans_ = 0;
};

Result<ExportReport> write_speedscope(const ExportCall& call) {
  NL_TRY(const auto range, time_range(call));
  return SpeedscopeFile(call, range ? range->begin_ns : 0).write();
}

}  // namespace

const Exporter& exporter() {
  static constexpr Exporter kSpeedscope{"speedscope", "https://www.speedscope.app, or npx speedscope FILE",
                                        write_speedscope};
  return kSpeedscope;
}

}  // namespace nl::exports::speedscope_exporter
