#include "linac/train/train/record/trace_steps.h"

#include <fmt/format.h>

#include <charconv>
#include <string_view>

namespace linac::train {

std::optional<TraceSteps> trace_steps_in(const std::string& text) {
  const std::string_view view = text;
  const size_t colon = view.find(':');
  const auto number = [](std::string_view digits) {
    int64_t value = 0;
    const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return status == std::errc{} && end == digits.data() + digits.size() ? value : 0;
  };
  const TraceSteps steps{number(view.substr(0, colon)),
                         number(view.substr(colon == std::string_view::npos ? 0 : colon + 1))};
  if (steps.first < 1 || steps.last < steps.first) return std::nullopt;
  return steps;
}

std::string to_text(const TraceSteps& steps) {
  return fmt::format("{}:{}", steps.first, steps.last);
}

std::string is_trace_steps(const std::string& text) {
  if (trace_steps_in(text)) return "";
  return fmt::format("'{}' names no steps; expected N or FIRST:LAST, counted from 1", text);
}

}  // namespace linac::train
