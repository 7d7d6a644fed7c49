#pragma once
// Studies for people: what the verbs `tune` and `study` print. Pure, thread-safe.

#include <string>

#include "linac/control/study/ledger.h"

namespace linac::cli {

/// The best trial with its settings as words for `--set`, of several objectives a table of the front; says so if there
/// is none.
std::string best_words(const study::Ledger& ledger);
/// A table of all trials, the best first.
std::string trials_words(const study::Ledger& ledger);

}  // namespace linac::cli
