/// nlohmann::json, its members compiled once (json.cpp) and not in every file.
#pragma once

#include <nlohmann/json.hpp>

extern template class nlohmann::basic_json<>;
