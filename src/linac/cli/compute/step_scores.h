#pragma once
// Scores of sequences, as `linac predict` writes them. Pure but for reading files.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace linac::cli {

struct StepScores {
  std::vector<float> values;  // (events, steps, width)
  int64_t events = 0, steps = 0, width = 0;
  std::vector<uint8_t> there;  // (events, steps): 1 for each step that is there
};

/// The array `name` of a file; nothing where the file does not say which of its steps are there. Data error where what
/// it says of them does not fit.
std::optional<StepScores> read_step_scores(const std::string& file, const std::string& name);

/// Those of a file's arrays that do not say which steps of another one are there.
std::vector<std::string> without_steps(const std::string& file, std::vector<std::string> names);

}  // namespace linac::cli
