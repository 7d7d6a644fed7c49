#include "linac/base/base/amounts.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>
#include <vector>

#include "linac/base/base/error.h"

namespace linac {
namespace {

// -1 for what is none.
int64_t amount(const std::string& text, const std::vector<std::pair<std::string, int64_t>>& units) {
  constexpr int64_t kMax = 1'000'000'000;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string unit(end, text.data() + text.size());
  if (error != std::errc{} || value < 0 || value > kMax) return -1;
  for (const auto& [name, factor] : units)
    if (unit == name) return value * factor;
  return -1;
}

}  // namespace

int64_t seconds_of(const std::string& where, const std::string& text) {
  const int64_t seconds = amount(text, {{"", 1}, {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}});
  if (seconds < 0) throw user_error(fmt::format("{} {}: no duration; write e.g. 90s, 30m, 12h or 2d", where, text));
  return seconds;
}

int64_t megabytes_of(const std::string& where, const std::string& text) {
  const int64_t mb = amount(text, {{"", 1}, {"M", 1}, {"G", 1024}});
  if (mb < 0) throw user_error(fmt::format("{} {}: no size; write e.g. 512M or 16G", where, text));
  return mb;
}

}  // namespace linac
