#include "linac/train/train/start/worker_range.h"

#include <fmt/format.h>

#include <charconv>
#include <string_view>

#include "linac/train/comm/group.h"
#include "linac/train/comm/meeting/rendezvous.h"

namespace linac::train {

std::string is_worker_range(const std::string& text) {
  const size_t colon = text.find(':');
  const auto number = [](std::string_view digits) {
    int value = 0;
    const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return status == std::errc{} && end == digits.data() + digits.size() && value <= comm::kMaxWorldSize ? value : 0;
  };
  const std::string_view view = text;
  const int most = number(view.substr(colon == std::string::npos ? 0 : colon + 1));
  const int least = colon == std::string::npos ? 1 : number(view.substr(0, colon));
  if (least >= 1 && least <= most) return "";
  return fmt::format("'{}' is no number of workers; expected N or MIN:MAX from 1 to {}", text, comm::kMaxWorldSize);
}

std::vector<std::string> overrides_of_workers(const std::string& range) {
  const size_t colon = range.find(':');
  if (colon == std::string::npos) return {"workers=" + range};
  return {"workers=" + range.substr(colon + 1), "distribution.workers_min=" + range.substr(0, colon)};
}

}  // namespace linac::train
