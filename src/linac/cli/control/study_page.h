#pragma once
// The page of a study, drawn by `linac-data` beside this program. Thread-safe for different files.

#include <filesystem>
#include <nlohmann/json_fwd.hpp>

#include "linac/control/study/journal.h"

namespace linac::cli {

/// `record` (control/study/record.h) into the file `out`, atomically. Environment error if it cannot be drawn or
/// written.
void write_study_page(const nlohmann::json& record, const std::filesystem::path& out);
/// Of the study in a folder.
void write_study_page(const study::Journal& journal, const std::filesystem::path& out);

}  // namespace linac::cli
