#include "linac/trained/start.h"

#include <string>
#include <utility>

#include "linac/trained/model_file.h"

namespace linac::trained {

spec::Job with_start(spec::Job job) {
  spec::TrainedStart* const start = job.model.start();
  if (start == nullptr || start->file.empty()) return job;
  const std::string file = checkpoint_of(start->file).string();
  if (start->from == start->file) start->from = file;
  start->file = file;
  return job;
}

}  // namespace linac::trained
