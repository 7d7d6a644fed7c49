#pragma once
// JSON texts that strangers send by the thousand, read in one pass: a quarter of what it takes to parse one, to look
// for keys that are there twice, and to count its brackets. Pure, thread-safe.

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string_view>

namespace linac {

/// What nlohmann::json::parse() makes of `text`. Nothing for one that is no JSON, is nested more than `depth_max` deep,
/// or has a key twice in an object; and perhaps for a few that are none of these, so that who refuses first asks
/// json_depth(), that parser and doubled_key(), which also say what is wrong.
std::optional<nlohmann::json> strict_json(std::string_view text, int depth_max);

}  // namespace linac
