#include "capture/sample/cpu_sampler.h"

#include <poll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "base/checked_thread.h"
#include "capture/sample/frame_names.h"

namespace nl::capture {
namespace {

constexpr uint64_t kSettleNs = 10'000'000;  // a record is in its ring so long after its time, at the latest
constexpr uint64_t kFlushEveryNs = 1'000'000'000;
constexpr size_t kMaxKernelDepth = 127;  // perf_event_max_stack, unless someone changed it
constexpr uint64_t kSecondNs = 1'000'000'000;

/// Plain data out of the body of a record, as far as it goes.
class Body {
 public:
  explicit Body(std::string_view bytes) : bytes_(bytes) {}
  template <class T>
  T take() {
    T value{};
    if (bytes_.size() < sizeof value) {
      bytes_ = {};
      return value;
    }
    std::memcpy(&value, bytes_.data(), sizeof value);
    bytes_.remove_prefix(sizeof value);
    return value;
  }
  std::string text() const { return std::string(bytes_.substr(0, bytes_.find('\0'))); }
  size_t size() const { return bytes_.size(); }

 private:
  std::string_view bytes_;
};

/// Where the time stands: samples have it behind address and thread, others at their end (sample_id_all).
uint64_t time_of(uint32_t type, std::string_view body) {
  const size_t at = type == PERF_RECORD_SAMPLE ? 16 : body.size() - sizeof(uint64_t);
  if (body.size() < sizeof(uint64_t) || at + sizeof(uint64_t) > body.size()) return 0;
  return Body(body.substr(at)).take<uint64_t>();
}

/// For a thread that runs for moments, but at once when it is woken: a short slice, which anyone may have,
/// and a little before others, if we may. Else Python would be read where its thread happens to leave the
/// processor, when there are more threads than processors.
void ask_to_run_at_once() {
  struct {  // sched_attr of linux/sched/types.h, which old headers lack
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime_ns, deadline_ns, period_ns;
  } wanted = {48, 0, 0, -10, 0, 100'000, 0, 0};
  if (::syscall(SYS_sched_setattr, 0, &wanted, 0) == 0) return;
  wanted.nice = ::getpriority(PRIO_PROCESS, 0);
  ::syscall(SYS_sched_setattr, 0, &wanted, 0);
}

/// Samples without names are better than none.
void add_names(SamplingEnd& end) {
  const auto named = name_frames(end.path);
  if (!named) end.unnamed_reason = named.error().message;
}

}  // namespace

// ---- Starting

perf_event_attr CpuSampler::attributes_of(const SamplerOptions& options, Events has) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_CPU_CLOCK;
  attributes.sample_period = kSecondNs / options.frequency_hz;
  attributes.sample_type =
      PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN;
  attributes.disabled = 1;
  attributes.inherit = 1;
  attributes.enable_on_exec = 1;
  attributes.exclude_kernel = has.with_kernel ? 0 : 1;
  attributes.read_format = has.count_losses ? kCountLosses : 0;
  attributes.exclude_hv = 1;
  attributes.exclude_callchain_kernel = 1;
  attributes.mmap = 1;
  attributes.mmap2 = 1;
  attributes.comm = 1;
  attributes.comm_exec = 1;
  attributes.task = 1;
  attributes.sample_id_all = 1;
  attributes.use_clockid = 1;
  attributes.clockid = CLOCK_MONOTONIC;
  attributes.context_switch = options.with_waits ? 1 : 0;
  attributes.watermark = options.with_python ? 0 : 1;
  if (options.with_python)
    attributes.wakeup_events = 1;  // where Python is then, is read at once
  else
    attributes.wakeup_watermark = static_cast<uint32_t>(options.ring_bytes / 2);
  return attributes;
}

/// Nothing, or the number of the error that the first processor gave.
int CpuSampler::open_events(const SamplerOptions& options, Events has, std::vector<int>& fds) {
  const perf_event_attr attributes = attributes_of(options, has);
  const long processors = ::sysconf(_SC_NPROCESSORS_CONF);
  for (int processor = 0; processor < processors; processor++) {
    const int fd = open_perf_event(attributes, processor);
    if (fd >= 0) {
      fds.push_back(fd);
    } else if (fd != -ENODEV) {  // switched off
      for (const int open : fds) ::close(open);
      fds.clear();
      return -fd;
    }
  }
  return 0;
}

Result<std::unique_ptr<CpuSampler>> CpuSampler::start(const SamplerOptions& options) {
  if (options.frequency_hz < 1 || options.frequency_hz > 10'000)
    return Error{ErrorCode::kBadInput, "samples per second: 1 to 10000"};
  std::vector<int> fds;
  Events has;
  int failed = open_events(options, has, fds);
  if (failed == EINVAL) {
    has.count_losses = false;
    failed = open_events(options, has, fds);
  }
  if (failed == EACCES || failed == EPERM) {
    has.with_kernel = false;
    failed = open_events(options, has, fds);
  }
  if (failed != 0) {
    const PerfRefusal refusal = perf_refusal(failed);
    return Error{refusal.is_forbidden ? ErrorCode::kPermission : ErrorCode::kUnavailable, refusal.reason,
                 refusal.fix};
  }
  std::vector<PerfRing> rings;
  for (size_t i = 0; i < fds.size(); i++) {
    auto ring = PerfRing::map(fds[i], options.ring_bytes);
    if (!ring) {
      for (size_t rest = i + 1; rest < fds.size(); rest++) ::close(fds[rest]);
      return ring.error();
    }
    rings.push_back(std::move(*ring));
  }
  const wire::SamplingFacts facts{options.frequency_hz,
                                  kSecondNs / options.frequency_hz,
                                  has.with_kernel,
                                  static_cast<uint32_t>(rings.size()),
                                  0,
                                  0};
  NL_TRY(SampleWriter writer, SampleWriter::create(options.path, options.limit_bytes, facts));
  std::unique_ptr<CpuSampler> sampler(new CpuSampler(options, std::move(writer), has));
  sampler->rings_ = std::move(rings);
  return sampler;
}

wire::SamplingFacts CpuSampler::facts() const {
  return {options_.frequency_hz,
          kSecondNs / options_.frequency_hz,
          has_.with_kernel,
          static_cast<uint32_t>(rings_.size()),
          throttled_,
          torn_};
}

// ---- Draining

void CpuSampler::wait(int milliseconds) const {
  std::vector<pollfd> wanted;
  for (const PerfRing& ring : rings_) wanted.push_back({ring.fd(), POLLIN, 0});
  ::poll(wanted.data(), wanted.size(), milliseconds);
  // An event whose threads have all ended is ready for ever.
  const bool has_ended = std::any_of(wanted.begin(), wanted.end(),
                                     [](const pollfd& one) { return (one.revents & POLLHUP) != 0; });
  if (has_ended) ::usleep(1000u * static_cast<unsigned>(milliseconds));
}

/// The functions that each thread is in now, with its last sample; they stand for all samples that came since
/// it was read before.
void CpuSampler::read_python(size_t first) {
  std::map<std::pair<uint32_t, uint32_t>, std::pair<Event*, uint64_t>> last;
  for (size_t i = first; i < events_.size(); i++) {
    if (events_[i].type != PERF_RECORD_SAMPLE) continue;
    Body body(events_[i].body);
    body.take<uint64_t>();  // address
    const auto process = body.take<uint32_t>(), thread = body.take<uint32_t>();
    body.take<uint64_t>();  // time
    auto& [event, weight_ns] = last[{process, thread}];
    event = &events_[i];
    weight_ns += body.take<uint64_t>();
  }
  for (const auto& [thread, found] : last) {
    const auto outcome = python_.read(thread.first, thread.second, found.first->python);
    if (outcome == PythonStacks::Found::kStack) found.first->python_ns = found.second;
    if (outcome == PythonStacks::Found::kTorn) torn_++;
    if (outcome != PythonStacks::Found::kStack) found.first->python.clear();
  }
}

void CpuSampler::gather() {
  const size_t first = events_.size();
  for (PerfRing& ring : rings_) {
    ring.drain([&](const perf_event_header& header, std::string_view body) {
      events_.push_back({time_of(header.type, body), header.type, header.misc, std::string(body)});
    });
  }
  if (options_.with_python) read_python(first);
  std::stable_sort(events_.begin(), events_.end(),
                   [](const Event& a, const Event& b) { return a.time_ns < b.time_ns; });
}

/// What happened before the last poll began is in the rings by now, whatever processor it was on.
Result<void> CpuSampler::poll() {
  const auto now_ns = static_cast<uint64_t>(wire::clock_ns(CLOCK_MONOTONIC));
  gather();
  NL_CHECK(take_until(std::min(last_poll_ns_, now_ns - kSettleNs)));
  last_poll_ns_ = now_ns;
  if (now_ns - last_flush_ns_ < kFlushEveryNs) return {};
  last_flush_ns_ = now_ns;
  return writer_.flush();
}

Result<void> CpuSampler::take_until(uint64_t time_ns) {
  size_t taken = 0;
  for (; taken < events_.size() && events_[taken].time_ns <= time_ns; taken++) NL_CHECK(take(events_[taken]));
  events_.erase(events_.begin(), events_.begin() + static_cast<ptrdiff_t>(taken));
  return {};
}

Result<void> CpuSampler::take(const Event& event) {
  Body body(event.body);
  switch (event.type) {
    case PERF_RECORD_SAMPLE:
      return take_sample(event);
    case PERF_RECORD_MMAP2:
      take_mapping(event);
      break;
    case PERF_RECORD_COMM:
      take_name(event);
      break;
    case PERF_RECORD_FORK:
      take_fork(event);
      break;
    case PERF_RECORD_EXIT:
      take_exit(event);
      break;
    case PERF_RECORD_SWITCH:
      return take_switch(event);
    case PERF_RECORD_LOST:
      body.take<uint64_t>();
      if (!has_.count_losses) writer_.lose(wire::Loss::kSampleRing, body.take<uint64_t>());
      waiting_.clear();  // who went on meanwhile is not known
      break;
    case PERF_RECORD_THROTTLE:
      throttled_++;
      break;
    default:
      break;
  }
  return {};
}

void CpuSampler::take_fork(const Event& event) {
  Body body(event.body);
  const auto process = body.take<uint32_t>(), parent = body.take<uint32_t>();
  const auto thread = body.take<uint32_t>(), parent_thread = body.take<uint32_t>();
  processes_.begin_thread(process, thread, parent, parent_thread);
  if (process != parent) python_.copy(parent, process);
}

void CpuSampler::take_exit(const Event& event) {
  Body body(event.body);
  const auto process = body.take<uint32_t>();
  body.take<uint32_t>();  // parent
  const auto thread = body.take<uint32_t>();
  processes_.end_thread(process, thread);
  waiting_.erase({process, thread});
  if (process == thread) python_.forget(process);
}

/// One record when a thread stops, one when it goes on; in between it did not run.
Result<void> CpuSampler::take_switch(const Event& event) {
  Body body(event.body);
  const auto process = body.take<uint32_t>(), thread = body.take<uint32_t>();
  if ((event.flags & PERF_RECORD_MISC_SWITCH_OUT) != 0) {
    waiting_[{process, thread}] = {event.time_ns, (event.flags & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) != 0};
    return {};
  }
  const auto it = waiting_.find({process, thread});
  if (it == waiting_.end()) return {};  // it goes on for the first time
  const auto [since_ns, is_preempted] = it->second;
  waiting_.erase(it);
  return writer_.add_wait(processes_.process_of(process), processes_.thread_of(process, thread),
                          {since_ns, event.time_ns - since_ns, is_preempted ? 1u : 0u, 0});
}

void CpuSampler::take_mapping(const Event& event) {
  Body body(event.body);
  const auto process = body.take<uint32_t>();
  body.take<uint32_t>();  // thread
  CodeMapping mapping{};
  mapping.start = body.take<uint64_t>();
  mapping.bytes = body.take<uint64_t>();
  mapping.offset = body.take<uint64_t>();
  const auto major = body.take<uint32_t>(), minor = body.take<uint32_t>();
  mapping.device = uint64_t{major} << 32 | minor;
  mapping.inode = body.take<uint64_t>();
  body.take<uint64_t>();  // generation of the inode
  body.take<uint64_t>();  // protection, flags
  mapping.path = body.text();
  processes_.map_code(process, mapping);
  if (!options_.with_python) return;
  if (const auto shift = processes_.shift_of(process, mapping)) python_.map(process, mapping.path, *shift);
}

void CpuSampler::take_name(const Event& event) {
  Body body(event.body);
  const auto process = body.take<uint32_t>(), thread = body.take<uint32_t>();
  if ((event.flags & PERF_RECORD_MISC_COMM_EXEC) != 0) {
    processes_.begin_program(process, thread, body.text());
    python_.forget(process);
  } else {
    processes_.name_thread(process, thread, body.text());
  }
}

/// Innermost first: the kernel if it was there, where the program was, and where its callers go on. An
/// address where no code is ends the stack: what called was compiled without frame pointers.
Result<void> CpuSampler::take_sample(const Event& event) {
  Body body(event.body);
  body.take<uint64_t>();  // address; the first of the chain, unless the kernel ran
  const auto process = body.take<uint32_t>(), thread = body.take<uint32_t>();
  const auto time_ns = body.take<uint64_t>(), period_ns = body.take<uint64_t>();
  const uint64_t depth = std::min<uint64_t>(body.take<uint64_t>(), body.size() / sizeof(uint64_t));
  places_.clear();
  if ((event.flags & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL)
    places_.push_back({SampledProcesses::kKernel, 0});
  bool is_return = !places_.empty();  // the instruction behind the one that was under way
  size_t callers = 0;
  for (uint64_t i = 0; i < depth && places_.size() < wire::kMaxStackDepth - 1; i++) {
    const auto address = body.take<uint64_t>();
    if (address >= PERF_CONTEXT_MAX) continue;  // says only whose addresses follow
    callers++;
    const CodePlace place = processes_.place_of(process, is_return ? address - 1 : address);
    is_return = true;
    places_.push_back(place);
    if (place.module == SampledProcesses::kUnknown) break;
  }
  if (callers >= kMaxKernelDepth) places_.push_back({SampledProcesses::kCut, 0});
  if (places_.empty()) places_.push_back({SampledProcesses::kUnknown, 0});
  const auto weight = [](uint64_t ns) { return static_cast<uint32_t>(std::min<uint64_t>(ns, UINT32_MAX)); };
  const SampledProcess& of_process = processes_.process_of(process);
  const SampledThread& of_thread = processes_.thread_of(process, thread);
  if (!event.python.empty())
    NL_CHECK(writer_.add_python(of_process, of_thread, time_ns, weight(event.python_ns), event.python,
                                python_.names(), processes_.modules()));
  return writer_.add(of_process, of_thread, time_ns, weight(period_ns), places_, processes_.modules());
}

// ---- Ending

Result<SamplingEnd> CpuSampler::finish() {
  gather();
  NL_CHECK(take_until(UINT64_MAX));
  for (const PerfRing& ring : rings_)
    writer_.lose(wire::Loss::kSampleRing, has_.count_losses ? ring.lost() : 0);
  NL_CHECK(writer_.finish(facts()));
  const SampleWriter::Counts recorded = writer_.recorded();
  SamplingEnd end{.path = options_.path,
                  .recorded = recorded.samples,
                  .python = recorded.python,
                  .waits = recorded.waits,
                  .lost = writer_.lost(),
                  .torn = torn_,
                  .throttled = throttled_,
                  .with_kernel = has_.with_kernel,
                  .no_python_reason = python_.unread_reason()};
  { const SampleWriter closed = std::move(writer_); }  // and with it the lock of the file
  add_names(end);
  return end;
}

Result<SamplingEnd> sample_around(const SamplerOptions& options, const std::function<Result<void>()>& run) {
  constexpr int kPauseMs = 100;
  auto sampler = CpuSampler::start(options);
  if (!sampler) {
    const Error& error = sampler.error();
    if (error.code != ErrorCode::kPermission && error.code != ErrorCode::kUnavailable) return error;
    NL_CHECK(run());
    return SamplingEnd{"no processor samples: " + error.message};
  }
  std::atomic<bool> has_ended{false};
  CheckedThread thread([&]() -> Result<void> {
    if (options.with_python) ask_to_run_at_once();
    while (!has_ended.load(std::memory_order_acquire)) {
      (*sampler)->wait(kPauseMs);
      NL_CHECK((*sampler)->poll());
    }
    return {};
  });
  const Result<void> ran = without_exceptions(run);
  has_ended.store(true, std::memory_order_release);
  NL_CHECK(thread.join());
  auto end = (*sampler)->finish();
  if (!ran) return ran.error();
  return end;
}

Result<SamplingEnd> recover_samples(const std::string& path) {
  SamplingEnd end;
  end.path = path;
  NL_CHECK(RecordingFile::reopen(path, [&](const wire::ChunkHeader& header, std::string_view payload) {
    if (header.kind == wire::ChunkKind::kSamples) end.recorded += header.records;
    if (header.kind == wire::ChunkKind::kPythonSamples) end.python += header.records;
    if (header.kind == wire::ChunkKind::kWaits) end.waits += header.records;
    if (header.kind == wire::ChunkKind::kLosses && payload.size() >= sizeof end.lost)
      std::memcpy(end.lost.data(), payload.data(), sizeof end.lost);
    if (header.kind != wire::ChunkKind::kSampling) return;
    const auto facts = Body(payload).take<wire::SamplingFacts>();
    end.throttled = facts.throttled;
    end.with_kernel = facts.with_kernel != 0;
  }));
  add_names(end);
  return end;
}

}  // namespace nl::capture
