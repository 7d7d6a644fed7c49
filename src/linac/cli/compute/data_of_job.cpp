#include "linac/cli/compute/data_of_job.h"

#include <fmt/format.h>

#include <algorithm>

#include "linac/base/base/error.h"
#include "linac/base/job/job.h"
#include "linac/cli/compute/job_file.h"
#include "linac/cli/data/data_of_job.h"
#include "linac/model/keras/archive.h"
#include "linac/train/comm/group.h"
#include "linac/train/train/input/input.h"
#include "linac/train/train/loops/loop.h"
#include "linac/train/trained/chosen_model.h"
#include "linac/train/trained/job_transform.h"
#include "linac/train/trained/labelled_data.h"

namespace linac::cli {
namespace {

void print(const std::string& job_file, bool as_json) {
  const trained::CompiledJob whole = whole_job(job_file, {});
  job::Job lone = whole.job;
  lone.train.replicas = lone.workers = 1;
  lone.train.sync = {};
  const auto group = comm::make_lone_group();
  train::PhaseClock clock;
  const auto loop = train::make_loop(lone, *group, 1, clock, whole.file.get());
  if (as_json) {
    nlohmann::json data = loop.data->data();
    if (whole.job.model.kind() != job::CustomSettings::kKind) {
      const train::JobOrder order = train::order_of(whole.job);
      data["order"] = {{"kind", order.window > 0 ? "windowed" : "exact"}, {"window", order.window}, {"why", order.why}};
    }
    fmt::print("{}\n", data.dump(2));
    return;
  }
  for (const std::string& line : loop.data->describe_data()) fmt::print("{}\n", line);
  fmt::print("{}\n", train::epoch_in_words(whole.job, loop.data->train_events()));
}

data::Transform transform(const std::string& job_file, bool need_key) {
  const job::Job job = job::read_job(job_file, {});
  data::Transform found = trained::transform_of(job, {});
  if (need_key && found.split && found.split->key.empty())
    throw user_error(fmt::format("[data] {}: data.split names no key; give data.split.key", job_file));
  return found;
}

void set_padding(const std::string& job_file, std::vector<data::ColumnRequest>& columns) {
  job::Job job = job::read_job(job_file, {});
  if (!job.model.is<job::KerasSettings>()) return;
  for (job::DataColumn& input : job.data.inputs) input.scaling = "none";  // what is computed here
  const auto graph = keras::read_keras(trained::model_of_job(job.model.as<job::KerasSettings>().file)).graph;
  const auto inputs = trained::input_columns(job, graph);
  for (data::ColumnRequest& column : columns) {
    const auto reads = [&](const data::ColumnRequest& input) {
      return input.column == column.column ||
             std::ranges::count(input.joined, column.column, &data::JoinedColumn::column) > 0;
    };
    const auto input = std::ranges::find_if(inputs, reads);
    if (input != inputs.end() && column.shape.size() == 2) column.padding = input->padding;
  }
}

class ByTheirModels final : public EventsOfJobs {
  void print(const std::string& job, bool as_json) const override { cli::print(job, as_json); }
  data::Transform transform(const std::string& job, bool need_key) const override {
    return cli::transform(job, need_key);
  }
  void set_padding(const std::string& job, std::vector<data::ColumnRequest>& columns) const override {
    cli::set_padding(job, columns);
  }
};

}  // namespace

void provide_events_of_jobs() {
  static const ByTheirModels events;
  provide(events);
}

}  // namespace linac::cli
