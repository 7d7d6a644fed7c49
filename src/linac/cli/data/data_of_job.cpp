#include "linac/cli/data/data_of_job.h"

#include <stdexcept>

namespace linac::cli {
namespace {

const EventsOfJobs* provided = nullptr;

}  // namespace

void provide(const EventsOfJobs& events) {
  provided = &events;
}

const EventsOfJobs& events_of_jobs() {
  if (provided == nullptr) throw std::logic_error("nobody here knows the events of jobs");
  return *provided;
}

bool names_job(const std::string& file) {
  return file.ends_with(".yaml") || file.ends_with(".yml");
}

}  // namespace linac::cli
