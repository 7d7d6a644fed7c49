#pragma once
// Whether a run goes on with what it was trained with: what a checkpoint notes of its files, classes and processor,
// beside what there is now. Pure functions but for what they log.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "linac/base/job/run_record.h"
#include "linac/train/train/record/run_folder.h"

namespace linac::train {

/// The files of this start: as the run's record has them, by digest (agreement.h), and data.scaling.
struct DataNow {
  nlohmann::json files, digests;
  std::string scaling;
};

/// By the checkpoint's `notes`, as run.json may be lost; that says which file is another. Data error, or with `accept`
/// a warning, if it has changed.
void need_same_data(const nlohmann::json& notes, const RunFolder& folder, const DataNow& now, bool accept);

/// The outputs of a checkpoint stand for certain texts of the files. Data error if they are others now.
void need_same_classes(const nlohmann::json& notes, const nlohmann::json& now);

/// Warns where this processor rounds otherwise than the one that wrote the checkpoint.
void tell_of_processor(const nlohmann::json& notes);

/// What trained the run before this start, and until which step, by the run.json of then.
std::vector<job::FormerData> former_data(const RunFolder& folder, const nlohmann::json& files_now, int64_t global_step);

}  // namespace linac::train
