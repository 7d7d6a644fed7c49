#include "linac/train/train/state/checkpoint_writer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <future>

#include "linac/base/base/error.h"
#include "linac/base/base/piece_of_work.h"
#include "linac/base/base/temporary_folder.h"

namespace {
std::atomic<int> refused = -1;  // writes past the cache so far; below 0: none is to be refused
}

// In place of the C library's: a file system that takes no write past the cache, and says so late.
extern "C" ssize_t write(int file, const void* bytes, size_t size) {
  if (refused >= 0 && (fcntl(file, F_GETFL) & O_DIRECT) != 0) {
    ++refused;
    errno = EINVAL;
    return -1;
  }
  return syscall(SYS_write, file, bytes, size);
}

namespace linac::train {
namespace {

namespace fs = std::filesystem;
using std::literals::chrono_literals::operator""ms;
using std::literals::chrono_literals::operator""s;
using Files = CheckpointWriter::Files;

TrainState state_at(int64_t step, int64_t weights = 1000) {
  graph::Parameters parameters;
  parameters.trainable_layout.add("a", {weights});
  parameters.trainable.assign(static_cast<size_t>(parameters.trainable_layout.total), static_cast<float>(step));
  optimizer::Settings settings;
  settings.name = "adam";
  const size_t size = parameters.trainable.size();
  TrainState state;
  state.networks.push_back({"model", std::move(parameters), optimizer::Optimizer(settings, size), {}, {}});
  state.global_step = step;
  return state;
}

/// Holds the thread of a writer where it begins to write, until it is let go.
class SlowDisk {
 public:
  CheckpointWriter::Told told() {
    return [this](const char* what) {
      if (*what == '\0') return;
      begun_ = true;
      free_.wait();
    };
  }
  void let_go() { go_.set_value(); }
  bool begun() const { return begun_; }

 private:
  std::promise<void> go_;
  std::shared_future<void> free_ = go_.get_future().share();
  std::atomic<bool> begun_ = false;
};

fs::path file_of(const TemporaryFolder& folder, int64_t step) {
  return folder.path() / ("step-000000000" + std::to_string(step) + ".safetensors");
}

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kEnvironment);
    return error.what();
  }
  return "";
}

TEST(CheckpointWriter, TheTrainingGoesOnBesideASlowDisk) {
  const TemporaryFolder folder;
  SlowDisk disk;
  CheckpointWriter writer(CheckpointStore(folder.path(), 2), disk.told());
  TrainState state = state_at(1);
  const std::string expected = encode(state, {{"note", 7}});
  writer.save(state, {{"note", 7}}, {.best = true});
  state.networks[0].parameters.trainable.assign(state.networks[0].parameters.trainable.size(), 9.0F);  // the next step
  writer.check();
  EXPECT_FALSE(fs::exists(file_of(folder, 1)));
  disk.let_go();
  writer.wait();
  EXPECT_EQ(read_file(file_of(folder, 1)), expected) << "the state as it was when it was saved";
  EXPECT_EQ(read_file(folder.path() / "best.safetensors"), expected);
}

// train.audit.fault.in = checkpoint, and what every damaged file comes to.
TEST(CheckpointWriter, ABitThatTurnsOverOnTheWayIsToldAndTheOneBeforeIsTaken) {
  const TemporaryFolder folder;
  CheckpointWriter writer(CheckpointStore(folder.path(), 5), [](const char*) {});
  writer.save(state_at(1), {}, {.best = true});
  writer.save(state_at(2), {}, {.best = true, .turned = RngKey{.seed = 3}});
  CheckpointStore& store = writer.store();
  TrainState state = state_at(0);
  std::string said;
  const auto loaded = store.newest_good([&](const CheckpointStore::Loaded& candidate) {
    try {
      decode(candidate.bytes, candidate.path.string(), state);
    } catch (const Error& error) {
      said += error.what();
      throw;
    }
  });
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->path, file_of(folder, 1));
  EXPECT_EQ(state.global_step, 1);
  EXPECT_EQ(state.networks[0].parameters.trainable.front(), 1);
  EXPECT_NE(said.find(file_of(folder, 2).string()), std::string::npos) << said;
  EXPECT_NE(said.find("checksum does not match"), std::string::npos) << said;
  EXPECT_TRUE(fs::exists(file_of(folder, 2).string() + ".damaged"));
  EXPECT_THROW(decode(read_file(folder.path() / "best.safetensors"), "best", state), Error);
}

TEST(CheckpointWriter, AFurtherOneWaitsSoThatEachIsWritten) {
  const TemporaryFolder folder;
  SlowDisk disk;
  CheckpointWriter writer(CheckpointStore(folder.path(), 5), disk.told());
  writer.save(state_at(1), {}, Files{});
  auto second = std::async(std::launch::async, [&] { writer.save(state_at(2), {}, Files{}); });
  EXPECT_EQ(second.wait_for(50ms), std::future_status::timeout) << "memory would hold two copies";
  disk.let_go();
  second.get();
  writer.wait();
  EXPECT_EQ(writer.store().list(), (std::vector<fs::path>{file_of(folder, 1), file_of(folder, 2)}));
}

// Who waits for a large file is not to look like one who hangs.
TEST(CheckpointWriter, WhatIsWrittenIsProgressOfATrainingThatWaits) {
  const TemporaryFolder folder;
  CheckpointWriter writer(CheckpointStore(folder.path(), 5), [](const char*) {});
  const uint64_t before = pieces_of_work;
  writer.save(state_at(1, 3 << 20), {}, Files{});  // 38 MB with what Adam keeps
  writer.wait();
  EXPECT_GT(pieces_of_work, before);
}

