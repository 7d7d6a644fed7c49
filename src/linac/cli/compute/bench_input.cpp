#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "linac/base/base/error.h"
#include "linac/base/base/plural.h"
#include "linac/cli/compute/bench_measure.h"
#include "linac/cli/compute/job_file.h"
#include "linac/io/storage/read_width.h"
#include "linac/train/train/input/input.h"
#include "linac/train/train/input/shower_input.h"
#include "linac/train/train/input/table_input.h"
#include "linac/train/train/loops/fit_start.h"
#include "linac/train/train/loops/loop.h"
#include "linac/train/train/record/phase_clock.h"

namespace linac::cli {
namespace {

struct InputOptions {
  std::string job;
  std::vector<std::string> overrides;
  int epochs = 2;
  double seconds = 0;  // at most, of all epochs; 0: to their end
  bool json = false;
};

nlohmann::ordered_json timed(const std::function<void()>& work) {
  const auto begin = train::PhaseClock::now();
  work();
  const auto end = train::PhaseClock::now();
  return {{"wall_s", end.wall - begin.wall}, {"cpu_s", end.cpu - begin.cpu}};
}

/// What the training of a job would wait for: its set, opened, and the batches of all replicas.
struct Input {
  int64_t events = 0;
  std::function<void()> next_step;
  std::function<int()> batches_ahead;
  std::shared_ptr<void> keeps;
};

std::vector<int> all_replicas(const job::Job& job) {
  std::vector<int> owned;
  for (int replica = 0; replica < job.train.replicas; ++replica) owned.push_back(replica);
  return owned;
}

Input open_showers(const job::Job& job) {
  const auto input = std::make_shared<train::ShowerInput>(job);
  input->seek({}, all_replicas(job));
  return {input->train_events(), [input] { input->next(); }, [input] { return input->batches_ahead(); }, input};
}

Input open_table(const job::Job& job, train::FitStart start) {
  const models::Supervised model = start.model(job);
  const auto input = std::make_shared<train::TableInput>(job, train::labelled_columns(job, model));
  input->seek({}, all_replicas(job));
  return {input->train_events(), [input] { input->next(); }, [input] { return input->batches_ahead(); }, input};
}

Input open_input(const trained::CompiledJob& whole) {
  const job::Job& job = whole.job;
  const std::string kind = job.model.kind();
  if (kind == job::ThreeDGanSettings::kKind || kind == job::CellChainSettings::kKind) return open_showers(job);
  if (kind == job::InclusiveClassifierSettings::kKind) return open_table(job, train::inclusive_classifier_start(job));
  if (kind == job::KerasSettings::kKind) return open_table(job, train::keras_start(job, whole.file.get()));
  throw user_error(
      fmt::format("[bench] {}: a model of kind '{}' reads as it likes; name a job of another kind", job.name, kind));
}

void run_input_bench(const InputOptions& options) {
  const trained::CompiledJob whole = whole_job(options.job, options.overrides);
  const job::Job& job = whole.job;
  std::optional<Input> input;
  nlohmann::ordered_json result{{"job", job.name}};
  const auto open = timed([&] { input = open_input(whole); });
  const int64_t steps = train::steps_per_epoch(job, input->events);
  const int64_t events = steps * job.train.batch * job.train.replicas;
  if (input->events >= 0) result["events"] = input->events;
  result["events_an_epoch"] = events;
  result["open"] = open;
  const double end =
      options.seconds > 0 ? train::PhaseClock::now().wall + options.seconds : std::numeric_limits<double>::infinity();
  int64_t done = 0;
  nlohmann::ordered_json first_step, epochs = nlohmann::ordered_json::array();
  for (int epoch = 0; epoch < options.epochs && train::PhaseClock::now().wall < end; ++epoch) {
    const auto took = timed([&] {
      for (int64_t step = 0; step < steps && train::PhaseClock::now().wall < end; ++step, ++done) {
        const auto one = timed(input->next_step);
        if (done == 0) first_step = one;
      }
    });
    epochs.push_back(took);
  }
  result["first_step"] = first_step;
  result["epochs"] = epochs;
  result["events_read"] = done * job.train.batch * job.train.replicas;
  const storage::Width width = storage::read_width().now();
  result["ahead"] = {{"steps", input->batches_ahead()}, {"files", width.files}, {"reads", width.reads}};
  result["peak_rss_mib"] = peak_rss_mib();
  if (options.json) {
    fmt::print("{}\n", result.dump(1));
    return;
  }
  const auto line = [](const std::string& name, const nlohmann::ordered_json& one, int64_t count) {
    const double wall = one["wall_s"], cpu = one["cpu_s"];
    fmt::print("{:<8} {:8.3f} s, CPU {:8.3f} s, {:10.0f} events/s, {:10.0f} events per CPU second\n", name, wall, cpu,
               static_cast<double>(count) / wall, static_cast<double>(count) / cpu);
  };
  fmt::print("first step {:.3f} s after that\n", result["first_step"]["wall_s"].get<double>());
  line("open", result["open"], std::max<int64_t>(0, input->events));
  for (size_t epoch = 0; epoch < result["epochs"].size(); ++epoch)
    line(fmt::format("epoch {}", epoch + 1), result["epochs"][epoch],
         std::clamp<int64_t>(result["events_read"].get<int64_t>() - static_cast<int64_t>(epoch) * events, 0, events));
  fmt::print("read ahead at the end: {}; {} side by side, {} of each\n",
             plural(result["ahead"]["steps"].get<int>(), "step"), plural(width.files, "file"),
             plural(width.reads, "range"));
  fmt::print("peak {:.0f} MiB\n", result["peak_rss_mib"].get<double>());
}

}  // namespace

void add_input_bench(CLI::App& bench) {
  auto options = std::make_shared<InputOptions>();
  auto* verb =
      bench.add_subcommand("input", "A job's events alone: opened, and read epoch by epoch without a training");
  verb->add_option("job", options->job, "job file (YAML)")->required();
  verb->add_option("--set", options->overrides, "override a setting: key=value")->type_size(1)->allow_extra_args(false);
  verb->add_option("--epochs", options->epochs, "read after opening")->check(CLI::Range(1, 1000));
  verb->add_option("--seconds", options->seconds, "end after so many, in the midst of an epoch")
      ->check(CLI::PositiveNumber);
  verb->add_flag("--json", options->json, "as JSON");
  verb->footer("Example: LINAC_CACHE=/tmp/empty linac bench input examples/topology.yaml --epochs 2");
  verb->callback([options] { run_input_bench(*options); });
}

}  // namespace linac::cli
