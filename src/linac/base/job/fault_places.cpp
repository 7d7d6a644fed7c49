#include "linac/base/job/fault_places.h"

#include <fmt/format.h>

#include <algorithm>

#include "linac/base/base/error.h"

namespace linac::job {
namespace {

struct Row {
  const char *name, *what;
};

// In the order of FaultPlace.
constexpr Row kPlaces[] = {
    {"none", ""},
    {"batch", "in the events of each replica, as the worker reads them"},
    {"activation", "in the values between two layers, in each forward pass"},
    {"gradient", "of each replica that the worker computes"},
    {"weights", "once, in its memory"},
    {"message", "in each sum of the gradients, as it comes to the worker"},
    {"checkpoint", "in each checkpoint that it writes, behind its digest"},
};

}  // namespace

std::vector<std::string> fault_places() {
  std::vector<std::string> names;
  for (const Row& one : kPlaces) names.emplace_back(one.name);
  return names;
}

FaultPlace fault_place(const std::string& name) {
  const auto* const found = std::ranges::find(kPlaces, name, &Row::name);
  LINAC_CHECK(found != std::end(kPlaces));
  return static_cast<FaultPlace>(found - std::begin(kPlaces));
}

const char* fault_places_help() {
  static const std::string help = [] {
    std::string text = "where a bit is turned over";
    for (const Row& one : kPlaces)
      text += fmt::format("{} {}{}{}", text.ends_with("over") ? ":" : ";", one.name, *one.what == '\0' ? "" : ": ",
                          one.what);
    return text;
  }();
  return help.c_str();
}

}  // namespace linac::job
