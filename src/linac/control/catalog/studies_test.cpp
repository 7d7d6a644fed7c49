#include "linac/control/catalog/studies.h"

#include <gtest/gtest.h>

#include "linac/control/catalog/experiments.h"
#include "linac/control/catalog/test_catalog.h"

namespace linac::catalog {
namespace {

class StudiesTest : public RecordsTest {
 protected:
  int64_t make(const std::string& name, const std::string& user, int64_t experiment = 0) {
    return create_study(db(), {.name = name, .user = user, .experiment = experiment, .file = "search: {}"}, "first");
  }
  std::vector<std::string> names_for(const Viewer& viewer, const std::string& user = "") {
    std::vector<std::string> names;
    for (const StudyRecord& one : studies(db(), viewer, user, 0, 10)) names.push_back(one.name);
    return names;
  }
};
LINAC_BOTH_DATABASES(StudiesTest);

TEST_P(StudiesTest, KeepsLinesInTheirOrder) {
  const int64_t number = make("mine", "ann");
  append_study_line(db(), number, 2, "second");
  EXPECT_EQ(refusal([&] { append_study_line(db(), number, 2, "again"); }), RefusalKind::kState);
  EXPECT_EQ(refusal([&] { append_study_line(db(), number, 4, "too far"); }), RefusalKind::kState);
  EXPECT_EQ(study_lines(db(), number, 0, 10), (std::vector<std::string>{"first", "second"}));
  EXPECT_EQ(study_lines(db(), number, 1, 10), std::vector<std::string>{"second"});
  EXPECT_EQ(study_lines(db(), number, 0, 1), std::vector<std::string>{"first"});
  EXPECT_EQ(study(db(), "mine").lines, 2);
  set_study_counts(db(), number, 5, 3);
  set_study_file(db(), number, "search: {x: {}}");
  EXPECT_EQ(study(db(), "mine").trials, 5);
  EXPECT_EQ(study(db(), "mine").told, 3);
  EXPECT_EQ(study(db(), "mine").file, "search: {x: {}}");
}

TEST_P(StudiesTest, OneHolderATrial) {
  const int64_t number = make("mine", "ann"), other = make("other", "ann");
  set_study_lease(db(), number, {2, "a", 100, 1});
  set_study_lease(db(), number, {1, "b", 100, 1});
  set_study_lease(db(), number, {2, "c", 200, 2});
  const auto leases = study_leases(db(), number);
  ASSERT_EQ(leases.size(), 2u);
  EXPECT_EQ(leases[0].holder, "b");
  EXPECT_EQ(leases[1].holder, "c");
  EXPECT_EQ(leases[1].until_ms, 200);
  EXPECT_EQ(leases[1].given, 2);
  remove_study_lease(db(), number, 2);
  EXPECT_EQ(study_leases(db(), number).size(), 1u);
  EXPECT_TRUE(study_leases(db(), other).empty());
}

TEST_P(StudiesTest, GoesWithItsLinesAndLeasesAndFreesItsName) {
  const int64_t number = make("mine", "ann"), other = make("other", "ann");
  append_study_line(db(), number, 2, "{}");
  set_study_lease(db(), number, {1, "b", 100, 1});
  set_study_lease(db(), other, {1, "b", 100, 1});
  remove_study(db(), number);
  EXPECT_FALSE(find_study(db(), "mine"));
  EXPECT_TRUE(study_lines(db(), number, 0, 10).empty());
  EXPECT_TRUE(study_leases(db(), number).empty());
  EXPECT_EQ(study_lines(db(), other, 0, 10).size(), 1u);
  EXPECT_EQ(study_leases(db(), other).size(), 1u);
  const int64_t again = make("mine", "bob");
  EXPECT_EQ(study_lines(db(), again, 0, 10).size(), 1u);
}

TEST_P(StudiesTest, IsSeenByWhoMayReadItsExperiment) {
  const int64_t shared = create_experiment(db(), "e", "", {}, "ann", Visibility::kShared);
  make("open", "ann", shared);
  make("hidden", "ann");
  make("own", "bob");
  EXPECT_EQ(names_for({"bob"}), (std::vector<std::string>{"own", "open"}));
  EXPECT_EQ(names_for({"bob"}, "ann"), std::vector<std::string>{"open"});
  EXPECT_EQ(names_for(Viewer::of_all()), (std::vector<std::string>{"own", "hidden", "open"}));
  EXPECT_FALSE(may_read({"bob"}, *audience_of_study(db(), "hidden")));
  EXPECT_TRUE(may_read({"bob"}, *audience_of_study(db(), "open")));
  EXPECT_FALSE(audience_of_study(db(), "none"));
  EXPECT_EQ(refusal([&] { refuse_hidden_study_name(db(), {"bob"}, "hidden"); }), RefusalKind::kDenied);
  EXPECT_EQ(refusal([&] { make("hidden", "bob"); }), RefusalKind::kExists);
  EXPECT_EQ(refusal([&] { study(db(), "none"); }), RefusalKind::kNotFound);
  for (const char* name : {"", ".x", "a/b", "a b", "-x", "a\n"})
    EXPECT_EQ(refusal([&] { make(name, "bob"); }), RefusalKind::kInvalid) << name;
}

}  // namespace
}  // namespace linac::catalog
