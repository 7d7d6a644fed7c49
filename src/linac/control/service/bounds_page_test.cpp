// docs/reference/bounds.md says what the table says. After a change of it:
//     LINAC_WRITE_PAGES=1 build/dev/bin/service_test --gtest_filter='BoundsPage.*'

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "linac/base/base/atomic_file.h"
#include "linac/control/service/bounds.h"

namespace linac::service {
namespace {

std::string page() {
  std::string text =
      "# Bounds of a request\n\n"
      "What one request to the [service](service-api.md) may ask for at the most. The error names the\n"
      "bound; without a status the answer has less, or comes later. Beside these a user has a quarter of\n"
      "`--connections` requests and streams at once, and `--requests-per-second`: 429 with `Retry-After`.\n"
      "What users write is carried out in turn: the next is his for whom the least was done of late. A\n"
      "connection that waits for its next request gives way to a new one.\n\n"
      "| bound | at most | what | status | in the error |\n|---|---|---|---|---|\n";
  for (const Bound& bound : kBounds)
    text += fmt::format("| `{}` | {} | {} | {} | {} |\n", bound.name, bound.most, bound.what,
                        bound.status == 0 ? "" : std::to_string(bound.status), bound.words);
  return text;
}

TEST(BoundsPage, IsUpToDate) {
  const std::filesystem::path path = std::filesystem::path(LINAC_SOURCE_DIR) / "docs/reference/bounds.md";
  if (std::getenv("LINAC_WRITE_PAGES") != nullptr) write_file_atomically(path, page());
  ASSERT_TRUE(std::filesystem::exists(path)) << path;
  EXPECT_TRUE(read_file(path) == page())
      << path << " is not what the code says; LINAC_WRITE_PAGES=1 service_test --gtest_filter='BoundsPage.*' writes it";
}

}  // namespace
}  // namespace linac::service
