// Nsight Systems: the SQLite file that `nsys export --type sqlite` writes, schemas 3.0 (2022) to 3.25 (2026).
// Times are whole nanoseconds since the start of the session. Correlation ids count per process. The file
// also holds the environment, the command line and the output of the programs: what is taken from tables
// about the run is listed here by name, and nothing else of them is ever copied.

#include <algorithm>

#include "base/decimal.h"
#include "base/json.h"
#include "base/path_text.h"
#include "ingest/active_devices.h"
#include "ingest/formats/nsys/nsys_records.h"
#include "ingest/source/utf8.h"

namespace nl::ingest::nsys_adapter {
namespace {

using model::kNull;

constexpr size_t kMaxNamed = 1'000'000;  // rows of a table of names that are looked at

/// Rows of a small table with the wanted columns. `row` gets the scan.
template <class Row>
Result<void> each_row(SqliteFile& file, std::string_view name, std::initializer_list<const char*> columns,
                      Row row) {
  const SqliteTable* const table = file.table(name);
  if (table == nullptr) return {};
  std::vector<int> numbers;
  for (const char* column : columns) numbers.push_back(table->column(column));
  SqliteScan scan(file.pages(), *table, numbers);
  for (size_t n = 0; n < kMaxNamed; n++) {
    NL_TRY(const bool more, scan.next());
    if (!more) break;
    if (!scan.too_long()) row(scan);
  }
  return {};
}

int64_t integer(const SqliteCell& cell) {
  return cell.kind == SqliteKind::kInteger ? cell.integer : kNull;
}

std::string short_text(const SqliteCell& cell) {
  constexpr size_t kMaxBytes = 256;
  if (cell.kind != SqliteKind::kText || cell.bytes.size() > kMaxBytes) return {};
  return repaired_utf8(cell.bytes);
}

/// Letters, digits and a few marks: versions, host names. Anything else is not what it claims to be.
bool is_plain(std::string_view text, std::string_view marks) {
  return !text.empty() && text.size() <= 128 && std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           marks.find(c) != std::string_view::npos;
  });
}

bool is_version(std::string_view text) {
  return is_plain(text, ".-_+") && text[0] >= '0' && text[0] <= '9' && text.size() <= 40;
}

/// The program without its folder and arguments.
std::string program_name(std::string_view command) {
  command = command.substr(0, command.find_first_of(" \t\r\n"));
  return repaired_utf8(foreign_base_name(command).substr(0, 64));
}

class NsysImport {
 public:
  NsysImport(SqliteFile& file, const ReadOptions& options, model::RunSink& sink, model::RunInfo& info)
      : file_(file), sink_(sink), info_(info), rows_(file, options, sink, info) {}

  Result<void> read() {
    promise_columns();
    NL_CHECK(read_export());
    NL_CHECK(read_capture());
    NL_CHECK(read_system());
    NL_CHECK(read_session());
    NL_CHECK(read_gpus());
    NL_CHECK(rows_.open());
    NL_CHECK(read_nsys_records(rows_, session_, numbers_, facts_));
    if (info_.counts.seen == 0) {
      return Error{ErrorCode::kBadInput, "the export has no records",
                   "nsys recorded nothing that it could export: look at what was traced (--trace)"};
    }
    NL_CHECK(name_tracks());
    describe();
    return sink_.push(rows_.tracks().write());
  }

 private:
  void promise_columns() {
    const auto bits = [](std::initializer_list<int> columns) {
      uint64_t set = 0;
      for (const int column : columns) set |= uint64_t{1} << column;
      return set;
    };
    namespace s = model::spans;
    sink_.expect(model::TableId::spans, bits({s::track_id, s::name, s::category, s::kind, s::start_ns,
                                              s::dur_ns, s::correlation_id, s::args}));
    namespace k = model::kernels;
    sink_.expect(model::TableId::kernels, bits({k::track_id,
                                                k::name,
                                                k::device,
                                                k::stream,
                                                k::start_ns,
                                                k::dur_ns,
                                                k::correlation_id,
                                                k::context_id,
                                                k::registers_per_thread,
                                                k::shared_memory_bytes,
                                                k::grid_x,
                                                k::grid_y,
                                                k::grid_z,
                                                k::block_x,
                                                k::block_y,
                                                k::block_z,
                                                k::graph_id,
                                                k::graph_node_id,
                                                k::short_name,
                                                k::mangled_name,
                                                k::args}));
    namespace c = model::copies;
    sink_.expect(model::TableId::copies,
                 bits({c::track_id, c::name, c::kind, c::device, c::stream, c::start_ns, c::dur_ns,
                       c::correlation_id, c::context_id, c::bytes, c::args}));
  }

  // ---- About the run; only what is named here

  Result<void> read_export() {
    for (const char* table : {"META_DATA_EXPORT", "EXPORT_META_DATA"}) {
      NL_CHECK(each_row(file_, table, {"name", "value"}, [&](const SqliteScan& row) {
        const std::string name = short_text(row[0]);
        const std::string value = short_text(row[1]);
        if (!is_version(value)) return;
        if (name == "EXPORT_PRODUCT_VERSION") info_.tool_version = value;
        if (name == "EXPORT_SCHEMA_VERSION") info_.versions["nsys_export_schema"] = value;
      }));
    }
    return {};
  }

