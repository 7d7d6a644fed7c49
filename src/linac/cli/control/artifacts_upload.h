#pragma once
// `linac artifacts upload`.

#include <CLI/CLI.hpp>

namespace linac::cli {

void add_artifacts_upload(CLI::App& artifacts);

}  // namespace linac::cli
