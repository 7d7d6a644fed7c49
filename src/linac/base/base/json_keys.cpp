#include "linac/base/base/json_keys.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <vector>

namespace linac {
namespace {

constexpr size_t kKeyShownMax = 100;

/// Of an object its keys with their lines; of a list nothing.
struct Open {
  bool is_object, wants_key;
  std::map<std::string, int> lines = {};
};

/// The key without its escapes.
std::string key_of(std::string_view quoted) {
  const std::string_view inside = quoted.substr(1, quoted.size() - 2);
  if (inside.find('\\') == std::string_view::npos) return std::string(inside);
  const auto parsed = nlohmann::json::parse(quoted, nullptr, false);
  return parsed.is_string() ? parsed.get<std::string>() : std::string(inside);
}

}  // namespace

std::string DoubledKey::words() const {
  const std::string lines = first == second ? fmt::format("in line {}", first)
                                            : fmt::format("in line {} and again in line {}", first, second);
  return fmt::format("the key '{}' is there twice, {}", key.substr(0, kKeyShownMax), lines);
}

std::optional<DoubledKey> doubled_key(std::string_view json) {
  std::vector<Open> open;
  int line = 1;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (c == '\n') ++line;
    if (c == '{' || c == '[') open.push_back({c == '{', c == '{'});
    if ((c == '}' || c == ']') && !open.empty()) open.pop_back();
    if (c == ',' && !open.empty()) open.back().wants_key = open.back().is_object;
    if (c != '"') continue;
    const size_t begin = i;
    for (++i; i < json.size() && json[i] != '"'; ++i)
      if (json[i] == '\\') ++i;
    if (i >= json.size() || open.empty() || !open.back().wants_key) continue;
    open.back().wants_key = false;
    std::string key = key_of(json.substr(begin, i + 1 - begin));
    const auto [known, is_new] = open.back().lines.emplace(key, line);
    if (!is_new) return DoubledKey{std::move(key), known->second, line};
  }
  return std::nullopt;
}

}  // namespace linac
