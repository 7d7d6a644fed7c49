#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "linac/base/base/error.h"
#include "linac/base/plan/scaling.h"
#include "linac/cli/compute/bench_measure.h"
#include "linac/train/comm/c10d/c10d_store.h"
#include "linac/train/comm/group.h"
#include "linac/train/comm/meeting/rendezvous.h"
#include "linac/train/comm/replica_sum.h"

namespace linac::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct ExchangeOptions {
  std::vector<int64_t> bytes{349824, 5460672};  // the 3DGAN's discriminator and generator
  int replicas_per_worker = 1, repeat = 20;
  bool json = false;
  std::string link;
};

// Seconds of each sum, as rank 0 sees them: all begin at a barrier.
std::vector<double> time_sums(const ExchangeOptions& options, comm::Group& group, int64_t bytes) {
  const auto floats = static_cast<size_t>(bytes / 4);
  comm::ReplicaSum sum(group, group.size() * options.replicas_per_worker);
  std::vector<std::vector<float>> buffers(static_cast<size_t>(options.replicas_per_worker), std::vector<float>(floats));
  const std::vector<std::span<float>> parts(buffers.begin(), buffers.end());
  std::vector<float> result(floats);
  std::vector<double> seconds;
  for (int i = 0; i <= options.repeat; ++i) {
    group.barrier();
    const auto begin = Clock::now();
    sum.reduce(parts, result);
    if (i > 0) seconds.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds;
}

// Whoever leaves the barrier first is gone before the others have: the group then knows that all is done.
void end_together(comm::Group& group) {
  try {
    group.barrier();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kPeerLost || group.next_view("all sums are done")) throw;
  }
  group.finish();
}

void run_exchange_bench(const ExchangeOptions& options) {
  const auto link = options.link.empty() ? std::nullopt : std::optional(plan::parse_link(options.link));
  const comm::Rendezvous rendezvous = comm::rendezvous_from_environment();
  if (rendezvous.world_size < 2) {
    throw user_error(
        "[bench] a lone process has nobody to exchange with; start this on each host as torchrun, mpirun or srun would "
        "(RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT)");
  }
  const auto group = comm::make_group(rendezvous, {});
  nlohmann::ordered_json result = nlohmann::ordered_json::array();
  for (const int64_t bytes : options.bytes) {
    const std::vector<double> seconds = time_sums(options, *group, bytes);
    result.push_back({{"workers", group->size()},
                      {"bytes", bytes},
                      {"median_s", seconds[seconds.size() / 2]},
                      {"min_s", seconds.front()},
                      {"max_s", seconds.back()}});
    if (link) {
      result.back()["model_s"] =
          plan::exchange_s(static_cast<double>(bytes), group->size(), options.replicas_per_worker, *link);
    }
  }
  end_together(*group);
  if (rendezvous.rank != 0) return;
  if (options.json) {
    fmt::print("{}\n", result.dump(1));
    return;
  }
  for (const auto& one : result) {
    fmt::print("{:>10} bytes summed over {} workers: {:.3f} ms ({:.3f}-{:.3f}){}\n", one["bytes"].get<int64_t>(),
               group->size(), 1e3 * one["median_s"].get<double>(), 1e3 * one["min_s"].get<double>(),
               1e3 * one["max_s"].get<double>(),
               link ? fmt::format(", by the model {:.3f} ms", 1e3 * one["model_s"].get<double>()) : "");
  }
}

}  // namespace

void add_exchange_bench(CLI::App& bench) {
  auto options = std::make_shared<ExchangeOptions>();
  auto* verb = bench.add_subcommand(
      "exchange", "The sum over the workers alone, on the network between them: to be started on each host");
  verb->add_option("--bytes", options->bytes, "of the messages (default: those of the 3DGAN's updates)")
      ->delimiter(',')
      ->check(CLI::Range(int64_t{4}, int64_t{1} << 32));
  verb->add_option("--replicas-per-worker", options->replicas_per_worker, "added up before they travel")
      ->check(CLI::Range(1, 4096));
  verb->add_option("--repeat", options->repeat, "sums, after one that is not timed")->check(CLI::Range(1, 1000000));
  verb->add_option("--link", options->link, "for the model's time beside it, as of bench scaling");
  verb->add_flag("--json", options->json, "as JSON");
  verb->footer("Example: torchrun --no-python --nproc-per-node 4 linac bench exchange");
  verb->callback([options] { run_exchange_bench(*options); });
}

}  // namespace linac::cli
