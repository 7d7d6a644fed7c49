#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/base/job/job.h"
#include "linac/cli/compute/bench_measure.h"
#include "linac/cli/compute/data_links.h"
#include "linac/cli/compute/job_file.h"
#include "linac/cli/compute/verbs.h"
#include "linac/model/kernels/isa.h"
#include "linac/model/models/torch_threads.h"
#include "linac/train/comm/group.h"
#include "linac/train/train/input/input.h"
#include "linac/train/train/local/replayed.h"
#include "linac/train/train/local/round.h"
#include "linac/train/train/loops/loop.h"
#include "linac/train/train/record/measures.h"

namespace linac::cli {
namespace {

struct CheckOptions {
  std::string job;
  std::vector<std::string> overrides;
  bool explain = false, json = false;
};

/// What a step of one replica took.
struct Tried {
  train::StepResult result;
  double seconds = 0;                    // without the wait for its events
  double base_gib = 0, replica_gib = 0;  // of a worker; of each replica that it computes side by side
};

// One replica's step, as every worker would do it.
Tried one_step(const train::Loop& loop, double learning_rate, const train::PhaseClock& clock) {
  Tried tried{.result = {}, .base_gib = peak_rss_mib() / 1024};
  train::TrainState state = loop.steps->initial_state();
  loop.steps->seek(state);
  const auto begin = train::PhaseClock::now();
  const double waited = clock[train::TimePhase::kInput].wall;
  tried.result = loop.steps->step(state, learning_rate, train::StepWish::kNone, [] {});
  tried.seconds = train::PhaseClock::now().wall - begin.wall - (clock[train::TimePhase::kInput].wall - waited);
  tried.replica_gib = std::max(0.0, peak_rss_mib() / 1024 - tried.base_gib);
  if (tried.result.health == train::Health::kGood) return tried;
  const train::StepResult::Cause& cause = tried.result.cause;
  throw Error(
      ErrorCode::kNumeric,
      fmt::format("[check] the first step failed {}: {}{}{}; {}", tried.result.where,
                  tried.result.health == train::Health::kEmpty ? "every generated image is empty" : "NaN or Inf",
                  cause.words.empty() ? "" : ": ", cause.words,
                  cause.advice.empty() ? "look at the data's scale and train.optimizer" : cause.advice));
}

void print_model(const train::Loop& loop) {
  fmt::print("model\n");
  for (const graph::Graph* graph : loop.steps->graphs()) {
    const double flop = graph::forward_flop(*graph);
    fmt::print("  {:<14} {:>9} parameters ({} trained){}\n", graph->name, graph::count_weights(*graph, false),
               graph::count_weights(*graph, true),
               flop > 0 ? fmt::format(", {:.4g} GFLOP forward for one of the {}", flop / 1e9, loop.words->unit()) : "");
  }
  fmt::print("  a training step: {}\n", loop.words->cost());
  if (const std::string start = loop.words->start(); !start.empty()) fmt::print("  goes on from {}\n", start);
  fmt::print("\n");
}

/// Replicas, or parts of them.
int pieces_carried(const job::Job& job) {
  return (job.train.pieces() + job.workers - 1) / job.workers;
}

void print_step(const job::Job& job, const train::Loop& loop, const Tried& tried) {
  for (const train::Column& column : loop.words->columns()) {
    if (const auto found = tried.result.losses.find(column.measure); found != tried.result.losses.end())
      fmt::print("  {:<12} {:.4f}\n", column.heading, found->second);
  }
  fmt::print("  {:.2f} s, {:.4g} {}/s on one core set of {} ({})\n", tried.seconds,
             static_cast<double>(job.train.batch) / tried.seconds, loop.words->unit(), job.train.threads,
             kernels::to_string(kernels::best_isa()));
  const int parts = job.train.split.parts();
  fmt::print("  a worker needs {:.1f} GiB + {:.1f} GiB for each {} it computes side by side (it carries {})\n\n",
             tried.base_gib, tried.replica_gib / parts, parts > 1 ? "part of a replica" : "replica",
             pieces_carried(job));
}

nlohmann::ordered_json to_json(const job::Job& job, const train::Loop& loop, const Tried& tried,
                               const DataLinks& links) {
  auto networks = nlohmann::ordered_json::array();
  for (const graph::Graph* graph : loop.steps->graphs())
    networks.push_back({{"name", graph->name},
                        {"parameters", graph::count_weights(*graph, false)},
                        {"trained", graph::count_weights(*graph, true)}});
  return {{"job", job.name},
          {"networks", networks},
          {"goes_on_from", loop.words->start()},
          {"train_events", loop.data->train_events()},
          {"test_events", loop.data->test_events()},
          {"steps_per_epoch", train::steps_per_epoch(job, loop.data->train_events())},
          {"step_s", tried.seconds},
          {"events_per_s", static_cast<double>(job.train.batch) / tried.seconds},
          {"losses", train::to_json(tried.result.losses)},
          {"worker_gib", tried.base_gib},
          {"replica_gib", tried.replica_gib},
          {"parts", job.train.split.parts()},
          {"replicas_carried", pieces_carried(job)},
          {"data", to_json(links)},
          {"warnings", warnings(links)}};
}

void run_check(const CheckOptions& options) {
  trained::CompiledJob whole = whole_job(options.job, options.overrides);
  const job::Job& job = whole.job;
  models::need_device(train::numerics_of(job).device);
  models::use_threads(job.train.threads);
  job::Job lone = job;
  lone.train.replicas = lone.workers = 1;
  lone.train.sync = {};
  lone.train.discriminator_first = 0;  // the step to try is that of both networks
  const auto group = comm::make_lone_group();
  train::PhaseClock clock;
  const auto loop = train::make_loop(lone, *group, 1, clock, whole.file.get());
  if (job.train.sync.is_apart()) train::anew_rounds_of(job.train.sync.replay, job.train.sync.groups);
  whole.file.reset();
  if (!options.json) {
    fmt::print("job    {} ({})\n\n", job.name, options.job);
    print_model(loop);
    if (options.explain) fmt::print("graphs, before and after the passes\n{}\n", loop.words->explain());
  }
  const std::vector<std::string> data = loop.data->describe_data();  // reads some of it
  const std::string epoch = train::epoch_in_words(job, loop.data->train_events());
  if (!options.json) {
    fmt::print("data\n");
    for (const std::string& line : data) fmt::print("  {}\n", line);
    fmt::print("  {}\n", epoch);
    if (job.train.sync.is_apart()) fmt::print("  {}\n", train::rounds_in_words(job, loop.steps->initial_state()));
    fmt::print("\none step of one replica\n");
  }
  DataLinks links = measure_links(job, *loop.data);
  const Tried tried = one_step(loop, job.train.optimizer.lr, clock);
  if (!options.json) print_step(job, loop, tried);
  links.set_step(tried.seconds);
  if (options.json) {
    fmt::print("{}\n", to_json(job, loop, tried, links).dump(2));
  } else {
    fmt::print("how fast the training events have to come\n");
    for (const std::string& line : describe(links)) fmt::print("  {}\n", line);
    fmt::print("\nthe job can run\n");
  }
  for (const std::string& warning : warnings(links)) log::warn("[check] " + warning);
}

}  // namespace

void add_check_verb(CLI::App& app) {
  auto options = std::make_shared<CheckOptions>();
  auto* verb = add_handed_verb(app, "check");
  verb->add_option("job", options->job, "job file (YAML)")->required();
  verb->add_option("--set", options->overrides, "override a setting: key=value")->type_size(1)->allow_extra_args(false);
  verb->add_flag("--explain", options->explain,
                 "show the graphs before and after the passes: layers, shapes, GFLOP, bytes, and the kernel of each");
  verb->add_flag("--json", options->json, "as JSON")->excludes("--explain");
  verb->footer(
      "Examples:\n  linac check examples/demo.yaml --set train.batch=32\n"
      "  linac check examples/demo.yaml --explain\n"
      "  linac check examples/topology.yaml --json");
  verb->callback([options] { run_check(*options); });
}

}  // namespace linac::cli
