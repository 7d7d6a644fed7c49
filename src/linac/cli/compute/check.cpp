#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "linac/base/error.h"
#include "linac/cli/compute/bench_measure.h"
#include "linac/cli/compute/job_file.h"
#include "linac/cli/compute/verbs.h"
#include "linac/comm/group.h"
#include "linac/kernels/isa.h"
#include "linac/models/torch_threads.h"
#include "linac/spec/job.h"
#include "linac/train/input.h"
#include "linac/train/loop.h"

namespace linac::cli {
namespace {

struct CheckOptions {
  std::string job;
  std::vector<std::string> overrides;
  bool explain = false;
};

// One replica's step, as every worker would do it.
train::StepResult one_step(train::Loop& loop, double learning_rate, double& seconds) {
  train::TrainState state = loop.initial_state();
  loop.seek(state);
  const auto begin = train::PhaseClock::now();
  const auto result = loop.step(state, learning_rate, train::StopWish::kNone, [] {});
  seconds = train::PhaseClock::now().wall - begin.wall;
  return result;
}

void run_check(const CheckOptions& options) {
  trained::CompiledJob whole = whole_job(options.job, options.overrides);
  const spec::Job& job = whole.job;
  models::need_device(train::numerics_of(job).device);
  models::use_threads(job.train.threads);
  spec::Job lone = job;
  lone.train.replicas = lone.workers = 1;
  lone.train.discriminator_first = 0;  // the step to try is that of both networks
  const auto group = comm::make_group({}, {});
  train::PhaseClock clock;
  const auto loop = train::make_loop(lone, *group, 1, clock, whole.file.get());
  whole.file.reset();
  fmt::print("job    {} ({})\n\nmodel\n", job.name, options.job);
  for (const graph::Graph* graph : loop->graphs()) {
    const double flop = graph::forward_flop(*graph);
    fmt::print("  {:<14} {:>9} parameters ({} trained){}\n", graph->name, graph::count_weights(*graph, false),
               graph::count_weights(*graph, true),
               flop > 0 ? fmt::format(", {:.4g} GFLOP forward for one of the {}", flop / 1e9, loop->unit()) : "");
  }
  fmt::print("  a training step: {}\n\n", loop->cost());
  if (options.explain) fmt::print("graphs, before and after the passes\n{}\n", loop->explain());
  fmt::print("data\n");
  for (const std::string& line : loop->describe_data()) fmt::print("  {}\n", line);
  fmt::print("  {}\n\none step of one replica\n", train::epoch_in_words(job, loop->train_events()));

  const double before = peak_rss_mib() / 1024;
  double seconds = 0;
  const auto result = one_step(*loop, job.train.optimizer.lr, seconds);
  if (result.health != train::Health::kGood) {
    throw Error(ErrorCode::kNumeric,
                fmt::format("[check] the first step failed in {}: {}; look at the data's scale and train.optimizer",
                            result.where,
                            result.health == train::Health::kEmpty ? "every generated image is empty" : "NaN or Inf"));
  }
  for (const train::Column& column : loop->columns()) {
    if (const auto found = result.losses.find(column.measure); found != result.losses.end())
      fmt::print("  {:<12} {:.4f}\n", column.heading, found->second);
  }
  const int carried = (job.train.replicas + job.workers - 1) / job.workers;
  fmt::print("  {:.2f} s, {:.4g} {}/s on one core set of {} ({})\n", seconds,
             static_cast<double>(job.train.batch) / seconds, loop->unit(), job.train.threads,
             kernels::to_string(kernels::best_isa()));
  const double replica_gib = std::max(0.0, peak_rss_mib() / 1024 - before);
  fmt::print(
      "  a worker needs {:.1f} GiB + {:.1f} GiB for each replica it computes side by side (it carries {})\n\nthe job "
      "can run\n",
      before, replica_gib, carried);
}

}  // namespace

void add_check_verb(CLI::App& app) {
  auto options = std::make_shared<CheckOptions>();
  auto* verb = add_compute_verb(app, "check");
  verb->add_option("job", options->job, "job file (YAML)")->required();
  verb->add_option("--set", options->overrides, "override a setting: key=value")->type_size(1)->allow_extra_args(false);
  verb->add_flag("--explain", options->explain,
                 "show the graphs before and after the passes: layers, shapes, GFLOP, bytes, and the kernel of each");
  verb->footer(
      "Examples:\n  linac check examples/demo.yaml --set train.batch=32\n"
      "  linac check examples/demo.yaml --explain");
  verb->callback([options] { run_check(*options); });
}

}  // namespace linac::cli
