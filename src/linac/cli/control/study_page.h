#pragma once
// The page of a study, and its event files for TensorBoard, made by `linac-compute` beside this program. Thread-safe
// for different files.

#include <filesystem>
#include <nlohmann/json_fwd.hpp>

#include "linac/study/journal.h"

namespace linac::cli {

/// `record` (study/record.h) into the file `out`, atomically, and into the folder `events`, where it is not empty.
/// Environment error if it cannot be drawn or written.
void write_study_page(const nlohmann::json& record, const std::filesystem::path& out,
                      const std::filesystem::path& events);
/// Of the study in a folder.
void write_study_page(const study::Journal& journal, const std::filesystem::path& out,
                      const std::filesystem::path& events);

}  // namespace linac::cli
