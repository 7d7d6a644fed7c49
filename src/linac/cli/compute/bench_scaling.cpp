#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "linac/base/base/cores.h"
#include "linac/base/base/error.h"
#include "linac/base/base/median.h"
#include "linac/base/base/signals.h"
#include "linac/base/base/temporary_folder.h"
#include "linac/base/plan/scaling.h"
#include "linac/cli/compute/bench_measure.h"
#include "linac/cli/compute/scaling_plan.h"
#include "linac/cli/compute/scaling_runs.h"
#include "linac/io/storage/output.h"

namespace linac::cli {
namespace {

using Json = nlohmann::ordered_json;
using job::Phase;

struct ScalingOptions {
  std::string job, link = "10gbit:50us", json;
  std::vector<int> workers{1, 2, 4}, predict{8, 16, 32, 64, 128, 256, 512, 1024};
  std::vector<std::string> overrides;
  int replicas_per_worker = 1, steps = 6, rounds = 3;
  double compute_s = 0;  // 0: measured
};

// What others have published, to stand beside a prediction.
constexpr const char* kPublished =
    "published, other programs and machines:\n"
    "  3DGAN, V100 GPUs, from 2: 64 GPUs 94 %, 128 GPUs 80 % (1779 -> 59.4, 34.9 s an epoch; Cardoso et al., EPJ Web "
    "Conf. 251, 02073, 2021)\n"
    "  3DGAN, Xeon nodes: 128 nodes 94 % (Vallecorsa et al. 2018)\n"
    "  Horovod, Inception V3 and ResNet-101: 512 GPUs 90 % (Sergeev and Del Balso 2018)\n";

// Of a worker's steps, the part in which it waits for its peers.
double not_hidden(const job::WorkerAccount& worker) {
  double whole = 0;
  for (const Phase phase : job::kStepPhases) whole += worker.time_in(phase).wall_s;
  return worker.time_in(Phase::kCommunication).wall_s / whole;
}

Json measure_round(const ScalingOptions& options, int workers, int round, const TemporaryFolder& folder) {
  const ScalingRun run{.job = options.job,
                       .overrides = options.overrides,
                       .workers = workers,
                       .replicas_per_worker = options.replicas_per_worker,
                       .steps = options.steps};
  const ScalingTimes together = train_together(run, folder / fmt::format("{}-{}-together", round, workers));
  const ScalingTimes apart =
      workers == 1 ? together : train_apart(run, folder / fmt::format("{}-{}-apart", round, workers));
  std::vector<double> waits, sent;
  Json accounts = Json::array();
  for (const job::WorkerAccount& worker : together.workers) {
    waits.push_back(not_hidden(worker));
    sent.push_back(static_cast<double>(worker.sent_bytes) / options.steps);
    accounts.push_back(Json(job::to_json(worker)));
  }
  return {{"replica_steps_per_s", together.replica_steps_per_s},
          {"replica_steps_per_s_apart", apart.replica_steps_per_s},
          {"efficiency", together.replica_steps_per_s / apart.replica_steps_per_s},
          {"not_hidden", std::accumulate(waits.begin(), waits.end(), 0.0) / workers},
          {"not_hidden_least", *std::min_element(waits.begin(), waits.end())},
          {"sent_bytes_a_step", *std::min_element(sent.begin(), sent.end())},
          {"workers", std::move(accounts)}};
}

Json measure_all(const ScalingOptions& options) {
  catch_stop_signals();  // so that the folder is removed
  const TemporaryFolder folder;
  std::map<int, Json> rounds;
  for (int round = 0; round < options.rounds; ++round) {
    for (const int workers : options.workers) {
      rounds[workers].push_back(measure_round(options, workers, round, folder));
      fmt::print(stderr, "round {}: {} worker{}: efficiency {:.3f}\n", round + 1, workers, workers > 1 ? "s" : "",
                 rounds[workers].back()["efficiency"].get<double>());
    }
  }
  Json measured = Json::array();
  for (const auto& [workers, found] : rounds) {
    Json entry{{"workers", workers}};
    for (const char* name : {"replica_steps_per_s", "replica_steps_per_s_apart", "efficiency", "not_hidden",
                             "not_hidden_least", "sent_bytes_a_step"}) {
      std::vector<double> values;
      for (const Json& one : found) values.push_back(one[name].get<double>());
      entry[name] = {{"median", median(values)},
                     {"min", *std::min_element(values.begin(), values.end())},
                     {"max", *std::max_element(values.begin(), values.end())}};
    }
    entry["rounds"] = found;
    measured.push_back(std::move(entry));
  }
  return measured;
}

// On a CPU from CPU time: the clock also counts other programs' work, and the longer the step, the better it scales.
double undisturbed_step_s(const ScalingOptions& options, const Json& rounds_of_one_worker) {
  const int cores = computing_cores(options.job, options.overrides, options.replicas_per_worker);
  std::vector<double> seconds;
  for (const Json& round : rounds_of_one_worker) {
    const job::WorkerAccount worker = job::read_account(round["workers"][0].dump());
    double sum = 0;
    for (const Phase phase : {Phase::kInput, Phase::kCompute, Phase::kUpdate})
      sum += cores > 0 ? worker.time_in(phase).cpu_s : worker.time_in(phase).wall_s;
    seconds.push_back(sum / options.steps / std::max(1, cores));
  }
  return median(seconds);
}

Json predictions(const ScalingOptions& options, const plan::Step& step, const plan::Link& link) {
  Json updates = Json::array(), hosts = Json::array();
  for (const plan::Update& update : step.updates) {
    updates.push_back({{"beside_s", update.beside_s}, {"every", update.every}, {"buckets", Json::array()}});
    for (const plan::Bucket& bucket : update.buckets)
      updates.back()["buckets"].push_back({{"bytes", bucket.bytes}, {"left_s", bucket.left_s}});
  }
  for (const int count : options.predict) {
    const plan::Prediction found = plan::predict(step, count, link);
    hosts.push_back({{"hosts", count},
                     {"step_s", found.step_s},
                     {"exposed_s", found.exposed_s},
                     {"efficiency", found.efficiency},
                     {"sent_bytes", found.sent_bytes}});
  }
  return {{"link",
           {{"bytes_per_s", link.bytes_per_s},
            {"latency_s", link.latency_s},
            {"message_s", link.message_s},
            {"byte_s", link.byte_s},
            {"add_s", link.add_s},
            {"threads", link.threads}}},
          {"compute_s", step.compute_s},
          {"updates", updates},
          {"hosts", hosts}};
}

void print_measured(const ScalingOptions& options, const Json& measured) {
  fmt::print(
      "measured here, {} a worker; apart: as many trainings of one worker side by side; {} rounds\n"
      "{:>7} {:>17} {:>9} {:>20} {:>25} {:>11}\n",
      options.replicas_per_worker == 1 ? "one replica" : fmt::format("{} replicas", options.replicas_per_worker),
      options.rounds, "workers", "replica steps/s", "apart", "efficiency (least)", "waiting for peers (least)",
      "MB a step");
  for (const Json& entry : measured) {
    const auto of = [&](const char* name, const char* which = "median") { return entry[name][which].get<double>(); };
    fmt::print("{:>7} {:>17.3f} {:>9.3f} {:>20} {:>25} {:>11.1f}\n", entry["workers"].get<int>(),
               of("replica_steps_per_s"), of("replica_steps_per_s_apart"),
               fmt::format("{:.1f} % ({:.1f} %)", 100 * of("efficiency"), 100 * of("efficiency", "min")),
               fmt::format("{:.2f} % ({:.2f} %)", 100 * of("not_hidden"), 100 * of("not_hidden_least")),
               1e-6 * of("sent_bytes_a_step"));
  }
  fmt::print("\n");
}

void print_predicted(const ScalingOptions& options, const Json& predicted) {
  fmt::print(
      "predicted for hosts like this one, a step of {:.3f} s without communication, links of {}\n"
      "{:>7} {:>10} {:>15} {:>11} {:>11}\n",
      predicted["compute_s"].get<double>(), options.link, "hosts", "step, s", "not hidden, ms", "efficiency",
      "MB a step");
  for (const Json& entry : predicted["hosts"]) {
    fmt::print("{:>7} {:>10.3f} {:>15.1f} {:>11} {:>11.1f}\n", entry["hosts"].get<int>(), entry["step_s"].get<double>(),
               1e3 * entry["exposed_s"].get<double>(), fmt::format("{:.1f} %", 100 * entry["efficiency"].get<double>()),
               1e-6 * entry["sent_bytes"].get<double>());
  }
  fmt::print("hosts of unequal speed are not in the prediction: a step waits for the slowest\n{}", kPublished);
}

void run_scaling_bench(ScalingOptions options) {
  if (!options.json.empty()) storage::need_ending(options.json, {".json"}, "bench");
  const plan::Link link = plan::parse_link(options.link);
  std::sort(options.workers.begin(), options.workers.end());
  options.workers.erase(std::unique(options.workers.begin(), options.workers.end()), options.workers.end());
  if (options.workers.front() != 1) options.workers.insert(options.workers.begin(), 1);
  Json result{{"job", options.job},
              {"set", options.overrides},
              {"replicas_per_worker", options.replicas_per_worker},
              {"steps", options.steps},
              {"cores", usable_cores()}};
  double step_s = options.compute_s;
  if (step_s == 0) {
    result["measured"] = measure_all(options);
    step_s = undisturbed_step_s(options, result["measured"][0]["rounds"]);
  }
  if (!options.predict.empty()) {
    const plan::Step step = planned_step(options.job, options.overrides, options.replicas_per_worker, step_s);
    result["predicted"] = predictions(options, step, link);
  }
  if (result.contains("measured")) print_measured(options, result["measured"]);
  if (result.contains("predicted")) print_predicted(options, result["predicted"]);
  if (options.json.empty()) return;
  std::ofstream file(options.json);
  if (!(file << result.dump(1) << '\n').flush())
    throw environment_error(fmt::format("[bench] cannot write {}; choose another --json", options.json));
}

}  // namespace

void add_scaling_bench(CLI::App& bench) {
  auto options = std::make_shared<ScalingOptions>();
  auto* verb = bench.add_subcommand(
      "scaling",
      "Weak scaling: a job on N workers against N trainings of one worker each, and predicted for many hosts");
  verb->add_option("job", options->job, "job file")->required();
  verb->add_option("--workers", options->workers, "numbers of workers to measure")
      ->delimiter(',')
      ->check(CLI::Range(1, 256));
  verb->add_option("--replicas-per-worker", options->replicas_per_worker, "replicas of each")
      ->check(CLI::Range(1, 4096));
  verb->add_option("--steps", options->steps, "of each training, the first one not timed")
      ->check(CLI::Range(3, 1 << 20));
  verb->add_option("--rounds", options->rounds, "in each all of them in turn")->check(CLI::Range(1, 1000));
  verb->add_option("--predict", options->predict, "numbers of hosts to predict")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 16));
  verb->add_option(
      "--link", options->link,
      "between those hosts, rate:latency; behind it what a message, a byte and an addition cost a host, and its "
      "threads: 100gbit:20us:10us:0.9ns:0.05ns:8");
  verb->add_option("--compute", options->compute_s,
                   "seconds of a step without communication: measures nothing and predicts from it")
      ->check(CLI::PositiveNumber);
  verb->add_option("--set", options->overrides, "settings of the job, e.g. train.batch=8");
  verb->add_option("--json", options->json, "file for all of it as JSON (NAME.json), each round included");
  verb->footer("Example: linac bench scaling job.yaml --workers 1,2,4 --replicas-per-worker 2 --link 25gbit:20us");
  verb->callback([options] { run_scaling_bench(*options); });
}

}  // namespace linac::cli
