#include "linac/io/storage/rucio/did.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "linac/base/base/error.h"
#include "linac/io/storage/percent.h"

namespace linac::storage::rucio {
namespace {

constexpr std::string_view kScheme = "rucio://", kRse = "?rse=";

bool is_clean(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) { return c > 0x20 && c != 0x7F; });
}

}  // namespace

std::string Did::url() const {
  return fmt::format("{}{}:{}{}{}", kScheme, scope, name, rse.empty() ? "" : kRse, rse);
}

std::string Did::path() const {
  return "/dids/" + percent_encoded(scope, Slash::kStays) + "/" + percent_encoded(name, Slash::kStays);
}

Did parse_did(const std::string& url) {
  const std::string rest = url.substr(std::min(url.size(), kScheme.size()));
  const size_t query = rest.find('?'), colon = rest.find(':');
  Did did;
  if (query != std::string::npos && rest.substr(query).starts_with(kRse)) did.rse = rest.substr(query + kRse.size());
  if (colon < query) {
    did.scope = rest.substr(0, colon);
    did.name = rest.substr(colon + 1, query == std::string::npos ? query : query - colon - 1);
  }
  const bool whole = is_clean(did.scope) && is_clean(did.name) && did.scope.find('/') == std::string::npos &&
                     (query == std::string::npos || is_clean(did.rse));
  if (!whole)
    throw user_error(
        fmt::format("[rucio] {}: no name in Rucio; write rucio://SCOPE:NAME, or rucio://SCOPE:NAME?rse="
                    "EXPRESSION to choose from where it is read",
                    url));
  return did;
}

}  // namespace linac::storage::rucio
