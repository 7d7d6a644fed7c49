#pragma once
// Studies for people: what the verbs `tune` and `study` print. Pure, thread-safe.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "linac/study/journal.h"

namespace linac::cli {

/// The best trial with its settings as words for `--set`, of several objectives a table of the front; says so if there
/// is none.
std::string best_words(const study::Journal& journal);
/// A table of all trials, the best first.
std::string trials_words(const study::Journal& journal);
nlohmann::json trial_json(const study::Journal& journal, const tune::Trial& trial);

}  // namespace linac::cli
