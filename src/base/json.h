// Includes nlohmann::json. Its members are compiled once, in json.cpp, and not again in every file: that
// saves build time.
#pragma once

#include <nlohmann/json.hpp>

extern template class nlohmann::basic_json<>;
