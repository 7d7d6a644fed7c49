#include "linac/base/base/amounts.h"

#include <gtest/gtest.h>

#include "linac/base/base/test_errors.h"

namespace linac {
namespace {

TEST(Amounts, AreReadInTheirUnits) {
  EXPECT_EQ(seconds_of("--time", "90"), 90);
  EXPECT_EQ(seconds_of("--time", "30m"), 1800);
  EXPECT_EQ(seconds_of("--time", "2d"), 172'800);
  EXPECT_EQ(megabytes_of("--memory", "16G"), 16'384);
}

TEST(Amounts, NamesWhatIsNone) {
  for (const char* const text : {"", "h", "-1h", "4 h", "1.5h", "99999999999999999999", "4w"})
    expect_in(message_of([&] { seconds_of("[x] --time", text); }), {"[x] --time", text, "e.g. 90s"});
  expect_in(message_of([&] { megabytes_of("[x] memory", "4T"); }), {"[x] memory 4T"});
}

}  // namespace
}  // namespace linac
