#include "linac/train/comm/membership/view_ledger.h"

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>

#include "linac/base/base/temporary_folder.h"

namespace linac::comm {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

View view(const std::string& address) {
  View made;
  made.number = 1;
  made.members.emplace_back().address = address;
  return made;
}

TEST(ViewLedger, TheLatestViewIsThatOfTheHighestNumberWhateverClocksSay) {
  const TemporaryFolder folder;
  EXPECT_TRUE(ViewLedger::join_addresses(folder.path()).empty());
  std::string run;
  auto noted = fs::file_time_type::clock::now();
  for (int sitting = 1; sitting <= 11; ++sitting) {
    run = ViewLedger::next_run(folder.path());
    EXPECT_EQ(run.substr(0, run.find('r') + 1), "s" + std::to_string(sitting) + "r");
    for (const int64_t number : {1, 9, 10}) {
      ViewLedger(folder.path(), run).note(number, view("h:" + std::to_string(100 * sitting + number)));
      // A clock that is set back: each file is older than the one before.
      for (const auto& entry : fs::directory_iterator(folder.path()))
        if (entry.path().filename().string().starts_with(run)) fs::last_write_time(entry.path(), noted -= 1h);
    }
  }
  // What others leave here is not read.
  for (const char* name : {"s99r0-after-1.json.tmp", ".s99r0-after-000001.json-00", "notes.json", "s99rX-after-1.json"})
    std::ofstream(folder / name) << "{}";
  EXPECT_EQ(ViewLedger::join_addresses(folder.path()), std::vector<std::string>{run + "@h:1110"});
  EXPECT_NE(ViewLedger::next_run(folder.path()), ViewLedger::next_run(folder.path()));
  EXPECT_TRUE(ViewLedger::next_run("").starts_with("s1r"));
}

}  // namespace
}  // namespace linac::comm
