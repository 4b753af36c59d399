#include "store/sql_frames.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/json.h"

namespace nl::store {
namespace {

using nlohmann::json;

constexpr int kLookEveryMs = 50;
constexpr uint32_t kMostBytes = uint32_t{1} << 28;  // of a frame: one row that is larger is refused
constexpr uint32_t kNullCell = UINT32_MAX;

Error gone() {
  return Error{ErrorCode::kUnavailable, "the process of the query is gone"};
}

Error damaged() {
  return Error{ErrorCode::kInternal, "the process of the query sent an answer that cannot be understood"};
}

Result<void> send_all(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return gone();
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return {};
}

Result<void> receive_all(int socket, char* to, size_t size, const std::function<Result<void>()>& wait) {
  while (size > 0) {
    pollfd waiting{socket, POLLIN, 0};
    const int found = ::poll(&waiting, 1, kLookEveryMs);
    NL_CHECK(wait());
    if (found <= 0) continue;
    const ssize_t got = ::recv(socket, to, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return gone();
    to += got;
    size -= static_cast<size_t>(got);
  }
  return {};
}

std::string text_of(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

void append_size(std::string& text, uint32_t size) {
  text.append(reinterpret_cast<const char*>(&size), sizeof size);
}

/// Takes the size and bytes of one cell from the front; false if they are not all there.
bool take_cell(std::string_view& text, Cell& cell) {
  uint32_t size = 0;
  if (text.size() < sizeof size) return false;
  std::memcpy(&size, text.data(), sizeof size);
  text.remove_prefix(sizeof size);
  cell.is_null = size == kNullCell;
  if (cell.is_null) size = 0;
  if (text.size() < size) return false;
  cell.text = text.substr(0, size);
  text.remove_prefix(size);
  return true;
}

}  // namespace

Result<void> send_frame(int socket, FrameKind kind, std::string_view text) {
  if (text.size() > kMostBytes) return Error{ErrorCode::kLimit, "a row of the result is too large"};
  std::string head(1, static_cast<char>(kind));
  append_size(head, static_cast<uint32_t>(text.size()));
  NL_CHECK(send_all(socket, head));
  return send_all(socket, text);
}

Result<Frame> receive_frame(int socket, const std::function<Result<void>()>& wait) {
  std::array<char, 1 + sizeof(uint32_t)> head;
  NL_CHECK(receive_all(socket, head.data(), head.size(), wait));
  uint32_t size = 0;
  std::memcpy(&size, head.data() + 1, sizeof size);
  if (size > kMostBytes) return damaged();
  Frame frame{static_cast<FrameKind>(head[0]), std::string(size, '\0')};
  NL_CHECK(receive_all(socket, frame.text.data(), size, wait));
  return frame;
}

std::string request_text(const QueryRequest& request) {
  return text_of({{"bundle", request.place.bundle},
                  {"derived", request.place.derived},
                  {"sql", request.sql},
                  {"seconds", request.seconds},
                  {"as_parquet", request.as_parquet}});
}

Result<QueryRequest> parse_request(const std::string& text) {
  const json request = json::parse(text, nullptr, false);
  if (!request.is_object()) return damaged();
  return QueryRequest{
      {request["bundle"], request["derived"]}, request["sql"], request["seconds"], request["as_parquet"]};
}

std::string columns_text(const std::vector<ResultColumn>& columns) {
  json list = json::array();
  for (const auto& column : columns) list.push_back({column.name, static_cast<int>(column.kind)});
  return text_of(list);
}

Result<std::vector<ResultColumn>> parse_columns(const std::string& text) {
  const json list = json::parse(text, nullptr, false);
  if (!list.is_array()) return damaged();
  std::vector<ResultColumn> columns;
  for (const auto& one : list) columns.push_back({one[0], static_cast<CellKind>(one[1].get<int>())});
  return columns;
}

std::string error_text(const Error& error) {
  json calls = json::array();
  for (const auto& call : error.calls) calls.push_back({call.operation, call.parameters});
  return text_of({{"code", static_cast<int>(error.code)},
                  {"message", error.message},
                  {"hint", error.hint},
                  {"calls", std::move(calls)}});
}

Error parse_error(const std::string& text) {
  const json said = json::parse(text, nullptr, false);
  if (!said.is_object()) return damaged();
  Error error{static_cast<ErrorCode>(said["code"].get<int>()), said["message"], said["hint"]};
  for (const auto& call : said["calls"]) error.calls.push_back({call[0], call[1]});
  return error;
}

void append_row(std::string& text, std::span<const Cell> cells) {
  for (const Cell& cell : cells) {
    append_size(text, cell.is_null ? kNullCell : static_cast<uint32_t>(cell.text.size()));
    if (!cell.is_null) text += cell.text;
  }
}

Result<void> for_each_row(std::string_view text, size_t columns,
                          const std::function<Result<void>(std::span<const Cell>)>& row) {
  std::vector<Cell> cells(columns);
  while (!text.empty() && columns > 0) {
    for (Cell& cell : cells) {
      if (!take_cell(text, cell)) return damaged();
    }
    NL_CHECK(row(cells));
  }
  return {};
}

}  // namespace nl::store
