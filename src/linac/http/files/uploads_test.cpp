#include <gtest/gtest.h>

#include <fstream>

#include "linac/base/atomic_file.h"
#include "linac/base/refusal.h"
#include "linac/base/temporary_folder.h"
#include "linac/http/files/body_file.h"
#include "linac/http/files/multipart.h"

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
  const fs::path uploads = folder / "uploads";
  fs::create_directories(uploads);
  const std::string id = begin_multipart(uploads, "0/run/big", 2);
  put_part(uploads, id, 2, uploaded(folder, "world"));
  EXPECT_THROW(complete_multipart(uploads, root, id, "0/run/big", {1, 2}), Refusal);  // the first is missing
  EXPECT_FALSE(fs::exists(root / "0/run/big"));
  put_part(uploads, id, 1, uploaded(folder, "hello "));
  EXPECT_THROW(complete_multipart(uploads, root, id, "0/run/other", {1, 2}), Refusal);
  complete_multipart(uploads, root, id, "0/run/big", {1, 2});
  EXPECT_EQ(read_file(root / "0/run/big"), "hello world");
  EXPECT_THROW(put_part(uploads, id, 1, uploaded(folder, "x")), Refusal);  // the upload has ended
  EXPECT_THROW(put_part(uploads, "../../etc", 1, uploaded(folder, "x")), Refusal);
  EXPECT_THROW(begin_multipart(uploads, "../x", 1), Refusal);
  EXPECT_THROW(begin_multipart(uploads, "x", 0), Refusal);
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
