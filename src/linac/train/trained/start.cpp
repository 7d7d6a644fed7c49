#include "linac/train/trained/start.h"

#include <string>
#include <utility>

#include "linac/train/trained/chosen_model.h"

namespace linac::trained {

job::Job with_start(job::Job job) {
  job::TrainedStart* const start = job.model.start();
  if (start == nullptr || start->file.empty()) return job;
  const std::string file = checkpoint_of(start->file).string();
  if (start->from == start->file) start->from = file;
  start->file = file;
  return job;
}

}  // namespace linac::trained
