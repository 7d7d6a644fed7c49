#pragma once
// Percent-encoding and queries of URLs. Thread-safe.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace linac::http {

/// Decodes %XX, and '+' as space if `plus_is_space`. Nothing for a broken escape, or if the result is no valid text.
std::optional<std::string> percent_decoded(std::string_view text, bool plus_is_space);
/// Everything but unreserved characters (RFC 3986) as %XX.
std::string percent_encoded(std::string_view text);

using Query = std::vector<std::pair<std::string, std::string>>;
/// Nothing if a part cannot be decoded or there are more than kQueryParametersMax.
std::optional<Query> parse_query(std::string_view text);
constexpr size_t kQueryParametersMax = 1000;

}  // namespace linac::http
