#include "linac/control/execution/submission.h"

#include <gtest/gtest.h>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/temporary_folder.h"
#include "linac/control/catalog/records.h"

namespace linac::execution {
namespace {

TEST(Submission, FindsFilesBesideTheJobAndInTheDirectory) {
  const TemporaryFolder root;
  for (const char* const file : {"jobs/a.h5", "work/b.h5"}) {
    std::filesystem::create_directories((root / file).parent_path());
    write_file_atomically(root / file, "x");
  }
  SubmissionRequest request;
  request.job = "data: {train: [a.h5, b.h5]}\n";
  request.folder = (root / "jobs").string();
  request.directory = (root / "work").string();
  request.overrides = {"data.test=b.h5"};
  const launch::Demand all{.cores = 8, .memory_mb = 1000, .gpus = 0};
  PreparedJob prepared = prepare(request, all, false).front();
  EXPECT_EQ(prepared.problem, "");
  const auto has = [&](const char* file) { return prepared.job.find((root / file).string()) != std::string::npos; };
  EXPECT_TRUE(has("jobs/a.h5") && has("work/b.h5")) << prepared.job;

  request.job = "data: {train: [c.h5]}\n";
  prepared = prepare(request, all, false).front();
  EXPECT_NE(prepared.problem.find("neither beside the job file"), std::string::npos) << prepared.problem;
}

TEST(Submission, AsksForTheGpusThatItsWorkersDrive) {
  const TemporaryFolder root;
  write_file_atomically(root / "a.h5", "x");
  SubmissionRequest request;
  request.job = "data: {train: [a.h5]}\ntrain: {device: cuda}\n";
  request.directory = root.path().string();
  const launch::Demand all{.cores = 8, .memory_mb = 1000, .gpus = 8};
  EXPECT_EQ(prepare(request, all, false).front().wishes.resources.gpus, 1);
  request.overrides = {"workers=2", "distribution.devices_per_worker=3"};
  EXPECT_EQ(prepare(request, all, false).front().wishes.resources.gpus, 6);
}

TEST(Submission, NamesOneOfManyByItsSettings) {
  EXPECT_EQ(name_of_member("seeds", "3", {"train.seed=3", "train.optimizer.lr=0.01"}), "seeds-3 seed=3 lr=0.01");
  EXPECT_EQ(name_of_member("two", "0001", {"a.lr=1", "b.lr=2", "c=3.5"}), "two-0001 a.lr=1 b.lr=2 c=3.5");
  EXPECT_EQ(name_of_member("files", "1", {"model.file=/a.b/c.keras", "name=x\ny"}),
            "files-1 file=/a.b/c.keras name=x y");
  EXPECT_EQ(name_of_member("long", "1", {"seed=1", "text=" + std::string(200, 'x'), "lr=2"}), "long-1 seed=1 ...");
  const std::string longest(catalog::kNameMax - 3, 'n');
  EXPECT_EQ(name_of_member(longest, "1", {"seed=1"}), longest + "-1") << "no longer than a name may be";
}

TEST(Submission, PatternsFindNothingOfOthersAtTheService) {
  const TemporaryFolder root;
  const std::string run(32, 'a'), data = std::filesystem::canonical(root.path());
  for (const std::string& file :
       {"artifacts/1/" + run + "/artifacts/a.h5", std::string("artifacts/models/secret/01/m.h5")}) {
    std::filesystem::create_directories((root / file).parent_path());
    write_file_atomically(root / file, "x");
  }
  SubmissionRequest request;
  const launch::Demand all{.cores = 8, .memory_mb = 1000, .gpus = 0};
  const auto problem = [&](const std::string& pattern, const std::string& folder) {
    request.job = "data: {train: ['" + pattern + "']}\n";
    request.folder = request.directory = folder;
    return prepare(request, all, false).front().problem;
  };
  const auto same_as_nothing = [&](const std::string& there, const std::string& none, const std::string& folder) {
    std::string told = problem(there, folder), wanted = problem(none, folder);
    told.replace(told.find(there), there.size(), none);
    EXPECT_EQ(told, wanted);
  };
  EXPECT_EQ(problem(data + "/artifacts/models/s*/*/*.h5", "/"), "");
  request.hidden = data;
  same_as_nothing(data + "/artifacts/models/s*/*/*.h5", data + "/artifacts/models/x*/*/*.h5", "/");
  same_as_nothing("models/s*/*/*.h5", "models/x*/*/*.h5", data + "/artifacts");
  same_as_nothing(data + "/artifacts/1/a*/artifacts/*", data + "/artifacts/1/b*/artifacts/*", "/");
  EXPECT_EQ(problem(data + "/artifacts/1/" + run + "/artifacts/*.h5", "/"), "");
}

}  // namespace
}  // namespace linac::execution
