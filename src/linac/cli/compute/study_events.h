#pragma once
// A study for the HPARAMS tab of TensorBoard: a folder of event files for each trial, with its point, its values and
// how it ended. One process a folder.

#include <filesystem>

#include "linac/report/study/record.h"

namespace linac::cli {

/// Writes FOLDER/0001, ... anew. User error where FOLDER has anything else. Environment error if it cannot be written.
void write_study_events(const report::StudyRecord& record, const std::filesystem::path& folder);

}  // namespace linac::cli
