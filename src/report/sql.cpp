#include "report/sql.h"

#include <fmt/core.h>

#include "base/sha256.h"
#include "report/escape.h"

namespace nl::report {
namespace {

using analyze::DeviceAnswer;
using analyze::KernelAnswer;
using std::string;

string quoted(const string& text) {
  string out = "'";
  for (const char c : text) {
    out += c;
    if (c == '\'') out += c;
  }
  return out + "'";
}

string joined(const std::vector<string>& list, const char* between) {
  string out;
  for (size_t i = 0; i < list.size(); i++) out += (i == 0 ? "" : between) + list[i];
  return out;
}

string number_or_null(const std::optional<int32_t>& value) {
  return value ? std::to_string(*value) : "NULL";
}

/// Of the host there is none.
string device_number(const DeviceAnswer& device) {
  return number_or_null(device.is_host() ? std::nullopt : device.on.device.number);
}

string rank_number(const DeviceAnswer& device) {
  return number_or_null(device.on.rank);
}

/// The pieces of the window as a table w(n, b, e).
string window_table(const std::vector<Piece>& pieces) {
  std::vector<string> rows;
  for (const Piece& piece : pieces)
    rows.push_back(fmt::format("({}, {}, {})", piece.row, piece.begin, piece.end));
  return "w(n, b, e) AS (VALUES " + joined(rows, ", ") + ")";
}

/// Rows of the device; where a row does not say its device, its timeline does.
string of_device(const DeviceAnswer& device) {
  return fmt::format(
      "coalesce(x.device, t.device) IS NOT DISTINCT FROM {} AND t.rank IS NOT DISTINCT FROM {}",
      device_number(device), rank_number(device));
}

string part_of_kernels(const DeviceAnswer& device) {
  const std::vector<string>& names = device.work->communication_names;
  if (names.empty()) return "'compute'";
  return fmt::format("CASE WHEN {} THEN 'communication' ELSE 'compute' END", is_one_of("x.name", names));
}

string part_of_spans(const DeviceAnswer& device) {
  const std::vector<string>& copies = device.work->copy_span_names;
  if (copies.empty()) return part_of_kernels(device);
  return fmt::format("CASE WHEN {} THEN 'copy' ELSE {} END", is_one_of("x.name", copies),
                     part_of_kernels(device));
}

string rows_of_table(const DeviceAnswer& device, const char* table, const char* key, const char* links,
                     const string& part, int place) {
  return fmt::format(
      "SELECT 3 * x.{} + {} AS id, {} AS part, x.name AS name, {}x.start_ns AS b, x.start_ns + x.dur_ns AS "
      "e\n"
      "    FROM {} x LEFT JOIN tracks t ON t.track_id = x.track_id\n"
      "    WHERE x.dur_ns >= 0 AND {}",
      key, place, part, links, table, of_device(device));
}

/// Outermost spans of a device without kernels; of a host its outermost ops.
string rows_of_spans(const DeviceAnswer& device, const char* links) {
  const string which =
      device.is_host()
          ? fmt::format("x.kind = 'op' AND p.op_id IS NULL AND t.rank IS NOT DISTINCT FROM {}",
                        rank_number(device))
          : fmt::format(
                "x.kind = 'device' AND p.kind IS DISTINCT FROM 'device' AND t.device IS NOT DISTINCT FROM "
                "{} AND t.rank IS NOT DISTINCT FROM {} AND x.name NOT IN ('event_wait', 'event_record')",
                device_number(device), rank_number(device));
  return fmt::format(
      "SELECT 3 * x.span_id + 2 AS id, {} AS part, x.name AS name, {}x.start_ns AS b,\n"
      "      x.start_ns + greatest(coalesce(x.dur_ns, 0), 0) AS e\n"
      "    FROM spans x LEFT JOIN spans p ON p.span_id = x.parent_id LEFT JOIN tracks t ON t.track_id = "
      "x.track_id\n"
      "    WHERE {}",
      part_of_spans(device), links, which);
}

/// Which rows count: all, all but copies, or those of the table kernels.
enum class WorkOf { kAll, kNoCopies, kKernelRows };

/// work(id, part, name, b, e), with launch and op if asked for.
string work_table(const DeviceAnswer& device, bool with_links, WorkOf of = WorkOf::kAll) {
  const char* links = with_links ? "x.launch_span_id AS launch, x.op_id AS op, " : "";
  const char* no_links = with_links ? "NULL::BIGINT AS launch, NULL::BIGINT AS op, " : "";
  const analyze::WorkRows& rows = device.work->rows;
  std::vector<string> parts;
  if (rows.kernels != 0)
    parts.push_back(rows_of_table(device, "kernels", "kernel_id", links, part_of_kernels(device), 0));
  if (of == WorkOf::kAll && rows.copies != 0)
    parts.push_back(rows_of_table(device, "copies", "copy_id", links, "'copy'", 1));
  if (of != WorkOf::kKernelRows && rows.spans != 0) parts.push_back(rows_of_spans(device, no_links));
  if (parts.empty()) parts.push_back(rows_of_table(device, "kernels", "kernel_id", links, "'compute'", 0));
  return "work AS (\n    " + joined(parts, "\n    UNION ALL ") + ")";
}

/// inside(id, name, part, ns): work that touches the window, with its time in it.
string inside_table(bool with_links) {
  const string links = with_links ? ", k.launch, k.op" : "";
  return fmt::format(
      "inside AS (\n"
      "    SELECT k.id, k.name, k.part{}, sum(greatest(0, least(k.e, w.e) - greatest(k.b, w.b)))::BIGINT AS "
      "ns\n"
      "    FROM work k JOIN w ON w.e > k.b AND (w.b < k.e OR w.b <= k.b)\n"
      "    GROUP BY k.id, k.name, k.part{})",
      links, links);
}

/// Counts what runs between each two moments at which something begins or ends.
constexpr char kSweep[] =
    R"(,
  clipped AS (
    SELECT w.n, k.part, greatest(k.b, w.b) AS b, least(k.e, w.e) AS e
    FROM work k JOIN w ON k.b < w.e AND k.e > w.b),
  edges AS (
    SELECT n, b AS t, part, 1 AS change FROM clipped UNION ALL SELECT n, e, part, -1 FROM clipped),
  moments AS (
    SELECT n, t, sum(CASE part WHEN 'compute' THEN change ELSE 0 END) AS c,
      sum(CASE part WHEN 'communication' THEN change ELSE 0 END) AS m,
      sum(CASE part WHEN 'copy' THEN change ELSE 0 END) AS d
    FROM edges GROUP BY n, t),
  stretches AS (
    SELECT n, lead(t) OVER o - t AS ns, sum(c) OVER o AS c, sum(m) OVER o AS m, sum(d) OVER o AS d
    FROM moments WINDOW o AS (PARTITION BY n ORDER BY t)),
  sums AS (
    SELECT n, sum(CASE WHEN c > 0 THEN ns ELSE 0 END) AS compute,
      sum(CASE WHEN c = 0 AND m > 0 THEN ns ELSE 0 END) AS comm,
      sum(CASE WHEN c = 0 AND m = 0 AND d > 0 THEN ns ELSE 0 END) AS copy
    FROM stretches GROUP BY n),
  windows AS (SELECT n, sum(e - b) AS ns FROM w GROUP BY n)
SELECT windows.ns::BIGINT AS window_ns, coalesce(compute, 0)::BIGINT AS compute_ns,
  coalesce(comm, 0)::BIGINT AS exposed_comm_ns, coalesce(copy, 0)::BIGINT AS exposed_copy_ns,
  (windows.ns - coalesce(compute + comm + copy, 0))::BIGINT AS idle_ns
FROM windows LEFT JOIN sums USING (n) ORDER BY windows.n)";

/// exposed(id, ns): the time in which a piece of work ran alone on the device.
constexpr char kExposed[] =
    R"(,
  changes AS (
    SELECT t, sum(change) AS change, sum(change * id) AS ids
    FROM (SELECT b AS t, 1 AS change, id FROM work UNION ALL SELECT e, -1, id FROM work) GROUP BY t),
  running AS (
    SELECT t AS b, lead(t) OVER o AS e, sum(change) OVER o AS works, sum(ids) OVER o AS id
    FROM changes WINDOW o AS (ORDER BY t)),
  exposed AS (
    SELECT r.id::BIGINT AS id, sum(least(r.e, w.e) - greatest(r.b, w.b)) AS ns
    FROM running r JOIN w ON r.b < w.e AND r.e > w.b WHERE r.works = 1 GROUP BY r.id))";