  Result<void> read_capture() {
    for (const char* table : {"META_DATA_CAPTURE", "CAPTURE_META_DATA"}) {
      NL_CHECK(each_row(file_, table, {"name", "value"}, [&](const SqliteScan& row) {
        const std::string name = short_text(row[0]);
        const std::string value = short_text(row[1]);
        if (name.ends_with("CUDA_GRAPH_TRACE_OPTIONS:MODE") && (value == "Graph" || value == "Node")) {
          kept_["cuda_graph_trace"] = value == "Graph" ? "graph" : "node";
        }
        if (name.ends_with(":COLLECT_CUDA_TRACE") && value == "true") kept_["cuda_trace"] = true;
      }));
    }
    return {};
  }

  Result<void> read_system() {
    return each_row(file_, "TARGET_INFO_SYSTEM_ENV", {"name", "value"}, [&](const SqliteScan& row) {
      const std::string name = short_text(row[0]);
      const std::string value = short_text(row[1]);
      int64_t number = 0;
      if (name == "Hostname" && is_plain(value, ".-_")) {
        if (std::find(info_.hosts.begin(), info_.hosts.end(), value) == info_.hosts.end()) {
          info_.hosts.push_back(value);
        }
      } else if (name == "NvDriverVersion" && is_version(value)) {
        info_.versions["nvidia_driver_version"] = value;
      } else if (name == "CudaDriverVersion" && parse_int64(value, number) && number > 0 &&
                 number < 1'000'000) {
        info_.versions["cuda_driver_version"] =  // 12040 is 12.4
            std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
      }
    });
  }

  Result<void> read_session() {
    model::Clock clock;
    clock.kind = "relative";
    constexpr int64_t kLastBase = 4'000'000'000'000'000'000;
    NL_CHECK(each_row(file_, "TARGET_INFO_SESSION_START_TIME", {"utcEpochNs"}, [&](const SqliteScan& row) {
      const int64_t base = integer(row[0]);
      if (base > 0 && base < kLastBase) {
        clock.kind = "unix";
        clock.base_unix_ns = base;
      } else {
        info_.health["bad_base_time"]++;
      }
    }));
    info_.clocks.push_back(clock);
    return each_row(file_, "ANALYSIS_DETAILS", {"duration", "stopTime"}, [&](const SqliteScan& row) {
      constexpr int64_t kLongest = 1'000'000'000'000'000'000;
      constexpr int64_t kRoom = 3'600'000'000'000;  // an hour; broken clocks are days off
      const int64_t last = std::max(integer(row[0]), integer(row[1]));
      if (last <= 0 || last > kLongest) return;
      session_.first_ns = -kRoom;
      session_.last_ns = last + kRoom;
    });
  }

  // ---- Devices

  struct CudaDevice {
    int64_t process;  ///< pid
    int64_t number;   ///< as the process counts
    int64_t gpu;      ///< as the machine counts
  };

  Result<void> read_gpus() {
    std::vector<CudaDevice> cuda;
    NL_CHECK(
        each_row(file_, "TARGET_INFO_CUDA_DEVICE", {"pid", "cudaId", "gpuId"}, [&](const SqliteScan& row) {
          const CudaDevice device{integer(row[0]), integer(row[1]), integer(row[2])};
          if (device.process >= 0 && device.number >= 0 && device.gpu >= 0) cuda.push_back(device);
        }));
    std::map<int64_t, int64_t> gpu_of;  // number in a process -> GPU
    for (const CudaDevice& device : cuda) {
      if (gpu_of.try_emplace(device.number, device.gpu).first->second != device.gpu) by_gpu_ = true;
    }
    if (by_gpu_) NL_CHECK(number_by_gpu(cuda));
    NL_TRY(const bool numbered, has_cuda_numbers());
    return each_row(file_, "TARGET_INFO_GPU",
                    {"id", "cuDevice", "name", "totalMemory", "smCount", "computeMajor", "computeMinor"},
                    [&](const SqliteScan& row) {
                      if (info_.devices.size() >= kMaxDevices) return;
                      const int64_t gpu = integer(row[0]);
                      int64_t number = numbered ? integer(row[1]) : gpu;
                      for (const auto& [cuda_number, cuda_gpu] : gpu_of) {
                        if (cuda_gpu == gpu) number = cuda_number;
                      }
                      add_gpu(row, by_gpu_ ? gpu : number);
                    });
  }

  /// True if cuDevice tells the devices apart; some versions write 0 for all of them.
  Result<bool> has_cuda_numbers() {
    std::map<int64_t, int64_t> seen;
    NL_CHECK(each_row(file_, "TARGET_INFO_GPU", {"cuDevice"},
                      [&](const SqliteScan& row) { seen[std::max<int64_t>(integer(row[0]), -1)]++; }));
    return std::all_of(seen.begin(), seen.end(),
                       [](const auto& number) { return number.first >= 0 && number.second == 1; });
  }

