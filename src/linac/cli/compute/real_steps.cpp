#include "linac/cli/compute/real_steps.h"

#include <algorithm>

#include "linac/cli/compute/truth_column.h"

namespace linac::cli {
namespace {

/// The rows of one event up to the last that does not pad.
size_t length_of(std::span<const float> rows, size_t row, float padding) {
  size_t end = rows.size();
  while (end > 0 && rows[end - 1] == padding) --end;
  return (end + row - 1) / row;
}

}  // namespace

std::vector<uint8_t> real_steps(const graph::Shape& output, int64_t events, std::span<const uint8_t> mask,
                                const std::vector<StepsOfInput>& inputs) {
  const auto steps = static_cast<size_t>(output.front()), places = static_cast<size_t>(places_of(output));
  const auto count = static_cast<size_t>(events);
  std::vector<uint8_t> real(count * places, 1);
  if (!mask.empty()) {
    const size_t each = real.size() / mask.size();  // places of a step that the mask knows
    for (size_t i = 0; i < real.size(); ++i) real[i] = mask[i / each];
    return real;
  }
  std::vector<size_t> lengths(count);
  bool known = false;
  for (const StepsOfInput& input : inputs) {
    if (input.shape.size() != 2 || static_cast<size_t>(input.shape[0]) != steps) continue;
    known = true;
    const size_t size = input.values.size() / count;
    for (size_t event = 0; event < count; ++event)
      lengths[event] =
          std::max(lengths[event], length_of(input.values.subspan(event * size, size), size / steps, input.padding));
  }
  if (!known) return real;
  for (size_t i = 0; i < real.size(); ++i) real[i] = i % places / (places / steps) < lengths[i / places] ? 1 : 0;
  return real;
}

}  // namespace linac::cli
