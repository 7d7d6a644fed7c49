#pragma once
// The page of a study, drawn by `linac-compute` beside this program. Thread-safe for different files.

#include <filesystem>

#include "linac/study/journal.h"

namespace linac::cli {

/// Into the file `out`, atomically. Environment error if it cannot be drawn or written.
void write_study_page(const study::Journal& journal, const std::filesystem::path& out);

}  // namespace linac::cli
