#pragma once
// Studies in files of other programs. Thread-safe for different files.

#include <string>

#include "linac/control/study/given.h"

namespace linac::study {

/// By what the file holds: an Experiment of Katib, or a journal file of Optuna, of which `name` is the study wanted
/// (empty: its only one). User
/// error naming the studies that there are; data error for what cannot be understood.
GivenStudy read_foreign(const std::string& file, const std::string& name);

}  // namespace linac::study
