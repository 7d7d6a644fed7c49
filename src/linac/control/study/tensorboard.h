#pragma once
// A study as TensorBoard's HPARAMS tab shows it: a folder of event files, one run for each trial.

#include <filesystem>

#include "linac/control/study/ledger.h"

namespace linac::study {

/// Makes `folder`, with a run 0007 for trial 7: its settings, what it reported by step, under the objective's name, and
/// its values, under objective/NAME. What the columns of the tab are says one file, in `folder` itself. A failed or
/// infeasible trial has failed there too. User error if the folder is there; environment error if it cannot be written,
/// and then it is gone.
void write_tensorboard(const Ledger& ledger, const std::filesystem::path& folder);

}  // namespace linac::study
