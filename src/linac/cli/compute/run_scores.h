#pragma once
// The model that a training leaves, judged on its test events when it ends.

#include <filesystem>
#include <string>

#include "linac/base/job/job.h"

namespace linac::cli {

/// Writes RUN/evaluation/report.html with its JSON and pictures, of several outputs each in a folder of its name, and
/// tells people. One pass over the test events, and replicas that cost no more than a second or two. Nothing where the
/// job has no test, or its loss says not what an output tells; what fails is a warning. `name`: what people call the
/// folder, a path or URL.
void judge_run(const job::Job& job, const std::filesystem::path& run, const std::string& name);

}  // namespace linac::cli
