#pragma once
// What a plan found best, put into the job's file: its comments and the order of its lines stay.

#include <string>
#include <utility>
#include <vector>

#include "linac/base/plan/plan_rows.h"

namespace linac::cli {

/// `workers` and `plan` of the job in `file`, `settings` of its `train` ({"batch", "16"}), and `budget` where there is
/// one in US dollars (else 0) and the job has none yet; other lines stay as they are. `was`: the budget in another
/// currency, for a comment; or empty. Atomic. User error if the file, changed so, would be no job: it is left as it was
/// then.
void write_plan(const std::string& file, const std::vector<std::string>& overrides, const plan::PlanRow& row,
                const std::vector<std::pair<std::string, std::string>>& settings, double budget,
                const std::string& was);

/// The text with the value of a key of the first level in its place, or at the end. `value`: what stands behind "key:
/// ".
std::string with_top_key(const std::string& text, const std::string& key, const std::string& value);
/// The same of a key of `train`, which is a block or stands in braces.
std::string with_train_key(const std::string& text, const std::string& key, const std::string& value);

}  // namespace linac::cli