string owner_case(const std::vector<string>& graph_calls) {
  const string graph = graph_calls.empty()
                           ? ""
                           : fmt::format("WHEN {} THEN 'graph_launch' ", is_one_of("l.name", graph_calls));
  return fmt::format(
      "CASE WHEN i.launch IS NULL AND i.op IS NULL THEN 'no_launch' {}WHEN i.op IS NULL THEN 'call' ELSE "
      "'op' END",
      graph);
}

}  // namespace

string is_one_of(const string& column, const std::vector<string>& names) {
  std::vector<string> plain, hashed;
  for (const string& name : names) {
    if (is_plain(name)) {
      plain.push_back(quoted(name));
    } else {
      hashed.push_back(quoted(sha256_hex(name)));
    }
  }
  const string by_name = column + " IN (" + joined(plain, ", ") + ")";
  const string by_hash = "sha256(" + column + ") IN (" + joined(hashed, ", ") + ")";
  if (hashed.empty()) return by_name;
  return plain.empty() ? by_hash : "(" + by_name + " OR " + by_hash + ")";
}

string decomposition_sql(const DeviceAnswer& device, const std::vector<Piece>& pieces) {
  return "WITH " + window_table(pieces) + ",\n  " + work_table(device, false) + kSweep;
}

string strip_sql(const DeviceAnswer& device, const std::vector<Piece>& pieces, size_t stretches) {
  const int64_t begin = pieces.front().begin, length = pieces.back().end - begin;
  const auto edge = [&](const char* i) {
    return fmt::format("{} + {} * {} + {} * {} // {}", begin, length / static_cast<int64_t>(stretches), i,
                       length % static_cast<int64_t>(stretches), i, stretches);
  };
  const string cut = fmt::format(
      "pieces(n, b, e) AS (SELECT r.i, greatest(v.b, {}), least(v.e, {})\n"
      "    FROM range({}) r(i), v)",
      edge("r.i"), edge("(r.i + 1)"), stretches);
  string window = window_table(pieces);
  window.replace(0, 1, "v");
  return "WITH " + window + ",\n  " + cut +
         ",\n  w(n, b, e) AS (SELECT n, b, greatest(b, e) FROM pieces),\n  " + work_table(device, false) +
         kSweep;
}

