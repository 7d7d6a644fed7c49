#include "linac/base/base/shell_word.h"

#include <gtest/gtest.h>

namespace linac {
namespace {

TEST(ShellWord, IsQuotedWhereAShellWouldReadSomethingElse) {
  EXPECT_EQ(shell_word("runs/a-1/models/model.keras"), "runs/a-1/models/model.keras");
  EXPECT_EQ(shell_word("data/*.h5"), "'data/*.h5'");
  EXPECT_EQ(shell_word("~/my data"), "'~/my data'");
  EXPECT_EQ(shell_word("it's"), R"('it'\''s')");
  EXPECT_EQ(shell_word(""), "''");
}

}  // namespace
}  // namespace linac
