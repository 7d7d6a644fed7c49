#pragma once
// Queries of URLs. Thread-safe.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace linac::http {

using Query = std::vector<std::pair<std::string, std::string>>;
/// Nothing if a part cannot be decoded or there are more than kQueryParametersMax.
std::optional<Query> parse_query(std::string_view text);
constexpr size_t kQueryParametersMax = 1000;

}  // namespace linac::http