string kernels_sql(const DeviceAnswer& device, const std::vector<Piece>& pieces, size_t top) {
  return "WITH " + window_table(pieces) + ",\n  " + work_table(device, false) + ",\n  " +
         inside_table(false) + kExposed +
         fmt::format(
             "\nSELECT i.name, sum(i.ns)::BIGINT AS total_ns, count(*) AS calls, "
             "coalesce(sum(x.ns), 0)::BIGINT AS exposed_ns\n"
             "FROM inside i LEFT JOIN exposed x ON x.id = i.id\n"
             "GROUP BY i.name, i.id % 3 = 1 ORDER BY total_ns DESC, i.name LIMIT {}",
             top);
}

string classes_sql(const DeviceAnswer& device, const std::vector<Piece>& pieces,
                   const std::vector<const KernelAnswer*>& kernels) {
  std::map<string, std::vector<string>> classes;
  for (const KernelAnswer* row : kernels) {
    if (!row->is_copy) classes[string(op_class_name(row->op_class))].push_back(row->name);
  }
  string cases;
  for (const auto& [name, kernel_names] : classes)
    cases += fmt::format("\n    WHEN {} THEN {}", is_one_of("name", kernel_names), quoted(name));
  return "WITH " + window_table(pieces) + ",\n  " + work_table(device, false, WorkOf::kNoCopies) + ",\n  " +
         inside_table(false) +
         fmt::format(
             "\nSELECT CASE{} END AS class, sum(ns)::BIGINT AS total_ns\n"
             "FROM inside WHERE part <> 'copy' GROUP BY 1 HAVING sum(ns) > 0 ORDER BY 1",
             cases);
}

