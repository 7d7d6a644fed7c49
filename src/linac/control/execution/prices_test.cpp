#include "linac/control/execution/prices.h"

#include <gtest/gtest.h>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/base/base/temporary_folder.h"

namespace linac::execution {
namespace {

TEST(Prices, ANumberIsOfACore) {
  const Prices prices = Prices::of_text("0.02");
  EXPECT_TRUE(prices.known());
  EXPECT_NEAR(prices.of({.cores = 4, .memory_mb = 100, .gpus = 2}, 1800), 0.04, 1e-12);
  EXPECT_FALSE(Prices::of_text("0").known());
}

TEST(Prices, AFileHasThemAll) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "p.yaml", "core: 0.01\ngpu: 1.5\nmemory_gb: 0.001\ncurrency: CHF\n");
  const Prices prices = Prices::of_text((folder / "p.yaml").string());
  EXPECT_EQ(prices.currency, "CHF");
  EXPECT_NEAR(prices.of({.cores = 2, .memory_mb = 4096, .gpus = 1}, 3600), 0.02 + 1.5 + 0.004, 1e-12);
}

TEST(Prices, SaysWhatIsWrong) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "p.yaml", "cores: 0.01\n");
  for (const std::string& wrong : {std::string("-1"), std::string("nan"), (folder / "none.yaml").string(),
                                   (folder / "p.yaml").string(), std::string("1x")}) {
    try {
      Prices::of_text(wrong);
      ADD_FAILURE() << wrong;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(wrong), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace linac::execution
