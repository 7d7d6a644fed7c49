#include "linac/control/client/metric_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "linac/base/base/nearest.h"

namespace linac::client {
namespace {

bool is_of_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '/' || c == '.';
}

// The end of what is quoted by the character at `at`; a doubled one is part of it.
size_t end_of_quoted(const std::string& text, size_t at, std::string& inside) {
  const char quote = text[at];
  for (++at; at < text.size(); ++at) {
    if (text[at] == quote && (at + 1 >= text.size() || text[++at] != quote)) return at;
    inside += text[at];
  }
  return at;
}

}  // namespace

std::vector<std::string> metrics_in(const std::string& filter) {
  constexpr std::string_view kFronts[] = {"metrics.", "metric."};
  std::vector<std::string> names;
  for (size_t at = 0; at < filter.size();) {
    std::string name;
    if (filter[at] == '\'' || filter[at] == '"' || filter[at] == '`') {
      at = end_of_quoted(filter, at, name);
      continue;
    }
    const auto* front =
        std::ranges::find_if(kFronts, [&](auto one) { return filter.compare(at, one.size(), one) == 0; });
    if (front == std::end(kFronts) || (at > 0 && is_of_name(filter[at - 1]))) {
      ++at;
      continue;
    }
    at += front->size();
    if (at < filter.size() && (filter[at] == '`' || filter[at] == '"'))
      at = end_of_quoted(filter, at, name);
    else
      for (; at < filter.size() && is_of_name(filter[at]); ++at) name += filter[at];
    if (!name.empty()) names.push_back(std::move(name));
  }
  return names;
}

std::vector<std::string> metrics_of(const nlohmann::json& runs) {
  std::set<std::string> names;
  for (const auto& run : runs)
    for (const auto& [name, metric] : run.at("metrics").items()) names.insert(name);
  return {names.begin(), names.end()};
}

std::vector<std::string> unknown_metrics(const std::vector<std::string>& wanted,
                                         const std::vector<std::string>& known) {
  std::vector<std::string> words;
  for (const std::string& name : wanted) {
    if (std::ranges::find(known, name) != known.end()) continue;
    const auto near = nearest(name, known);
    words.push_back(fmt::format("no metric '{}'{}", name, near ? fmt::format("; did you mean {}?", *near) : ""));
  }
  std::ranges::sort(words);
  words.erase(std::unique(words.begin(), words.end()), words.end());
  return words;
}

}  // namespace linac::client