string ops_sql(const DeviceAnswer& device, const std::vector<Piece>& pieces,
               const std::vector<string>& graph_calls, size_t top) {
  return "WITH " + window_table(pieces) + ",\n  " + work_table(device, true) + ",\n  " + inside_table(true) +
         fmt::format(
             ",\n  owned AS (\n    SELECT i.ns, {} AS owner, i.launch, i.op\n"
             "    FROM inside i LEFT JOIN spans l ON l.span_id = i.launch)\n"
             "SELECT o.owner, s.name, coalesce(s.op_type, s.name) AS op_type, sum(o.ns)::BIGINT AS "
             "device_ns,\n"
             "  count(DISTINCT s.span_id) AS calls, count(*) AS kernels\n"
             "FROM owned o LEFT JOIN spans s ON s.span_id = CASE o.owner WHEN 'op' THEN o.op ELSE o.launch "
             "END\n"
             "GROUP BY 1, 2, 3 ORDER BY device_ns DESC, s.name, o.owner LIMIT {}",
             owner_case(graph_calls), top);
}

string host_ops_sql(const std::vector<Piece>& pieces, size_t top) {
  return "WITH " + window_table(pieces) +
         fmt::format(R"(,
  s AS (
    SELECT span_id, parent_id, op_id, kind, name, coalesce(op_type, name) AS op_type, start_ns AS b,
      start_ns + greatest(coalesce(dur_ns, 0), 0) AS e
    FROM spans),
  inside AS (
    SELECT s.span_id, s.parent_id, sum(greatest(0, least(s.e, w.e) - greatest(s.b, w.b))) AS ns,
      max(CASE WHEN s.b >= w.b AND s.b < w.e THEN 1 ELSE 0 END) AS starts
    FROM s CROSS JOIN w WHERE s.kind IN ('op', 'runtime') GROUP BY s.span_id, s.parent_id),
  below AS (
    SELECT p.op_id AS span_id, sum(i.ns) AS ns
    FROM inside i JOIN s p ON p.span_id = i.parent_id WHERE p.op_id IS NOT NULL GROUP BY p.op_id),
  own AS (
    SELECT s.name, s.op_type, greatest(0, i.ns - coalesce(b.ns, 0)) AS ns, i.starts
    FROM inside i JOIN s ON s.span_id = i.span_id LEFT JOIN below b ON b.span_id = i.span_id
    WHERE s.kind = 'op')
SELECT name, op_type, sum(ns)::BIGINT AS own_ns, sum(starts)::BIGINT AS calls
FROM own WHERE starts = 1 OR ns > 0 GROUP BY name, op_type ORDER BY own_ns DESC, name LIMIT {})",
                     top);
}

string modules_sql(const DeviceAnswer& device, const std::vector<Piece>& pieces, size_t top) {
  string sql = "WITH RECURSIVE " + window_table(pieces) + ",\n  " + work_table(device, true) + ",\n  " +
               inside_table(true);
  return sql + fmt::format(R"(,
  up(launch, span, path) AS (
    SELECT DISTINCT launch, launch, '' FROM inside WHERE launch IS NOT NULL
    UNION ALL
    SELECT up.launch, s.parent_id,
      CASE WHEN starts_with(s.name, 'nn.Module: ')
        THEN regexp_replace(substr(s.name, 12), '_[0-9]*$', '') || CASE up.path WHEN '' THEN '' ELSE ' / ' END || up.path
        ELSE up.path END
    FROM up JOIN spans s ON s.span_id = up.span)
SELECT CASE WHEN i.launch IS NULL THEN '(launch not in the capture)' ELSE nullif(up.path, '') END AS path,
  sum(i.ns)::BIGINT AS device_ns, count(*) AS kernels
FROM inside i LEFT JOIN up ON up.launch = i.launch AND up.span IS NULL
GROUP BY 1 ORDER BY device_ns DESC, path NULLS FIRST LIMIT {})",
                           top);
}

