#include "linac/io/storage/folder/manifest.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "linac/base/base/test_errors.h"

namespace linac::storage {
namespace {

const std::string kHash(32, 'a');

Manifest some() {
  return {.sequence = 7,
          .copy = "c",
          .ended = true,
          .files = {{"checkpoints/step-1", "versions/x-1", 12, kHash}, {"run.json", "run.json", 0, kHash}},
          .leaving = {"versions/x-0"}};
}

TEST(Manifest, IsReadAsItWasWritten) {
  const Manifest read = parse_manifest(to_text(some()), "m");
  EXPECT_EQ(read.sequence, 7);
  EXPECT_EQ(read.copy, "c");
  EXPECT_TRUE(read.ended);
  EXPECT_EQ(read.files, some().files);
  EXPECT_EQ(read.leaving, some().leaving);
  EXPECT_EQ(read.find("run.json")->size, 0);
  EXPECT_EQ(read.find("run"), nullptr);
}

TEST(Manifest, ForeignBytesLeadNowhere) {
  for (const char* name : {"", "../a", "/a", "a/../b", "a//b", "a/", ".", "a\nb", "a\\b", kManifestName, kClaimName}) {
    for (const bool in_object : {false, true}) {
      Manifest bad = some();
      (in_object ? bad.files[1].object : bad.files[1].name) = name;
      message_of(ErrorCode::kData, [&] { parse_manifest(to_text(bad), "m"); });
    }
    Manifest bad = some();
    bad.leaving[0] = name;
    message_of(ErrorCode::kData, [&] { parse_manifest(to_text(bad), "m"); });
  }
  Manifest negative = some(), twice = some(), odd = some();
  negative.files[0].size = -1;
  twice.files[1].name = twice.files[0].name;
  odd.files[0].hash = "x";
  for (const Manifest& bad : {negative, twice, odd})
    message_of(ErrorCode::kData, [&] { parse_manifest(to_text(bad), "m"); });
  const std::string whole = to_text(some());
  for (size_t size = 0; size + 3 < whole.size(); size += 5)
    message_of(ErrorCode::kData, [&] { parse_manifest(whole.substr(0, size), "m"); });
  for (const std::string& text : {std::string("[]"), std::string("null"), std::string(100'000, '['),
                                  std::string(R"({"linac_folder": "1"})"), std::string(R"({"linac_folder": 1})")})
    message_of(ErrorCode::kData, [&] { parse_manifest(text, "m"); });
  message_of(ErrorCode::kUser, [&] { parse_manifest(R"({"linac_folder": 2})", "m"); });
}

}  // namespace
}  // namespace linac::storage
