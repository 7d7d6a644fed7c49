#include "linac/base/job/job_paths.h"

#include <gtest/gtest.h>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/temporary_folder.h"
#include "linac/base/job/job.h"

namespace linac::job {
namespace {

namespace fs = std::filesystem;

constexpr const char* kText = "model: {kind: keras, file: m.keras}\ndata: {train: ['*.h5'], targets: [{column: y}]}\n";

class JobPaths : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const auto& folder : {jobs(), work()}) fs::create_directories(folder);
    write_file_atomically(jobs() / "m.keras", "");
  }
  fs::path jobs() const { return folder_.path() / "jobs"; }
  fs::path work() const { return folder_.path() / "work"; }
  Job placed(const std::vector<std::string>& overrides = {}) const {
    const PathPlaces places{jobs(), work()};
    return parse_job(kText, "job.yaml", overrides, &places);
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(JobPaths, LieBesideTheJobFileOrElseInTheWorkingFolder) {
  write_file_atomically(work() / "a.h5", "");
  const Job job = placed();
  EXPECT_EQ(job.model.as<KerasSettings>().file, (jobs() / "m.keras").string());
  EXPECT_EQ(job.data.train.front(), "*.h5");
  write_file_atomically(jobs() / "b.h5", "");
  EXPECT_EQ(placed().data.train.front(), (jobs() / "*.h5").string());
}

TEST_F(JobPaths, OfOverridesAreThoseOfTheWorkingFolder) {
  write_file_atomically(jobs() / "a.h5", "");
  const Job job = placed({"model.file=m.keras", "data.train=a.h5"});
  EXPECT_EQ(job.model.as<KerasSettings>().file, "m.keras");
  EXPECT_EQ(job.data.train.front(), "a.h5");
}

TEST_F(JobPaths, ThatLeadNowhereNameBothPlaces) {
  try {
    placed();
    FAIL() << "the pattern matches nothing";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kData);
    const std::string message = error.what();
    EXPECT_NE(message.find("data.train = *.h5"), std::string::npos) << message;
    EXPECT_NE(message.find(jobs().string()), std::string::npos) << message;
    EXPECT_NE(message.find(work().string()), std::string::npos) << message;
  }
  EXPECT_EQ(placed({"data.train=/else/where.h5"}).data.train.front(), "/else/where.h5");
}

TEST_F(JobPaths, OfARunCountFromWhereItWasStarted) {
  write_file_atomically(work() / "a.h5", "");
  EXPECT_EQ(path_from(work(), "a.h5"), (work() / "a.h5").string());
  EXPECT_EQ(path_from(work(), "*.h5"), (work() / "*.h5").string());
  EXPECT_EQ(path_from(work(), "b.h5"), "b.h5");
  EXPECT_EQ(path_from(work(), "/a.h5"), "/a.h5");
  EXPECT_EQ(path_from(work(), "s3://a.h5"), "s3://a.h5");
  EXPECT_EQ(path_from("", "a.h5"), "a.h5");
}

TEST(JobPathsOfAResume, AreTheSameFileSeenFromAnotherFolder) {
  EXPECT_TRUE(may_be_one_file("data/a.h5", "/home/me/data/a.h5"));
  EXPECT_TRUE(may_be_one_file("../data/a.h5", "data/a.h5"));
  EXPECT_FALSE(may_be_one_file("data/a.h5", "/home/me/data/b.h5"));
  EXPECT_FALSE(may_be_one_file("data/a.h5", "/home/me/old-data/a.h5"));
  EXPECT_FALSE(may_be_one_file("/v1/data/a.h5", "/v2/data/a.h5"));
}

}  // namespace
}  // namespace linac::job
