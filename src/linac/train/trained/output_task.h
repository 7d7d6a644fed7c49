#pragma once
// What the outputs of a trained model tell, by what it was trained with. Pure, thread-safe.

#include <string>
#include <vector>

#include "linac/physics/scores/task.h"
#include "linac/train/trained/trained_model.h"

namespace linac::trained {

struct OutputTask {
  scores::Task task = scores::Task::kClasses;
  bool logits = false;       // its values are behind no sigmoid or softmax
  std::string assumed = {};  // where neither job nor file says it: what was taken for an answer; else empty
};

/// Of each output: by the losses that its file was compiled with, or those of the job that trained it (`notes`); else
/// by its last activation.
std::vector<OutputTask> output_tasks(const TrainedModel& model);

}  // namespace linac::trained
