#include "linac/train/train/agreement.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "linac/base/base/error.h"
#include "linac/base/base/temporary_folder.h"
#include "linac/train/comm/meeting/sockets.h"
#include "linac/train/comm/test_loopback_store.h"

namespace linac::train {
namespace {

using namespace std::chrono_literals;

// What find_disagreement() does on a rank of another job, to which the verdict comes late.
std::string slow_stranger(comm::Group& group) {
  group.gather_text(R"({"job": "another"})");
  std::this_thread::sleep_for(300ms);
  std::string verdict;
  broadcast_bytes(group, verdict, 0);
  group.gather_text("");
  group.fail_with(user_error("refused"), comm::Reach::kThisWorker);
  return verdict;
}

// Goes on as the trainer does: a view that who is refused has just left may still count it.
std::string member(comm::Group& group) {
  do {
    try {
      if (!find_disagreement(group, {{"job", "the run's"}})) return "on with " + std::to_string(group.size());
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kPeerLost) throw;
    }
  } while (group.next_view("refused"));
  return "over";
}

[[noreturn]] void play(int rank, int port, const TemporaryFolder& folder) {
  std::ofstream said(folder / std::to_string(rank));
  try {
    comm::Rendezvous meet{.rank = rank, .world_size = 3};
    meet.master_port = port;
    const auto group = comm::make_group(meet, {.join_timeout = 20s, .stall_timeout = 20s, .folder = folder.path()},
                                        comm::testing::loopback_stores());
    said << (rank == 2 ? slow_stranger(*group) : member(*group)) << std::flush;
  } catch (const Error& error) {
    said << error.what() << std::flush;
  }
  _exit(0);
}

TEST(Agreement, WhoIsRefusedHasReadWhyBeforeTheOthersGoOn) {
  const TemporaryFolder folder;
  const int probe = comm::listen_at("127.0.0.1", 0), port = comm::port_of(probe);
  close(probe);
  std::vector<pid_t> workers;
  for (int rank = 0; rank < 3; ++rank) {
    workers.push_back(fork());
    if (workers.back() == 0) play(rank, port, folder);
  }
  std::vector<std::string> said;
  for (int rank = 0; rank < 3; ++rank) {
    waitpid(workers[static_cast<size_t>(rank)], nullptr, 0);
    std::ifstream file(folder / std::to_string(rank));
    said.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  EXPECT_EQ(said[2], R"([2,"another job"])");
  for (const size_t rank : {0, 1}) EXPECT_EQ(said[rank], "on with 2");
}

}  // namespace
}  // namespace linac::train
