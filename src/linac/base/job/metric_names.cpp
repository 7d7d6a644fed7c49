#include "linac/base/job/metric_names.h"

#include <string_view>

namespace linac::job::metric {
namespace {

constexpr std::string_view kWhole = "/total";

// "d_real" of "d_real/total".
std::optional<std::string> split_whole(const std::string& measure) {
  if (!measure.ends_with(kWhole)) return std::nullopt;
  return measure.substr(0, measure.size() - kWhole.size());
}

}  // namespace

std::string of_step(const std::string& measure) {
  if (const auto whole = split_whole(measure)) return kLoss + *whole;
  return measure.find('/') == std::string::npos ? measure : kParts + measure;
}

std::optional<std::string> of_whole(const char* front, const std::string& measure) {
  if (const auto whole = split_whole(measure)) return front + *whole;
  if (measure.find('/') != std::string::npos) return std::nullopt;
  return front + measure;
}

std::string of_phase(Phase phase) {
  return std::string(kTime) + name_of(phase);
}

std::string of_rate(const std::string& unit) {
  return unit + kRateEnd;
}

}  // namespace linac::job::metric
