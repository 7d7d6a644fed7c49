#include "linac/control/catalog/study_jobs.h"

#include <gtest/gtest.h>

#include "linac/control/catalog/test_catalog.h"

namespace linac::catalog {
namespace {

class StudyJobsTest : public RecordsTest {
 protected:
  int64_t make(const std::string& name) {
    return create_study(db(), {.name = name, .user = "ann", .file = "search: {}"}, "first");
  }
  std::string job(int64_t study, int64_t trial) {
    NewRun run;
    run.user = "ann";
    const std::string id = submit(db(), run, "job", {}, "");
    add_study_job(db(), study, trial, id);
    return id;
  }
};
LINAC_BOTH_DATABASES(StudyJobsTest);

TEST_P(StudyJobsTest, StandsAsItWasSubmittedLast) {
  const int64_t number = make("rates");
  EXPECT_FALSE(submitted_study(db(), number));
  submit_study(db(), number, "wishes");
  const auto first = submitted_study(db(), number);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->study.name, "rates");
  EXPECT_EQ(first->state, StudyState::kRunning);
  EXPECT_FALSE(set_study_state(db(), number, first->submitted_ms - 1, StudyState::kDone, "")) << "of another time";
  EXPECT_TRUE(set_study_state(db(), number, first->submitted_ms, StudyState::kRunning, "waits"));
  EXPECT_TRUE(set_study_state(db(), number, first->submitted_ms, StudyState::kStopped, "by hand"));
  EXPECT_FALSE(set_study_state(db(), number, first->submitted_ms, StudyState::kDone, "")) << "it does not run";
  EXPECT_EQ(submitted_study(db(), number)->reason, "by hand");
  EXPECT_EQ(submitted_studies(db()), std::vector<std::string>{"rates"});
  submit_study(db(), number, "others");
  EXPECT_EQ(submitted_study(db(), number)->wishes, "others");
  EXPECT_EQ(submitted_study(db(), number)->reason, "");
  EXPECT_TRUE(set_study_state(db(), number, submitted_study(db(), number)->submitted_ms, StudyState::kDone, ""));
  EXPECT_TRUE(submitted_studies(db()).empty());
}

TEST_P(StudyJobsTest, OneRunATrialThatEndsOnce) {
  const int64_t number = make("rates");
  const std::string run = job(number, 1), other = job(number, 2);
  EXPECT_EQ(refusal([&] { add_study_job(db(), number, 1, other); }), RefusalKind::kState);
  EXPECT_EQ(study_jobs(db(), number, 0, 10).size(), 2u);
  EXPECT_EQ(study_jobs(db(), number, 1, 10).front().run, other);
  EXPECT_FALSE(study_job(db(), number, 3));
  const StudyJob first = *study_job(db(), number, 1);
  EXPECT_TRUE(first.under_way);
  EXPECT_TRUE(end_study_job(db(), number, first, StudyEnding::kStopped, "by hand"));
  EXPECT_FALSE(end_study_job(db(), number, first, StudyEnding::kPruned, "too late"));
  const StudyJob stopped = *study_job(db(), number, 1);
  EXPECT_EQ(stopped.state, RunState::kCancelled);
  EXPECT_EQ(stopped.ending, StudyEnding::kStopped);
  EXPECT_EQ(stopped.why, "by hand");
  EXPECT_FALSE(stopped.under_way);
  ASSERT_EQ(study_jobs_under_way(db(), number).size(), 1u);
  resume_study_job(db(), number, stopped);
  EXPECT_EQ(study_job(db(), number, 1)->ending, StudyEnding::kNone);
  EXPECT_EQ(study_jobs_under_way(db(), number).size(), 2u);
  forget_study_job(db(), number, 1);
  EXPECT_FALSE(study_job(db(), number, 1));
  EXPECT_EQ(queued_job(db(), run).state, RunState::kPending) << "the run itself stays";
}

}  // namespace
}  // namespace linac::catalog