// Most of it goes past the system's cache of files, the end never.
TEST(CheckpointWriter, ALargeOneIsWholeWhateverItsFileSystemTakes) {
  const TrainState state = state_at(1, (1 << 20) + 7);
  const std::string expected = encode(state, {});
  for (const bool refuses : {false, true}) {
    const TemporaryFolder folder;
    refused = refuses ? 0 : -1;
    CheckpointWriter writer(CheckpointStore(folder.path(), 2), [](const char*) {});
    writer.prepare(state_at(0, (1 << 20) + 7));
    writer.save(state, {}, Files{});
    writer.wait();
    EXPECT_LE(refused, 1) << "asked once";
    refused = -1;
    EXPECT_TRUE(read_file(file_of(folder, 1)) == expected) << refuses;
  }
}

TEST(CheckpointWriter, WhatCannotBeWrittenIsThrownOnceAndNamesTheFile) {
  const TemporaryFolder folder;
  CheckpointWriter writer(CheckpointStore(folder.path(), 2), [](const char*) {});
  writer.save(state_at(1), {}, Files{});
  writer.wait();
  const fs::path in_the_way = file_of(folder, 2).string() + ".tmp." + std::to_string(getpid());
  fs::create_directory(in_the_way);
  writer.save(state_at(2), {}, Files{});
  EXPECT_NE(message_of([&] { writer.wait(); }).find(file_of(folder, 2).string()), std::string::npos);
  writer.check();
  EXPECT_EQ(writer.store().list(), std::vector<fs::path>{file_of(folder, 1)}) << "the one before is whole";
  writer.save(state_at(2), {}, Files{});
  EXPECT_NE(message_of([&] { writer.save(state_at(3), {}, Files{}); }), "") << "also where the next one is due";
  fs::remove(in_the_way);
}

// A FIFO in place of the file: opening it blocks until somebody reads, and it cannot be synced.
TEST(CheckpointWriter, AFifoInPlaceOfTheFileHoldsNobodyButTheWriter) {
  const TemporaryFolder folder;
  const std::string fifo = file_of(folder, 1).string() + ".tmp." + std::to_string(getpid());
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  std::atomic<int> said = 0;
  CheckpointWriter writer(CheckpointStore(folder.path(), 2), [&](const char*) { ++said; });
  writer.save(state_at(1), {}, Files{});
  while (said == 0) std::this_thread::sleep_for(1ms);
  writer.check();
  const int reader = open(fifo.c_str(), O_RDONLY | O_CLOEXEC);
  char bytes[4096];
  while (read(reader, bytes, sizeof bytes) > 0) {
  }
  close(reader);
  EXPECT_NE(message_of([&] { writer.wait(); }).find(fifo), std::string::npos);
}

TEST(CheckpointWriter, SmallFilesFollowTheirCheckpointAndOfThoseOfOneKindTheLast) {
  const TemporaryFolder folder;
  SlowDisk disk;
  CheckpointWriter writer(CheckpointStore(folder.path(), 2), disk.told());
  std::string written;
  writer.save(state_at(1), {}, Files{});
  for (const char* name : {"a", "b", "c"})
    writer.follow("small", [&, name] { written += name + std::to_string(fs::exists(file_of(folder, 1))); });
  for (const char* name : {"d", "e"}) writer.add("each", [&, name] { written += name; });
  disk.let_go();
  writer.wait();
  EXPECT_EQ(written, "c1de");
}

TEST(CheckpointWriter, WhoAddsFilesFasterThanTheDiskTakesThemWaits) {
  const TemporaryFolder folder;
  SlowDisk disk;
  CheckpointWriter writer(CheckpointStore(folder.path(), 2), disk.told());
  std::atomic<int> written = 0;
  auto adding = std::async(std::launch::async, [&] {
    for (int i = 0; i < 50; ++i) writer.add("each", [&] { ++written; });
  });
  EXPECT_EQ(adding.wait_for(50ms), std::future_status::timeout) << "memory would hold all of them";
  disk.let_go();
  adding.get();
  writer.wait();
  EXPECT_EQ(written, 50);
}

TEST(CheckpointWriter, WhoGivesTheRecordUpPutsNothingInPlace) {
  const TemporaryFolder folder;
  SlowDisk disk;
  CheckpointWriter writer(CheckpointStore(folder.path(), 2), disk.told());
  writer.save(state_at(1), {}, {.best = true});
  while (!disk.begun()) std::this_thread::sleep_for(1ms);
  std::atomic<bool> gives_up = false;
  auto given_up = std::async(std::launch::async, [&] {
    gives_up = true;
    writer.give_up();
  });
  while (!gives_up) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(given_up.wait_for(20ms), std::future_status::timeout);
  disk.let_go();
  given_up.get();
  EXPECT_TRUE(fs::is_empty(folder.path()));
  writer.save(state_at(2), {}, Files{});
  writer.wait();
  EXPECT_EQ(writer.store().list().size(), 1U) << "it keeps the record again";
}

TEST(CheckpointWriter, ItsEndWaitsForWhatIsUnderWay) {
  const TemporaryFolder folder;
  {
    CheckpointWriter writer(CheckpointStore(folder.path(), 2), [](const char*) {});
    writer.save(state_at(1, 1 << 20), {}, Files{});
  }
  EXPECT_TRUE(fs::exists(file_of(folder, 1)));
}

}  // namespace
}  // namespace linac::train
