#include "linac/train/comm/meeting/environment_reader.h"

#include <fmt/format.h>

#include <charconv>

#include "linac/base/base/error.h"

namespace linac::comm {
namespace {

Error unset(const std::string& name, const std::string& because) {
  return user_error(fmt::format("[rendezvous] {} is not set ({}); let the launcher set it", name, because));
}

}  // namespace

std::optional<std::string> EnvironmentReader::text(const std::string& name) const {
  auto value = lookup_(name);
  if (value && value->empty()) return std::nullopt;
  return value;
}

std::string EnvironmentReader::required_text(const std::string& name, const std::string& because) const {
  auto value = text(name);
  if (!value) throw unset(name, because);
  return *std::move(value);
}

std::optional<int> EnvironmentReader::optional_int(const std::string& name, int low, int high) const {
  const auto value = text(name);
  if (!value) return std::nullopt;
  int number = 0;
  const char* const end = value->data() + value->size();
  const auto [stop, status] = std::from_chars(value->data(), end, number);
  if (status != std::errc{} || stop != end || number < low || number > high) {
    throw user_error(fmt::format("[rendezvous] {}='{}' is not a whole number from {} to {}; correct or unset it", name,
                                 value->substr(0, 100), low, high));
  }
  return number;
}

int EnvironmentReader::required_int(const std::string& name, int low, int high, const std::string& because) const {
  const auto value = optional_int(name, low, high);
  if (!value) throw unset(name, because);
  return *value;
}

}  // namespace linac::comm
