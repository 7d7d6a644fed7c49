#pragma once
// The evaluation of PanDA's hyper-parameter tasks: a program that reads a point from input.json, trains, and leaves
// output.json, {"status": 0, "loss": 0.12, "message": ""}. Less is better: of a measure where more is, the loss is its
// negative. It keeps what it does in the folder `evaluation`, from which a repetition of the same point goes on.

#include <filesystem>

#include "linac/control/study/study_file.h"

namespace linac::study {

/// In the working folder, of a process without other threads. Where input_ds.json lists files, they are the job's
/// data.train. The exit status: 0 where output.json says how it went, 75 after a signal. User error for a point that
/// the study could not suggest.
int evaluate(Study study, const std::filesystem::path& program);

}  // namespace linac::study
