#pragma once
// Texts from the network: percent-encoding, queries and whether bytes are UTF-8. Thread-safe.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace linac::service {

/// Whether `text` is well-formed UTF-8 (RFC 3629) without NUL.
bool valid_text(std::string_view text);
/// `text` with what is not printable ASCII replaced by '?', cut at 200 bytes: for messages.
std::string printable(std::string_view text);

/// Decodes %XX, and '+' as space if `plus_is_space`. Nothing for a broken escape, or if the result is no valid text.
std::optional<std::string> percent_decoded(std::string_view text, bool plus_is_space);
/// Everything but unreserved characters (RFC 3986) as %XX.
std::string percent_encoded(std::string_view text);

using Query = std::vector<std::pair<std::string, std::string>>;
/// Nothing if a part cannot be decoded or there are more than kQueryParametersMax.
std::optional<Query> parse_query(std::string_view text);
constexpr size_t kQueryParametersMax = 1000;

}  // namespace linac::service
