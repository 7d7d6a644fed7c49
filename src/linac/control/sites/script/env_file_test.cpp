#include "linac/control/sites/script/env_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/temporary_folder.h"
#include "linac/base/base/test_errors.h"

namespace linac::sites {
namespace {

TEST(EnvFile, HasALineForEachVariable) {
  const auto all = parse_env_file("# of S3\nS3_ENDPOINT=http://s3:9000\r\n\n  KEY=a=b \"c\" $(id)\nEMPTY=\n", "env");
  EXPECT_EQ(all, (std::map<std::string, std::string>{
                     {"S3_ENDPOINT", "http://s3:9000"}, {"KEY", "a=b \"c\" $(id)"}, {"EMPTY", ""}}));
}

TEST(EnvFile, NamesFileAndLineOfWhatIsWrongAndNoValue) {
  for (const auto& [text, why] : {std::pair{"A=1\nsecret", "env:2: no NAME=VALUE"},
                                  {"export A=secret", "env:1: begins with export"},
                                  {"\n\nA B=secret", "env:3: what stands before '='"},
                                  {"=secret", "env:1: what stands before '='"},
                                  {"A=secret\nA=secret", "env:2: A stands there before"},
                                  {"TF_CONFIG=secret", "env:1: TF_CONFIG is set for each worker"},
                                  {"LINAC_RUN_KEY=secret", "env:1: LINAC_RUN_KEY is set"}}) {
    const std::string said = message_of([&] { parse_env_file(text, "env"); });
    expect_in(said, {why});
    EXPECT_EQ(said.find("secret"), std::string::npos) << said;
  }
}

TEST(EnvFile, IsAFileOfText) {
  const TemporaryFolder folder;
  const auto read = [&](const std::string& name) { return read_users_text(folder / name, "the env file", 1 << 20); };
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  write_file_atomically(folder / "large", "");
  ASSERT_EQ(truncate((folder / "large").c_str(), off_t(1) << 30), 0);
  write_file_atomically(folder / "latin", "A=1\nB=\xe9\n");
  write_file_atomically(folder / "good", "A=\xc3\xa9\n");
  expect_in(message_of([&] { read("pipe"); }), {"pipe: the env file is no file"});
  expect_in(message_of([&] { read("."); }), {"is no file"});
  expect_in(message_of([&] { read("large"); }), {"large: the env file has more than 1024 KiB"});
  expect_in(message_of([&] { read("latin"); }), {"latin: line 2 is no text in UTF-8"});
  expect_in(message_of([&] { read("none"); }), {"none: the env file cannot be opened"});
  EXPECT_EQ(read("good"), "A=\xc3\xa9\n");
}

}  // namespace
}  // namespace linac::sites
