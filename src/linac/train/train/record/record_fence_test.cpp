#include "linac/train/train/record/record_fence.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/base/base/temporary_folder.h"
#include "linac/base/base/test_errors.h"
#include "linac/train/train/record/run_folder.h"

namespace linac::train {
namespace {

namespace fs = std::filesystem;
using storage::LocalClaim;
using storage::TakeOver;

constexpr int kWell = 0, kLate = 10, kTakenOver = 11, kOther = 12;

std::string step_line(const std::string& who) {
  job::StepLine line;
  line.step = line.global_step = 1;
  line.loss = {{who, 1.0}};
  return job::to_text(line) + "\n";
}

// All ways in which a worker writes for the others.
void write_all(const fs::path& folder, const RecordFence& fence, const std::string& who) {
  write_file_atomically(folder / "checkpoints" / "best.safetensors", who);
  fill_folder(folder / "models", [&](const fs::path& models) { write_file_atomically(models / "own.bin", who); });
  RunFolder run(folder);
  run.set_check([&] { fence.check(); });
  run.cut_metrics(0, 0);
  job::StepLine line;
  line.step = line.global_step = 1;
  line.loss = {{who, 1.0}};
  run.add_metrics(line);
  write_file_atomically(folder / "run.json", who);
}

void remove_remains(const fs::path& folder, const RecordFence& fence) {
  for (const char* in : {"", "checkpoints", "models"}) fence.files().remove_remains(folder / in);
}

std::set<std::string> half_written(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.path().filename().string().find(".tmp.") != std::string::npos) names.insert(entry.path().string());
  return names;
}

// What a worker's process does from enter() on, as its exit status.
int first_writer(const fs::path& folder, const std::string& claim) {
  try {
    RecordFence fence(folder, claim);
    fence.enter(1, RecordFence::First::kYes);
    remove_remains(folder, fence);
    write_all(folder, fence, "old");
    return kWell;
  } catch (const Error& error) {
    return error.code() == ErrorCode::kPeerLost ? kLate : error.code() == ErrorCode::kUser ? kTakenOver : kOther;
  }
}

/// A process that is halted at system calls.
class Halted {
 public:
  explicit Halted(const std::function<int()>& work) : process_(::fork()) {
    if (process_ == 0) {
      ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
      ::raise(SIGSTOP);
      ::_exit(work());
    }
    wait();
  }
  ~Halted() {
    if (ended_) return;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  Halted(const Halted&) = delete;
  Halted& operator=(const Halted&) = delete;

  /// Goes on to the beginning of its next one; false: it has ended.
  bool to_next_call() {
    for (int stops = std::exchange(in_call_, true) ? 2 : 1; stops > 0 && !ended_; --stops) {
      ::ptrace(PTRACE_SYSCALL, process_, nullptr, nullptr);
      wait();
    }
    return !ended_;
  }
  /// Goes on to its end: its exit status.
  int wake() {
    while (!ended_) {
      ::ptrace(PTRACE_CONT, process_, nullptr, nullptr);
      wait();
    }
    return status_;
  }
  int status() const { return status_; }

 private:
  void wait() {
    int status = 0;
    ASSERT_EQ(::waitpid(process_, &status, 0), process_);
    if (WIFSTOPPED(status)) return;
    ended_ = true;
    status_ = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  pid_t process_;
  bool in_call_ = false, ended_ = false;
  int status_ = -1;
};

enum class Next { kView, kStart };
enum class Fate { kDies, kWakes };

/// A writer that is halted at its `call`-th system call; another one takes its place, and only then it goes on or dies.
/// False: it ends before that call.
bool round(int call, Next next, Fate fate) {
  const TemporaryFolder root;
  const fs::path folder = root.path();
  for (const char* in : {"checkpoints", "models"}) make_folder(folder / in);
  auto claim = std::make_unique<LocalClaim>(folder, TakeOver::kIfLeft, "", LocalClaim::kNoThread);
  const std::string token = claim->token();
  Halted first([&] { return first_writer(folder, token); });
  for (int i = 0; i < call; ++i)
    if (!first.to_next_call()) {
      EXPECT_EQ(first.status(), kWell);
      return false;
    }
  int64_t view = 2;
  if (next == Next::kStart) {
    claim = std::make_unique<LocalClaim>(folder, TakeOver::kAtOnce, "", LocalClaim::kNoThread);
    remove_writers_marks(folder);
    view = 1;
  }
  RecordFence second(folder, claim->token());
  second.enter(view, RecordFence::First::kNo);
  remove_remains(folder, second);
  write_all(folder, second, "new");
  const std::string where = fmt::format("system call {}, {}, {}", call, next == Next::kView ? "view" : "start",
                                        fate == Fate::kDies ? "dies" : "wakes");
  if (fate == Fate::kWakes) {
    const int status = first.wake();
    EXPECT_TRUE(status == kWell || status == (next == Next::kView ? kLate : kTakenOver)) << where << ": " << status;
  }
  EXPECT_EQ(read_file(folder / "checkpoints" / "best.safetensors"), "new") << where;
  EXPECT_EQ(read_file(folder / "models" / "own.bin"), "new") << where;
  EXPECT_EQ(read_file(folder / "run.json"), "new") << where;
  EXPECT_EQ(read_file(folder / "metrics.jsonl"), step_line("new")) << where;
  EXPECT_TRUE(half_written(folder).empty()) << where << ": " << *half_written(folder).begin();
  second.check();
  return true;
}

class AtEverySystemCall : public ::testing::TestWithParam<std::pair<Next, Fate>> {};

TEST_P(AtEverySystemCall, TheNextWritersFilesStay) {
  const auto [next, fate] = GetParam();
  int call = 1;
  while (round(call, next, fate) && !HasFailure()) ++call;
  EXPECT_GT(call, 40);
}

INSTANTIATE_TEST_SUITE_P(RecordFence, AtEverySystemCall,
                         ::testing::Values(std::pair(Next::kView, Fate::kDies), std::pair(Next::kView, Fate::kWakes),
                                           std::pair(Next::kStart, Fate::kDies),
                                           std::pair(Next::kStart, Fate::kWakes)));

TEST(RecordFence, SaysWhetherOthersWroteMeanwhile) {
  const TemporaryFolder root;
  const LocalClaim claim(root.path(), TakeOver::kIfLeft);
  RecordFence one(root.path(), claim.token()), other(root.path(), claim.token());
  EXPECT_FALSE(one.enter(1, RecordFence::First::kYes));
  EXPECT_FALSE(one.enter(2, RecordFence::First::kNo)) << "itself";
  other.enter(3, RecordFence::First::kNo);
  EXPECT_TRUE(one.enter(5, RecordFence::First::kNo));
  EXPECT_FALSE(one.enter(7, RecordFence::First::kNo));
  EXPECT_THROW(other.enter(6, RecordFence::First::kNo), Error) << "the view is over";
}

TEST(RecordFence, MakesNoRemovedFolderAnew) {
  const TemporaryFolder root;
  const fs::path folder = root / "run";
  const LocalClaim claim(folder, TakeOver::kIfLeft);
  RecordFence fence(folder, claim.token()), next(folder, claim.token());
  fence.enter(1, RecordFence::First::kYes);
  fs::rename(folder, root / "away");
  fs::create_directories(folder / "checkpoints");
  for (const auto& act : std::vector<std::function<void()>>{[&] { write_all(folder, fence, "old"); },
                                                            [&] { next.enter(2, RecordFence::First::kNo); }})
    expect_in(message_of(ErrorCode::kEnvironment, act), {"removed under the run"});
  EXPECT_TRUE(half_written(root.path()).empty());
  EXPECT_FALSE(fs::exists(folder / "checkpoints" / "best.safetensors"));
}

// Nobody of the run has written there, on a host that shares no folder with the others.
TEST(RecordFence, ClaimsAFolderOfItsOwn) {
  const TemporaryFolder root;
  const std::string token = storage::draw_claim_token();
  RecordFence fence(root.path(), "");
  fence.share(token);
  fence.enter(4, RecordFence::First::kYes);
  EXPECT_EQ(storage::local_claim_of(root.path()).token, token);
  EXPECT_THROW(LocalClaim(root.path(), TakeOver::kIfLeft), Error);
}

}  // namespace
}  // namespace linac::train
