#include "linac/train/train/record/run_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/base/base/temporary_folder.h"
#include "linac/base/job/step_gaps.h"

namespace linac::train {
namespace {

constexpr int64_t kStepsPerEpoch = 1000;

std::string text_of(const job::RunLine& line) {
  return job::to_text(line) + "\n";
}

std::string step_text(int64_t step) {
  job::StepLine line;
  line.epoch = (step - 1) / kStepsPerEpoch;
  line.step = (step - 1) % kStepsPerEpoch + 1;
  line.global_step = step;
  line.lr = 1e-3;
  line.loss = {{"loss", 1.0 / static_cast<double>(step)}, {"accuracy", 0.5}};
  return text_of(line);
}

std::string epoch_text(int64_t epoch) {
  job::EpochLine line;
  line.epoch = epoch;
  line.global_step = (epoch + 1) * kStepsPerEpoch;
  line.rate = {"events", 1};
  return text_of(line);
}

std::string view_text(int64_t step) {
  job::ViewLine line;
  line.global_step = step;
  return text_of(line);
}

/// A run of so many steps with all their lines, some of workers among them.
std::string record_of(int64_t steps) {
  std::string text = view_text(0);
  for (int64_t step = 1; step <= steps; ++step) {
    text += step_text(step);
    if (step % kStepsPerEpoch == 0) text += epoch_text(step / kStepsPerEpoch - 1);
    if (step % 700 == 0) text += view_text(step);
  }
  return text;
}

uint64_t inode_of(const std::filesystem::path& path) {
  struct stat about {};
  EXPECT_EQ(stat(path.c_str(), &about), 0);
  return about.st_ino;
}

TEST(RunFolder, CutsTheLinesBehindAState) {
  const TemporaryFolder folder;
  RunFolder run(folder.path());
  for (const int64_t stands : {int64_t{0}, int64_t{7}, int64_t{1000}, int64_t{9500}, int64_t{12'345}}) {
    std::ofstream(run.metrics()) << record_of(12'345) << "{\"kind\":\"step\",\"glob";  // and a kill
    const RunFolder::Written written = run.cut_metrics(stands, stands / kStepsPerEpoch);
    EXPECT_EQ(written.step, stands == 0 ? -1 : stands);
    EXPECT_EQ(written.epoch, stands / kStepsPerEpoch - 1);
    std::string expected = record_of(stands);
    for (int64_t step = stands + 1; step <= 12'345; ++step)
      if (step % 700 == 0) expected += view_text(step);  // what speaks of workers stays
    EXPECT_EQ(read_file(run.metrics()), expected) << stands;
  }
}

// What a resume or a new writer reads is the end of the record, however long the run has been.
TEST(RunFolder, ReadsNoFurtherBackThanTheLastEpoch) {
  const TemporaryFolder folder;
  RunFolder run(folder.path());
  const std::string unread = "this line would be dropped if it were read\n";
  const std::string text = record_of(20'000);
  std::ofstream(run.metrics()) << unread << text;
  run.cut_metrics(20'000, 20);
  EXPECT_EQ(read_file(run.metrics()), unread + text);
}

// Who kept the record before may not know yet that it does not any more.
TEST(RunFolder, WhoKeptTheRecordBeforeWritesBesideIt) {
  const TemporaryFolder folder;
  RunFolder before(folder.path()), after(folder.path());
  job::StepLine line;
  line.global_step = 1;
  before.add_metrics(line);
  const uint64_t inode = inode_of(before.metrics());
  EXPECT_EQ(after.cut_metrics(1, 0).step, 1);
  line.global_step = 2;
  before.add_metrics(line);
  EXPECT_NE(inode_of(after.metrics()), inode);
  EXPECT_EQ(after.cut_metrics(2, 0).step, 1);
}

TEST(RunFolder, EndsOfEveryKindAreRead) {
  const TemporaryFolder folder;
  RunFolder run(folder.path());
  EXPECT_EQ(run.cut_metrics(5, 0).step, -1) << "no record yet";
  for (const std::string& end : {std::string(), std::string("\n"), std::string("\n\nhalf"), step_text(3)}) {
    std::string text = step_text(1) + step_text(2) + end;
    if (end == step_text(3)) text.pop_back();  // whole, but for its end
    std::ofstream(run.metrics()) << text;
    const bool third = end == step_text(3);
    EXPECT_EQ(run.cut_metrics(5, 0).step, third ? 3 : 2);
    EXPECT_EQ(read_file(run.metrics()), step_text(1) + step_text(2) + (third ? step_text(3) : ""));
  }
  std::ofstream(run.metrics(), std::ios::trunc).close();
  EXPECT_EQ(run.cut_metrics(5, 0).step, -1) << "an empty one";
}

TEST(RunFolder, KnowsWhichStepsItsLinesDoNotTellOf) {
  const TemporaryFolder folder;
  RunFolder run(folder.path());
  const auto words = [&](const std::string& lines, int64_t step) {
    std::ofstream(run.metrics()) << lines;
    return job::in_words(run.missing_steps(step));
  };
  const std::string begin = view_text(0), two = step_text(1) + step_text(2);
  EXPECT_EQ(words(begin + two, 2), "");
  EXPECT_EQ(words("", 0), "");
  EXPECT_EQ(words("", 2), "steps 1 to 2");
  EXPECT_EQ(words(begin + two, 4), "steps 3 to 4") << "lost at the end";
  EXPECT_EQ(words(begin + two + "{\"kind\":\"step\",\"gl\x01\n" + step_text(4), 4), "step 3");
  EXPECT_EQ(words(begin + step_text(2) + step_text(4) + step_text(6) + step_text(8), 8),
            "step 1, step 3, step 5 and 1 more step");
  EXPECT_EQ(words(view_text(7) + step_text(8), 8), "") << "a branch";
  EXPECT_EQ(words(step_text(8), 8), "steps 1 to 7") << "its begin is lost";
  const std::string told = text_of(job::GapLine{2, 3, 2, 4});
  EXPECT_EQ(words(begin + step_text(1) + step_text(4) + told, 5), "step 5") << "one that was told before";
  std::string every_second = begin;
  for (int64_t step = 2; step <= 1000; step += 2) every_second += step_text(step);
  std::ofstream(run.metrics()) << every_second;
  const auto gaps = run.missing_steps(1000);
  ASSERT_EQ(gaps.size(), job::kGapsMax);
  EXPECT_EQ(gaps.back().last, 999);
  EXPECT_EQ(job::in_words(gaps), "step 1, step 3, step 5 and 497 more steps");
}

// Its lines may lie too far back to be read; run.json is written at each start.
TEST(RunFolder, RefusesTheRecordOfANewerVersion) {
  const TemporaryFolder folder;
  RunFolder run(folder.path());
  std::ofstream(run.metrics()) << record_of(3);
  std::ofstream(folder.path() / job::kSummaryFile) << R"({"record": 999})";
  EXPECT_THROW(run.cut_metrics(3, 0), Error);
  EXPECT_EQ(read_file(run.metrics()), record_of(3));
}

TEST(RunFolder, ARecordThatIsNoFileIsAnErrorThatNamesIt) {
  const TemporaryFolder folder;
  RunFolder run(folder.path());
  ASSERT_EQ(mkfifo(run.metrics().c_str(), 0600), 0);
  try {
    run.cut_metrics(1, 0);
    FAIL() << "a FIFO was read";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kEnvironment);
    EXPECT_NE(std::string(error.what()).find(run.metrics().string()), std::string::npos);
  }
}

}  // namespace
}  // namespace linac::train
