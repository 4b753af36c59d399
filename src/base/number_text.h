#pragma once
// Formats numbers for people. The text is the same in every locale.

#include <cstdint>
#include <string>
#include <string_view>

namespace nl {

/// 1234567 -> 1,234,567
std::string grouped(int64_t number);
/// 1 row, 2,000 rows; `many` where an s is not enough.
std::string counted(int64_t number, std::string_view one, std::string_view many = {});
/// 468153602 -> 468.154 ms
std::string duration_text(int64_t ns);
/// The same with its sign: +468.154 ms; 0 ns has none.
std::string signed_duration_text(int64_t ns);
/// 17731514 -> 17.7 MB
std::string bytes_text(int64_t bytes);
/// 0.5347 -> 53.5 %
std::string percent_text(double share);
/// 0.5347 -> +53.5 %
std::string signed_percent_text(double share);

}  // namespace nl
