#include <gtest/gtest.h>

#include <fstream>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/refusal.h"
#include "linac/base/base/temporary_folder.h"
#include "linac/control/http/files/body_file.h"
#include "linac/control/http/files/uploads.h"

namespace linac::http {
namespace {

namespace fs = std::filesystem;

fs::path uploaded(const fs::path& folder, const std::string& text) {
  const fs::path path = folder / "upload";
  std::ofstream(path) << text;
  return path;
}

TEST(Uploads, PartsBecomeOneFile) {
  const TemporaryFolder own;
  const fs::path folder = own.path(), root = folder / "root";
  fs::create_directories(root);
  fs::create_directories(folder / "uploads");
  std::ofstream(folder / "uploads" / "left over") << "x";
  Uploads uploads(folder / "uploads");
  EXPECT_TRUE(fs::is_empty(folder / "uploads"));
  const std::string id = uploads.begin("ann", "0/run/big", 2, "hash");
  EXPECT_EQ(uploads.owner(id), "ann");
  EXPECT_EQ(uploads.token_hash(id), "hash");
  uploads.put_part(id, 2, uploaded(folder, "world"));
  EXPECT_THROW(uploads.complete(root, id, "0/run/big", {1, 2}), Refusal);  // the first is missing
  EXPECT_FALSE(fs::exists(root / "0/run/big"));
  uploads.put_part(id, 1, uploaded(folder, "hello "));
  EXPECT_THROW(uploads.complete(root, id, "0/run/other", {1, 2}), Refusal);
  EXPECT_THROW(uploads.complete(root, id, "0/run/big", {1, 1}), Refusal);
  EXPECT_THROW(uploads.put_part(id, 3, uploaded(folder, "x")), Refusal);
  uploads.complete(root, id, "0/run/big", {1, 2});
  EXPECT_EQ(read_file(root / "0/run/big"), "hello world");
  EXPECT_THROW(uploads.put_part(id, 1, uploaded(folder, "x")), Refusal);  // the upload has ended
  EXPECT_THROW(uploads.put_part("../../etc", 1, uploaded(folder, "x")), Refusal);
  EXPECT_THROW(uploads.begin("ann", "../x", 1, ""), Refusal);
  EXPECT_THROW(uploads.begin("ann", "x", 0, ""), Refusal);
  EXPECT_TRUE(fs::is_empty(folder / "uploads"));
}

TEST(Uploads, AreBoundedForEachUser) {
  const TemporaryFolder own;
  UploadLimits limits;
  limits.uploads_max = 2;
  limits.bytes_max = 10;
  Uploads uploads(own.path(), limits);
  const std::string one = uploads.begin("ann", "a", 2, ""), two = uploads.begin("ann", "b", 2, "");
  EXPECT_THROW(uploads.begin("ann", "c", 2, ""), Refusal);
  const std::string other = uploads.begin("bob", "c", 2, "");
  auto held = uploads.expect(one, 6);
  EXPECT_THROW(uploads.expect(two, 6), Refusal);
  EXPECT_NO_THROW(uploads.expect(other, 10));
  held.reset();
  EXPECT_NO_THROW(uploads.expect(two, 6));
  uploads.put_part(two, 1, uploaded(own.path(), "1234567"));
  EXPECT_THROW(uploads.expect(one, 4), Refusal);
  uploads.abort(two);
  EXPECT_NO_THROW(uploads.expect(one, 10));
}

TEST(Uploads, AreForgottenAfterAWhile) {
  const TemporaryFolder own;
  UploadLimits limits;
  limits.quiet_ms_max = -1;
  Uploads uploads(own.path(), limits);
  const std::string id = uploads.begin("ann", "a", 2, "");
  uploads.put_part(id, 1, uploaded(own.path(), "x"));
  uploads.sweep();
  EXPECT_THROW(uploads.owner(id), Refusal);
  EXPECT_TRUE(fs::is_empty(own.path()));
}

TEST(Uploads, GoWithTheirRequest) {
  const TemporaryFolder folder;
  fs::path path;
  {
    BodyFile body(folder.path());
    path = body.path();
    body.append("abc");
    EXPECT_EQ(read_file(path), "abc");
  }
  EXPECT_FALSE(fs::exists(path));
}

}  // namespace
}  // namespace linac::http
