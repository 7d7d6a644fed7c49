#include "linac/control/launch/secret_words.h"

#include <nlohmann/json.hpp>

#include "linac/base/base/hex.h"

namespace linac::launch {

using nlohmann::json;

json to_json(const std::vector<Secret>& secrets) {
  json all = json::array();
  for (const Secret& secret : secrets)
    all.push_back({{"name", secret.name}, {"value", in_hex(secret.value)}, {"file", secret.file}});
  return all;
}

std::optional<std::vector<Secret>> secrets_from_json(const json& told) {
  std::vector<Secret> secrets;
  for (const json& one : told) {
    auto value = from_hex(one.at("value").get<std::string>());
    if (!value) return std::nullopt;
    secrets.push_back({one.at("name"), std::move(*value), one.at("file")});
  }
  return secrets;
}

}  // namespace linac::launch