string coverage_sql(const DeviceAnswer& device, const std::vector<Piece>& pieces,
                    const std::vector<string>& graph_calls) {
  const string graph = graph_calls.empty() ? "0"
                                           : fmt::format("CASE WHEN {} THEN i.ns ELSE 0 END",
                                                         is_one_of("l.name", graph_calls));
  return "WITH " + window_table(pieces) + ",\n  " + work_table(device, true, WorkOf::kKernelRows) + ",\n  " +
         inside_table(true) +
         fmt::format(
             "\nSELECT coalesce(sum(i.ns), 0)::BIGINT AS kernel_ns,\n"
             "  coalesce(sum(CASE WHEN i.launch IS NULL THEN 0 ELSE i.ns END), 0)::BIGINT AS "
             "with_launch_ns,\n"
             "  coalesce(sum(CASE WHEN i.op IS NULL THEN 0 ELSE i.ns END), 0)::BIGINT AS with_op_ns,\n"
             "  coalesce(sum({}), 0)::BIGINT AS in_graphs_ns\n"
             "FROM inside i LEFT JOIN spans l ON l.span_id = i.launch",
             graph);
}

string op_kernel_time_sql(const DeviceAnswer& device, const std::vector<Piece>& pieces) {
  return "WITH " + window_table(pieces) + ",\n  " + work_table(device, true, WorkOf::kNoCopies) +
         ",\n  ops_with_work AS (\n    SELECT op, min(b) AS first, sum(e - b) AS ns FROM work WHERE op IS "
         "NOT NULL "
         "GROUP BY op)\n"
         "SELECT coalesce(sum(o.ns), 0)::BIGINT AS op_kernel_ns\n"
         "FROM ops_with_work o JOIN w ON o.first >= w.b AND o.first < w.e";
}

string layers_sql(size_t top) {
  return fmt::format(
      "SELECT name, op_type, dur_ns AS total_ns, calls FROM ops WHERE op_id IS NULL AND dur_ns IS NOT NULL\n"
      "ORDER BY dur_ns DESC, name, op_type LIMIT {}",
      top);
}

string counters_sql(size_t top) {
  return fmt::format(
      "SELECT coalesce(kernel_name, '') AS kernel_name, device_name, sum(dur_ns)::BIGINT AS replay_ns, "
      "count(*) AS launches\n"
      "FROM profiled_launches GROUP BY ALL\n"
      "ORDER BY coalesce(sum(dur_ns), 0) DESC, 1, device_name NULLS FIRST LIMIT {}",
      top);
}

string memory_sql(const DeviceAnswer& device, const std::vector<Piece>& pieces) {
  return "WITH " + window_table(pieces) +
         fmt::format(
             "\nSELECT max(a.total_allocated_bytes) AS peak_allocated_bytes,\n"
             "  max(a.total_reserved_bytes) AS peak_reserved_bytes, count(*) AS events\n"
             "FROM allocations a JOIN w ON a.start_ns >= w.b AND a.start_ns < w.e\n"
             "WHERE a.device_type <> 0 AND a.device = {}",
             device_number(device));
}

string capture_sql() {
  return "SELECT min(b) AS begin_ns, max(e) AS end_ns, max(e) - min(b) AS window_ns FROM (\n"
         "  SELECT start_ns AS b, start_ns + greatest(coalesce(dur_ns, 0), 0) AS e FROM spans WHERE kind <> "
         "'instant'\n"
         "  UNION ALL SELECT start_ns, start_ns + dur_ns FROM kernels WHERE dur_ns >= 0\n"
         "  UNION ALL SELECT start_ns, start_ns + dur_ns FROM copies WHERE dur_ns >= 0)";
}

}  // namespace nl::report
