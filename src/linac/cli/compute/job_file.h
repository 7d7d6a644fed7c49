#pragma once
// The job that a verb is given, with all that its file leaves to others.

#include <filesystem>
#include <string>
#include <vector>

#include "linac/train/trained/compiled_job.h"

namespace linac::cli {

/// job::read_job(), with the model of model.from brought into this user's cache as model.file (the address becomes one
/// that never means another version), and with what a Keras file says of its own training; and that file.
/// User error if a secret that it names is not in this environment.
trained::CompiledJob whole_job(const std::string& file, const std::vector<std::string>& overrides);

}  // namespace linac::cli