  /// One number means several devices: then the number that the machine gives them is taken.
  Result<void> number_by_gpu(const std::vector<CudaDevice>& cuda) {
    kept_["devices_numbered_by_gpu"] = true;
    return each_row(file_, "PROCESSES", {"globalPid"}, [&](const SqliteScan& row) {
      if (integer(row[0]) == kNull || cuda.size() > kMaxDevices) return;
      const int64_t process = NsysGlobalId::process_of(integer(row[0]));
      for (const CudaDevice& device : cuda) {
        if (device.process == NsysGlobalId::pid_of(process)) numbers_[{process, device.number}] = device.gpu;
      }
    });
  }

  void add_gpu(const SqliteScan& row, int64_t number) {
    if (number < 0 || number > INT32_MAX) return;
    model::Device device;
    device.device = static_cast<int32_t>(number);
    device.name = short_text(row[2]);
    device.vendor = "NVIDIA";
    if (integer(row[3]) > 0) device.memory_bytes = integer(row[3]);
    if (integer(row[4]) > 0) device.multiprocessors = integer(row[4]);
    if (integer(row[5]) > 0 && integer(row[6]) >= 0) {
      device.compute_capability = std::to_string(integer(row[5])) + "." + std::to_string(integer(row[6]));
    }
    info_.devices.push_back(std::move(device));
  }

  // ---- Names of tracks that have rows; the tables list all processes of the machine

  Result<void> name_tracks() {
    NsysTracks& tracks = rows_.tracks();
    NL_CHECK(each_row(file_, "PROCESSES", {"globalPid", "name"}, [&](const SqliteScan& row) {
      const int64_t id = integer(row[0]);
      if (id == kNull || row[1].kind != SqliteKind::kText) return;
      const int64_t process = NsysGlobalId::process_of(id);
      if (tracks.has_process(process)) tracks.name_process(process, program_name(row[1].bytes));
    }));
    std::map<int64_t, int64_t> priorities;
    NL_CHECK(each_row(file_, "ThreadNames", {"globalTid", "nameId", "priority"}, [&](const SqliteScan& row) {
      const int64_t thread = integer(row[0]);
      if (thread == kNull || integer(row[1]) == kNull || !tracks.has_thread(thread)) return;
      const auto [before, is_new] = priorities.try_emplace(thread, integer(row[2]));
      if (!is_new && before->second >= integer(row[2])) return;
      before->second = integer(row[2]);
      const std::string_view name = rows_.strings().text(integer(row[1]));
      if (!name.empty()) tracks.name_thread(thread, std::string(name.substr(0, kMaxThreadName)));
    }));
    if (rows_.strings().failed()) return *rows_.strings().failed();
    return {};
  }

  void describe() {
    const auto& records = info_.records_by_category;
    const auto from_cuda = [](const auto& table) { return table.first.starts_with("CUPTI_"); };
    if (std::any_of(records.begin(), records.end(), from_cuda)) info_.backend = "cuda";
    info_.tool = "nsys";
    if (file_.not_understood() > 0) info_.health["table_not_understood"] = file_.not_understood();
    mark_active_devices(facts_.devices, kMaxDevices, info_);
    if (rows_.strings().refused() > 0) info_.health["name_refused"] = rows_.strings().refused();
    info_.extensions["nsys"] = kept_;
  }

  static constexpr size_t kMaxDevices = 4096;
  static constexpr size_t kMaxThreadName = 64;

  SqliteFile& file_;
  model::RunSink& sink_;
  model::RunInfo& info_;
  NsysRows rows_;
  NsysSession session_;
  NsysDeviceNumbers numbers_;
  NsysFacts facts_;
  bool by_gpu_ = false;
  nlohmann::json kept_ = nlohmann::json::object();
};

/// Tables that only nsys writes are listed near the beginning of the file.
Sniffed sniff(std::string_view head, std::string_view) {
  if (!head.starts_with(kSqliteMagic)) return {};
  const auto has = [&](std::string_view text) { return head.find(text) != std::string_view::npos; };
  for (const std::string_view own :
       {"TABLE CUPTI_ACTIVITY_KIND_", "TABLE TARGET_INFO_SESSION_START_TIME", "TABLE ENUM_NSYS_EVENT_TYPE",
        "TABLE META_DATA_EXPORT", "TABLE EXPORT_META_DATA", "table CUPTI_ACTIVITY_KIND_"}) {
    if (has(own)) return {0.95};
  }
  return {has("StringIds") ? 0.6 : 0};
}

Result<void> read(ByteSource& source, const ReadOptions& options, model::RunSink& sink,
                  model::RunInfo& info) {
  NL_TRY(RandomAccess bytes, RandomAccess::open(source, options));
  NL_TRY(SqliteFile file, SqliteFile::open(std::move(bytes)));
  return NsysImport(file, options, sink, info).read();
}

}  // namespace

const Adapter& adapter() {
  static constexpr Adapter kAdapter{
      "nsys", 2, "Nsight Systems SQLite export (.sqlite, .sqlite.gz)", "trace", {}, sniff, read};
  return kAdapter;
}

}  // namespace nl::ingest::nsys_adapter
