#include "linac/base/job/secret_names.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include "linac/base/base/error.h"
#include "linac/base/job/job.h"

namespace linac::job {
namespace {

TEST(SecretNames, WhatProgramsReadTheirKeysFrom) {
  for (const char* name : {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ENDPOINT_URL", "BEARER_TOKEN",
                           "BEARER_TOKEN_FILE", "RUCIO_ACCOUNT", "X509_USER_PROXY", "AZURE_STORAGE_KEY", "_X", "A1",
                           "HTTPS_PROXY", "LINAC_TOKEN", "LINAC_SERVER", "PATHS"})
    EXPECT_EQ(why_no_secret_name(name), "") << name;
}

TEST(SecretNames, WhatChangesHowProgramsRunIsRefused) {
  for (const char* name :
       {"LD_PRELOAD", "LD_AUDIT", "GLIBC_TUNABLES", "PATH", "HOME", "PYTHONPATH", "BASH_ENV", "ENV", "LINAC_ATTEMPT",
        "LINAC_CACHE", "LINAC_RUN", "CUDA_VISIBLE_DEVICES", "TMPDIR", "XDG_CONFIG_HOME", "SSLKEYLOGFILE"})
    EXPECT_NE(why_no_secret_name(name), "") << name;
  for (const std::string name : {"", "a", "aws_key", "1A", "A B", "A=B", "A-B", "A\n", "Ä"})
    EXPECT_NE(why_no_secret_name(name), "") << name;
  EXPECT_NE(why_no_secret_name(std::string("A\0B", 3)), "");
  EXPECT_NE(why_no_secret_name(std::string(kSecretNameMax + 1, 'A')), "");
}

TEST(SecretNames, OfAJobAreCheckedWithIt) {
  const auto parsed = [](const char* setting) {
    return parse_job("data: {train: [a.h5]}\n", "here", {setting}).secrets;
  };
  EXPECT_EQ(parsed("secrets=[AWS_ACCESS_KEY_ID, BEARER_TOKEN]"),
            (std::vector<std::string>{"AWS_ACCESS_KEY_ID", "BEARER_TOKEN"}));
  EXPECT_THROW(parsed("secrets=[LD_PRELOAD]"), Error);
  EXPECT_THROW(parsed("secrets=[A, A]"), Error);
  std::string many;
  for (size_t i = 0; i <= kSecretsMax; ++i) many += "A" + std::to_string(i) + ",";
  EXPECT_THROW(parsed(("secrets=[" + many + "]").c_str()), Error);
}

TEST(SecretNames, AreTakenFromTheEnvironmentOfALocalTraining) {
  const std::vector<std::string> names{"LINAC_TOKEN", "NO_SUCH_SECRET_FILE"};
  ::setenv("LINAC_TOKEN", "x", 1);
  EXPECT_EQ(missing_in_environment(names), (std::vector<std::string>{"NO_SUCH_SECRET_FILE"}));
  ::unsetenv("LINAC_TOKEN");
  EXPECT_THROW(need_in_environment(names), Error);
  EXPECT_TRUE(names_a_file("NO_SUCH_SECRET_FILE"));
  EXPECT_FALSE(names_a_file("AWS_ACCESS_KEY_ID"));
}

}  // namespace
}  // namespace linac::job
