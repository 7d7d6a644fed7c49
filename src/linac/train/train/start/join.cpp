#include "linac/train/train/start/join.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/base/job/run_states.h"
#include "linac/train/comm/membership/view_ledger.h"
#include "linac/train/comm/transport/listeners.h"
#include "linac/train/train/record/run_folder.h"
#include "linac/train/train/start/run_before.h"

namespace linac::train {
namespace {

// For one that wants to join: whether the record of that run says that it is complete, and nobody is there any more. A
// worker that fails leaves its word in the record while the others go on. Throws if the run has ended otherwise.
bool is_complete(const RunFolder& run, const std::vector<std::string>& join_addresses) {
  constexpr std::chrono::seconds kPatience{2};
  const auto said = run.summary();
  const job::RunState state = said ? job::state_of(said->status) : job::RunState::kRunning;
  if (state == job::RunState::kRunning || comm::somebody_listens(join_addresses, kPatience)) return false;
  // Those of other groups take no connections but by the relay, and may go on.
  const bool has_groups =
      std::ranges::any_of(join_addresses, [](const auto& one) { return one.find('/') != std::string::npos; });
  if (has_groups && state != job::RunState::kSucceeded) return false;
  if (state == job::RunState::kSucceeded) return true;
  throw Error(ErrorCode::kPeerLost,
              fmt::format("[train] {}: the run has ended ({} after step {}), so there is nothing to join; go on with "
                          "--resume",
                          run.root().string(), said->status, std::max<int64_t>(0, said->global_step)));
}

}  // namespace

void join_run(const std::string& run, JoinBy by, Worker worker, trained::CompiledJob whole, comm::Rendezvous place) {
  const std::filesystem::path& root = worker.options.folder;
  RunFolder folder(root);
  const bool by_folder = by == JoinBy::kFolder;
  worker.join_addresses = by_folder ? comm::ViewLedger::join_addresses(folder.views()) : std::vector{run};
  if (worker.join_addresses.empty()) {
    throw user_error(
        fmt::format("[train] {}: no run with several workers goes on there (no views/); start one with "
                    "--workers, or --listen to let others join a single one",
                    run));
  }
  if (by_folder && is_complete(folder, worker.join_addresses))
    return log::info(fmt::format("{}: the run is complete, so there is nothing to join", root.string()));
  if (!by_folder) {
    if (folder.holds_run())  // it was part of this run before
      need_same_numerics(whole.job, folder.job(), root.string());
    folder.create(whole.job);
  }
  const auto number = comm::process_environment("LINAC_WORKER");
  log::set_tag(fmt::format("worker {}", number ? *number : std::to_string(getpid())));
  log::set_file(folder.log());
  place.local_rank = comm::local_rank_of_newcomer(place);
  work(std::move(worker), std::move(whole), place);
}

}  // namespace linac::train
