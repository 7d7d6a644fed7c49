#include "linac/control/http/query.h"

#include <algorithm>

#include "linac/base/base/percent.h"

namespace linac::http {

std::optional<Query> parse_query(std::string_view text) {
  Query query;
  while (!text.empty()) {
    const size_t end = std::min(text.find('&'), text.size());
    const std::string_view part = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (part.empty()) continue;
    const size_t equals = std::min(part.find('='), part.size());
    auto name = percent_decoded(part.substr(0, equals), true);
    auto value = percent_decoded(part.substr(std::min(equals + 1, part.size())), true);
    if (!name || !value || query.size() == kQueryParametersMax) return std::nullopt;
    query.emplace_back(std::move(*name), std::move(*value));
  }
  return query;
}

}  // namespace linac::http
