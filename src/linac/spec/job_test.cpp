#include "linac/spec/job.h"

#include <gtest/gtest.h>

#include "linac/base/error.h"

namespace linac::spec {
namespace {

constexpr const char* kSmall = "data: {train: [a.h5]}\ntrain: {epochs: 2, optimizer: {lr: 0.5}}\n";

std::string message(const std::string& text, const std::vector<std::string>& overrides = {}) {
  try {
    parse_job(text, "job.yaml", overrides);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUser);
    return error.what();
  }
  return "no error";
}

TEST(Job, ReadsWritesAndReadsAgain) {
  const Job job = parse_job(kSmall, "job.yaml",
                            {"train.schedule.drops=[{epoch: 3, factor: 0.5}]", "train.lr=0.25", "data.test=b.h5"});
  EXPECT_EQ(job.train.epochs, 2);
  EXPECT_EQ(job.train.optimizer.lr, 0.25);
  EXPECT_EQ(job.data.test, (std::vector<std::string>{"b.h5"}));
  ASSERT_EQ(job.train.schedule.drops.size(), 1U);
  EXPECT_EQ(job.train.schedule.drops[0].epoch, 3);
  EXPECT_EQ(to_yaml(parse_job(to_yaml(job), "again", {})), to_yaml(job));
  const std::string text = to_yaml(parse_job(kSmall, "job.yaml", {"train.lr=1e-3"}));
  EXPECT_NE(text.find("lr: 0.001\n"), std::string::npos) << text;
}

TEST(Job, NamesTheNearestKeyAndTheLine) {
  EXPECT_NE(message("data: {train: [a.h5]}\ntrain:\n  epoch: 3\n")
                .find("job.yaml:3: unknown key 'train.epoch'; did you mean 'train.epochs'?"),
            std::string::npos);
  EXPECT_NE(message(kSmall, {"train.optimizer.name=adm"}).find("did you mean adam?"), std::string::npos);
}

TEST(Job, RefusesWhatCannotBe) {
  EXPECT_NE(message("data: {train: []}").find("data.train names no file"), std::string::npos);
  EXPECT_NE(message(kSmall, {"workers=3"}).find("more than train.replicas"), std::string::npos);
  EXPECT_NE(message(kSmall, {"train.batch=some"}).find("is not an integer"), std::string::npos);
  EXPECT_NE(message(kSmall, {"train.flip=0.7"}).find("train.flip"), std::string::npos);
  EXPECT_NE(message(kSmall, {"nonsense"}).find("expected key=value"), std::string::npos);
  EXPECT_NE(message("[1, 2]").find("not a job file"), std::string::npos);
}

}  // namespace
}  // namespace linac::spec
