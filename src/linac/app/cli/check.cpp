#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <memory>

#include "linac/app/cli/verbs.h"
#include "linac/base/error.h"
#include "linac/comm/group.h"
#include "linac/kernels/isa.h"
#include "linac/models/threedgan/cost.h"
#include "linac/models/threedgan/threedgan.h"
#include "linac/models/torch_threads.h"
#include "linac/spec/job.h"
#include "linac/train/adversarial.h"
#include "linac/train/input.h"
#include "linac/train/quick_figures.h"
#include "linac/train/trainer.h"

namespace linac::app {
namespace {

struct CheckOptions {
  std::string job;
  std::vector<std::string> overrides;
  bool explain = false;
};

double peak_gib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / (1 << 20);
}

void print_files(const char* role, const data::Dataset& dataset) {
  for (const data::FileReport& file : dataset.files()) {
    fmt::print("  {:<6} {}: {}, {} events ({} kept), {}, {:.1f}-{:.1f} GeV, {:.2f}-{:.2f} rad\n", role, file.url,
               file.format, file.events, file.kept, data::to_string(file.shape), file.energy_gev_min,
               file.energy_gev_max, file.angle_min, file.angle_max);
  }
}

// The first batch of each file, cut to what it has, so that a file that opens but cannot be read is found now.
void read_first_batches(const spec::Job& job, const data::Dataset& dataset) {
  int64_t first = 0;
  for (const data::FileReport& file : dataset.files()) {
    std::vector<int64_t> events;
    for (int64_t i = 0; i < std::min(job.train.batch, file.kept); ++i) events.push_back(first + i);
    data::SampleBatch batch;
    dataset.read(events, batch);
    first += file.kept;
  }
}

// One replica's step, as every worker would do it.
train::StepResult one_step(const spec::Job& job, const data::Dataset& dataset, double& seconds) {
  spec::Job lone = job;
  lone.train.replicas = lone.workers = 1;
  const models::threedgan::ThreeDGan model(job.model.latent, job.model.power, train::numerics_of(job));
  const auto group = comm::make_group({}, std::chrono::seconds(1));
  train::PhaseClock clock;
  train::AdversarialStep step(lone, model, *group, 1, clock);
  train::TrainState state = train::initial_state(lone, model);
  std::vector<data::SampleBatch> batch(1);
  std::vector<int64_t> events(static_cast<size_t>(job.train.batch));
  for (size_t i = 0; i < events.size(); ++i) events[i] = static_cast<int64_t>(i);
  dataset.read(events, batch[0]);
  const auto begin = train::PhaseClock::now();
  const auto result = step.run(state, batch, job.train.optimizer.lr, false);
  seconds = train::PhaseClock::now().wall - begin.wall;
  return result;
}

void run_check(const CheckOptions& options) {
  const spec::Job job = spec::read_job(options.job, options.overrides);
  train::need_known_figure(job.checkpoint.best_by);
  models::need_device(train::numerics_of(job).device);
  models::use_threads(job.train.threads);
  fmt::print("job    {} ({})\n\nmodel\n", job.name, options.job);
  const models::threedgan::ThreeDGan model(job.model.latent, job.model.power, train::numerics_of(job));
  const auto cost = models::threedgan::step_cost(model);
  for (const graph::Graph* graph : {&model.generator(), &model.discriminator()}) {
    fmt::print("  {:<14} {:>9} parameters ({} trained), {:.2f} GFLOP a shower forward\n", graph->name,
               graph::count_weights(*graph, false), graph::count_weights(*graph, true),
               graph::forward_flop(*graph) / 1e9);
  }
  fmt::print("  a training step: {:.1f} GFLOP a shower ({:.1f} without folding the up-sampling)\n\n", cost.folded_gflop,
             cost.gflop);

  if (options.explain) fmt::print("graphs, before and after the passes\n{}\n", model.explain());
  const auto train = train::open_dataset(job, job.data.train);
  train::need_model_shape(job, *train);
  fmt::print("data\n");
  print_files("train", *train);
  read_first_batches(job, *train);
  const int64_t steps = train::steps_per_epoch(job, *train);
  if (!job.data.test.empty()) {
    const auto test = train::open_dataset(job, job.data.test);
    train::need_model_shape(job, *test);
    print_files("test", *test);
    read_first_batches(job, *test);
  }
  fmt::print("  {} steps an epoch of {} replicas x {} events\n\none step of one replica\n", steps, job.train.replicas,
             job.train.batch);

  const double before = peak_gib();
  double seconds = 0;
  const auto result = one_step(job, *train, seconds);
  if (result.health != train::Health::kGood) {
    throw Error(ErrorCode::kNumeric,
                fmt::format("[check] the first step failed in {}: {}; look at the data's scale and train.optimizer",
                            result.where,
                            result.health == train::Health::kEmpty ? "every generated image is empty" : "NaN or Inf"));
  }
  for (const auto& [phase, parts] : result.losses)
    fmt::print("  loss {:<7} {:.4f}\n", phase, parts[models::threedgan::kTotal]);
  const int carried = (job.train.replicas + job.workers - 1) / job.workers;
  fmt::print("  {:.2f} s, {:.2f} showers/s on one core set of {} ({})\n", seconds,
             static_cast<double>(job.train.batch) / seconds, job.train.threads,
             kernels::to_string(kernels::best_isa()));
  const double replica_gib = std::max(0.0, peak_gib() - before);
  fmt::print(
      "  a worker needs {:.1f} GiB + {:.1f} GiB for each replica it computes side by side (it carries {})\n\nthe job "
      "can run\n",
      before, replica_gib, carried);
}

}  // namespace

void add_check_verb(CLI::App& app) {
  auto options = std::make_shared<CheckOptions>();
  auto* verb = app.add_subcommand("check", "Says whether a job would run and what it needs, before it costs anything");
  verb->add_option("job", options->job, "job file (YAML)")->required();
  verb->add_option("--set", options->overrides, "override a setting: key=value")->type_size(1)->allow_extra_args(false);
  verb->add_flag("--explain", options->explain,
                 "show the graphs before and after the passes: layers, shapes, GFLOP, bytes, and the kernel of each");
  verb->footer(
      "Examples:\n  linac check examples/demo.yaml --set train.batch=32\n"
      "  linac check examples/demo.yaml --explain");
  verb->callback([options] { run_check(*options); });
}

}  // namespace linac::app
