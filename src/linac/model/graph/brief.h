#pragma once
// The text of a value of a file for a message, cut where it is long: a constant may have millions of numbers. Pure,
// thread-safe.

#include <nlohmann/json.hpp>
#include <string>

namespace linac::graph {

std::string brief(const nlohmann::json& value);

}  // namespace linac::graph
