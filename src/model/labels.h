#pragma once
// The rules for labels, tags and names of baselines, the same for every way they can be given. Pure
// functions, any thread.

#include <string>
#include <string_view>

#include "base/result.h"

namespace nl::model {

inline constexpr size_t kMaxLabelKeyBytes = 64;
inline constexpr size_t kMaxLabelValueBytes = 1024;
inline constexpr size_t kMaxLabelsOfARun = 256;
inline constexpr size_t kMaxNoteBytes = size_t{16} * 1024;

/// [a-z][a-z0-9_.-]{0,63}, and not the name of a field that every run has, such as `format`.
Result<void> check_label_key(std::string_view key);
/// 1 to 1024 bytes of UTF-8 without control characters.
Result<void> check_label_value(std::string_view key, std::string_view value);
/// [A-Za-z0-9][A-Za-z0-9_.-]{0,63}: can be typed without quotes, and is never an option or a path.
Result<void> check_name(std::string_view what, std::string_view name);
/// Up to 16 KiB of UTF-8; lines and tabs are welcome, other control characters are not.
Result<void> check_note(std::string_view text);

/// A number, if all of the text is one: `batch=8` sorts as 8.
bool label_number(std::string_view text, double& out);

}  // namespace nl::model
