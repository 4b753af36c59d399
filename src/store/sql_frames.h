#pragma once
// The protocol between a program and the process that runs a query for it, over one socket. A frame has a
// kind, a length and a text. A request goes one way; columns and rows (or bytes) come back, followed by an
// end or an error.

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/user_query.h"

namespace nl::store {

enum class FrameKind : char {
  kRequest = 'Q',
  kColumns = 'C',
  kRows = 'R',
  kBytes = 'B',
  kEnd = 'D',
  kError = 'E',
};

struct Frame {
  FrameKind kind = FrameKind::kEnd;
  std::string text = {};
};

struct QueryRequest {
  RunPlace place;
  std::string sql;
  int seconds = 0;
  bool as_parquet = false;
};

/// `unavailable` if the other side is gone.
Result<void> send_frame(int socket, FrameKind kind, std::string_view text);
/// `wait` is called while nothing comes, some twenty times a second; its error ends the waiting.
Result<Frame> receive_frame(int socket, const std::function<Result<void>()>& wait);

std::string request_text(const QueryRequest& request);
Result<QueryRequest> parse_request(const std::string& text);
std::string columns_text(const std::vector<ResultColumn>& columns);
Result<std::vector<ResultColumn>> parse_columns(const std::string& text);
std::string error_text(const Error& error);
Error parse_error(const std::string& text);

/// Appends a row; rows stand one behind the other.
void append_row(std::string& text, std::span<const Cell> cells);
Result<void> for_each_row(std::string_view text, size_t columns,
                          const std::function<Result<void>(std::span<const Cell>)>& row);

}  // namespace nl::store
