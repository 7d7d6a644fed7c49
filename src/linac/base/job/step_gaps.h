#pragma once
// Steps that a run has done and its metrics.jsonl does not tell of. Pure functions.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "linac/base/job/run_record.h"

namespace linac::job {

/// The steps behind `begin` up to `end` that are not among `there`, which may have any order and each step several
/// times: a line for each stretch, the last of kGapsMax for all that are left.
inline constexpr size_t kGapsMax = 100;
std::vector<GapLine> gaps_between(int64_t begin, int64_t end, std::vector<int64_t> there);

/// "step 4, steps 7 to 9 and 12 more steps"
std::string in_words(const std::vector<GapLine>& gaps);

/// The global_step of a whole line of a step in the form that to_text() gives it, in a third of the time that reading
/// it takes. Nothing for any other line: it has to be read to know what it is.
std::optional<int64_t> step_of_plain_line(std::string_view line);

}  // namespace linac::job
