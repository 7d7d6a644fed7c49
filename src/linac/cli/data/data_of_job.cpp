#include "linac/cli/data/data_of_job.h"

#include <stdexcept>

namespace linac::cli {
namespace {

const EventsOfJobs* provided = nullptr;

const EventsOfJobs& events() {
  if (provided == nullptr) throw std::logic_error("nobody here knows the events of jobs");
  return *provided;
}

}  // namespace

void provide(const EventsOfJobs& events) {
  provided = &events;
}

bool names_job(const std::string& file) {
  return file.ends_with(".yaml") || file.ends_with(".yml");
}

void print_job_data(const std::string& job, bool as_json) {
  events().print(job, as_json);
}

data::Transform transform_of_job(const std::string& job, bool need_key) {
  return job.empty() ? data::Transform{} : events().transform(job, need_key);
}

void set_padding_of_job(const std::string& job, std::vector<data::ColumnRequest>& columns) {
  if (!job.empty()) events().set_padding(job, columns);
}

}  // namespace linac::cli
