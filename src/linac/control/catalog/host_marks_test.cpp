#include "linac/control/catalog/host_marks.h"

#include <gtest/gtest.h>

#include "linac/base/base/clock.h"
#include "linac/base/base/host.h"
#include "linac/control/catalog/queue.h"
#include "linac/control/catalog/test_catalog.h"

namespace linac::catalog {
namespace {

using Names = std::vector<std::string>;

class HostMarksTest : public RecordsTest {
 protected:
  void mark(const std::string& host, const std::string& user, const std::string& what = "why") {
    mark_host(db(), {.host = host, .user = user, .worker = "rank 1", .core = "", .what = what, .run = "r"});
  }
  void submit_to(const std::string& place, const std::string& user) {
    NewRun run;
    run.name = user;
    run.user = user;
    Wishes wishes;
    wishes.place = place;
    submit(db(), run, "train: {}", wishes, "");
  }
  /// Whose job begins there, "": nobody's.
  std::string next(const std::string& place, const std::string& host) {
    constexpr Resources kAll{.cores = 4, .memory_mb = 8000, .gpus = 1};
    const auto attempt = start_next(db(), {.all = kAll, .free = kAll, .place = place, .host = host}, now_ms());
    return attempt ? attempt->job.user : "";
  }
};
LINAC_BOTH_DATABASES(HostMarksTest);

TEST_P(HostMarksTest, BindOneUsersJobsOrEverybodys) {
  mark("n04", "ann");
  mark("n05", "");
  mark("n04", "ann", "another reason");
  ASSERT_EQ(host_marks(db()).size(), 2U) << "one takes the other's place";
  EXPECT_EQ(host_marks(db())[0].what, "another reason");
  EXPECT_EQ(hosts_to_avoid(db(), "ann"), (Names{"n04", "n05"}));
  EXPECT_EQ(hosts_to_avoid(db(), "bob"), Names{"n05"});
  mark("n04", "");
  clear_host(db(), "n04");
  EXPECT_EQ(hosts_to_avoid(db(), "ann"), Names{"n05"}) << "all marks of the host";
  EXPECT_EQ(refusal([&] { clear_host(db(), "n04"); }), RefusalKind::kNotFound);
}

TEST_P(HostMarksTest, NoJobThatTheyBindBeginsThere) {
  submit_to(kPilots, "ann");
  submit_to(kPilots, "bob");
  mark("n04", "ann");
  mark("n05", "");
  EXPECT_EQ(next(kPilots, "n05"), "");
  EXPECT_EQ(next(kPilots, "n04"), "bob");
  EXPECT_EQ(next(kPilots, "n04"), "");
  EXPECT_EQ(next(kPilots, "n06"), "ann");
}

TEST_P(HostMarksTest, AJobOfTheServicesOwnHostWaitsAndSaysWhy) {
  submit_to(kOwnHost, "ann");
  mark(host_name(), "bob");
  EXPECT_EQ(queue(db()).front().held_by, "");
  mark(host_name(), "");
  EXPECT_NE(queue(db()).front().held_by.find("linac hosts clear " + host_name()), std::string::npos);
  EXPECT_EQ(next(kOwnHost, ""), "");
  clear_host(db(), host_name());
  EXPECT_EQ(next(kOwnHost, ""), "ann");
}

// What a run says is a stranger's word.
TEST_P(HostMarksTest, NamesAndNumbersHaveBounds) {
  for (const std::string& host : {std::string(), std::string("a b"), std::string("n04\n"), std::string("<b>"),
                                  std::string(300, 'n'), std::string("n\xC3\xB6")})
    EXPECT_EQ(refusal([&] { mark(host, "ann"); }), RefusalKind::kInvalid) << host;
  mark("n04", "ann", std::string(100000, 'x') + "\x1b[31m");
  EXPECT_LE(host_marks(db())[0].what.size(), 200U);
  for (size_t i = 1; i < kHostMarksMax; ++i) mark("n" + std::to_string(1000 + i), "ann");
  EXPECT_EQ(refusal([&] { mark("m", "ann"); }), RefusalKind::kLimit);
  mark("n04", "ann", "again");
  mark("m", "bob");
  EXPECT_EQ(hosts_to_avoid(db(), "bob"), Names{"m"});
}

}  // namespace
}  // namespace linac::catalog
