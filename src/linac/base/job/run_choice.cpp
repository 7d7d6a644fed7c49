#include "linac/base/job/run_choice.h"

#include <charconv>
#include <string_view>

namespace linac::job {

int epoch_in(const std::string& which) {
  constexpr std::string_view kEpoch = "epoch=";
  if (!which.starts_with(kEpoch)) return 0;
  int epoch = 0;
  const char* const end = which.data() + which.size();
  const auto [at, error] = std::from_chars(which.data() + kEpoch.size(), end, epoch);
  return error == std::errc() && at == end && epoch > 0 ? epoch : 0;
}

RunChoice split_choice(const std::string& name) {
  const size_t at = name.rfind('@');
  if (at == std::string::npos || at == 0) return {name, ""};
  const std::string which = name.substr(at + 1);
  if (which != "best" && which != "last" && epoch_in(which) == 0) return {name, ""};
  return {name.substr(0, at), which};
}

}  // namespace linac::job
