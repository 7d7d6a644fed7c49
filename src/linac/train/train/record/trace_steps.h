#pragma once
// Which steps of a training are traced, as people say it: "10", or "10:13" for four. Steps count from 1, as
// `global_step` of the record does. Pure, thread-safe.

#include <cstdint>
#include <optional>
#include <string>

namespace linac::train {

struct TraceSteps {
  int64_t first = 0, last = 0;
  bool operator==(const TraceSteps&) const = default;
};

/// Nothing if the text is none.
std::optional<TraceSteps> trace_steps_in(const std::string& text);
std::string to_text(const TraceSteps& steps);

/// What is wrong with such a text, or "".
std::string is_trace_steps(const std::string& text);

}  // namespace linac::train
