#include "linac/control/client/model_address.h"

#include <fmt/format.h>

#include <charconv>

#include "linac/base/base/error.h"

namespace linac::client {
namespace {

constexpr std::string_view kScheme = "catalog://";

Error wrong(std::string_view text, const char* what) {
  return user_error(
      fmt::format("[models] '{}': {}; a model of the catalog is catalog://NAME@ALIAS, catalog://NAME/VERSION, or "
                  "catalog://NAME for the newest version",
                  text, what));
}

}  // namespace

bool is_model_address(std::string_view text) {
  return text.substr(0, kScheme.size()) == kScheme;
}

ModelAddress parse_model_address(std::string_view text) {
  if (!is_model_address(text)) throw wrong(text, "does not begin with catalog://");
  const std::string_view rest = text.substr(kScheme.size());
  const size_t end = rest.find_first_of("@/");
  ModelAddress address{.name = std::string(rest.substr(0, end)), .alias = {}};
  if (address.name.empty()) throw wrong(text, "has no name");
  if (end == std::string_view::npos) return address;
  const std::string_view which = rest.substr(end + 1);
  if (which.empty()) throw wrong(text, rest[end] == '@' ? "has no alias behind the @" : "has no version behind the /");
  if (rest[end] == '@') {
    if (which.find_first_of("@/") != std::string_view::npos) throw wrong(text, "goes on behind the alias");
    address.alias = which;
    return address;
  }
  const auto [last, status] = std::from_chars(which.data(), which.data() + which.size(), address.version);
  if (status != std::errc() || last != which.data() + which.size() || address.version < 1)
    throw wrong(text, "has a version that is no number from 1 on");
  return address;
}

std::string fixed_address(const std::string& name, int64_t version) {
  return fmt::format("{}{}/{}", kScheme, name, version);
}

}  // namespace linac::client
