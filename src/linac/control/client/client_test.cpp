#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <fstream>

#include "linac/base/base/error.h"
#include "linac/base/base/progress.h"
#include "linac/base/base/temporary_folder.h"
#include "linac/base/base/text_table.h"
#include "linac/control/client/ingest.h"
#include "linac/control/client/login.h"
#include "linac/control/client/runs.h"
#include "linac/control/client/service_certificate.h"
#include "linac/control/client/service_client.h"

namespace linac::client {
namespace {

class ClientLogin : public testing::Test {
 protected:
  void SetUp() override {
    setenv("XDG_CONFIG_HOME", folder_.path().c_str(), 1);
    for (const char* name : {"LINAC_SERVER", "LINAC_TOKEN", "LINAC_CA_FILE"}) unsetenv(name);
  }
  TemporaryFolder folder_;
};

TEST_F(ClientLogin, IsKeptForItsOwnerAlone) {
  EXPECT_EQ(find_login("").server, kDefaultServer);
  keep_login({"https://a:1", "secret-a", ""});
  keep_login({"https://b:1", "secret-b", ""});
  struct stat about {};
  ASSERT_EQ(stat(login_file().c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0600u);
  EXPECT_EQ(find_login("").server, "https://b:1");
  EXPECT_EQ(find_login("").token, "secret-b");
  EXPECT_EQ(find_login("https://a:1/").token, "secret-a");
  EXPECT_EQ(find_login("https://c:1").token, "");
  EXPECT_TRUE(forget_login("https://b:1"));
  EXPECT_FALSE(forget_login("https://b:1"));
  EXPECT_EQ(find_login("").server, kDefaultServer);
}

TEST_F(ClientLogin, VariablesComeBeforeIt) {
  keep_login({"https://a:1", "secret-a", ""});
  setenv("LINAC_SERVER", "c.example:5000", 1);
  setenv("LINAC_TOKEN", "mine", 1);
  EXPECT_EQ(find_login("").server, "http://c.example:5000");
  EXPECT_EQ(find_login("").token, "mine");
  EXPECT_EQ(find_login("https://d").server, "https://d");
  EXPECT_THROW(find_login("ftp://d"), Error);
  EXPECT_THROW(find_login("http://user:password@d"), Error);
}

TEST_F(ClientLogin, TokensDoNotTravelUnencrypted) {
  EXPECT_THROW(ServiceClient({"http://elsewhere:5000", "secret", ""}), Error);
  EXPECT_NO_THROW(ServiceClient({"http://elsewhere:5000", "", ""}));
  EXPECT_NO_THROW(ServiceClient({"http://127.0.0.1:5000", "secret", ""}));
  EXPECT_NO_THROW(ServiceClient({"http://[::1]:5000", "secret", ""}));
  EXPECT_NO_THROW(ServiceClient({"https://elsewhere", "secret", ""}));
}

TEST_F(ClientLogin, TokenNamesItsServiceWhereAnybodyCouldListen) {
  const std::string certificate(64, 'c'), old = "linac_1f_" + std::string(64, '5'), token = old + "_" + certificate;
  for (const char* server : {"http://127.0.0.1:5000", "http://localhost", "http://[::1]:5000", "http://127.0.0.2:1/x"})
    EXPECT_EQ(certificate_of_service({server, token, ""}), certificate) << server;
  EXPECT_EQ(certificate_of_service({"https://127.0.0.1:5000", token, ""}), "");
  EXPECT_EQ(certificate_of_service({"http://10.0.0.1:5000", token, ""}), "");
  for (const std::string& other : {std::string(), old, token + "0", old + "_" + std::string(64, 'x'), old + "_"})
    EXPECT_EQ(certificate_of_service({kDefaultServer, other, ""}), "") << other;
  EXPECT_EQ(by_tls("http://localhost/x:1"), "https://localhost:80/x:1");
  EXPECT_EQ(by_tls("http://[::1]"), "https://[::1]:80");
  EXPECT_EQ(by_tls("http://[::1]:5000/x"), "https://[::1]:5000/x");
  EXPECT_EQ(by_tls("http://127.0.0.1:5000"), "https://127.0.0.1:5000");
  setenv("LINAC_UNPROVEN", "1", 1);
  EXPECT_EQ(certificate_of_service({kDefaultServer, token, ""}), "");
  unsetenv("LINAC_UNPROVEN");
}

TEST(ServiceClient, SaysWhatToDoWithoutAService) {
  ServiceClient service({"http://127.0.0.1:1", "", ""});
  try {
    service.get("/healthz");
    FAIL() << "there is a service on port 1";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kEnvironment);
    EXPECT_NE(std::string(error.what()).find("linac serve"), std::string::npos) << error.what();
  }
}

TEST(Array, IsAllCombinations) {
  EXPECT_TRUE(array_members({}).empty());
  EXPECT_EQ(array_members({"train.seed=1..3"}).size(), 3u);
  const auto members = array_members({"a=x,y", "b=1..2"});
  ASSERT_EQ(members.size(), 4u);
  EXPECT_EQ(members[1], (std::vector<std::string>{"a=x", "b=2"}));
  EXPECT_EQ(array_members({"lr=1e-3,2e-3"})[1][0], "lr=2e-3");
  for (const char* wrong : {"a", "a=", "=1", "a=1,,2", "a=5..1", "a=1..2000"})
    EXPECT_THROW(array_members({wrong}), Error) << wrong;
}

TEST(Ingest, KeyFollowsFromTheFirstLineAlone) {
  const TemporaryFolder folder;
  EXPECT_THROW(ingest_key(folder.path()), Error);
  std::ofstream(folder / "metrics.jsonl") << "{\"kind\":\"view\",\"time\":1}\n";
  const std::string key = ingest_key(folder.path());
  std::ofstream(folder / "metrics.jsonl", std::ios::app) << "{\"kind\":\"step\"}\n";
  EXPECT_EQ(ingest_key(folder.path()), key);
  EXPECT_EQ(key.size(), 32u);
}

TEST(Words, TablesAndTimes) {
  EXPECT_EQ(lined_up({{"a", "b"}, {"long", "c"}}), "a     b\nlong  c\n");
  EXPECT_EQ(time_words(0), "-");
  EXPECT_EQ(format_duration(12.34), "12.3 s");
  EXPECT_EQ(format_duration(3900), "1 h 05 min");
  EXPECT_EQ(exit_status("SUCCEEDED"), 0);
  EXPECT_NE(exit_status("FAILED"), 0);
}

}  // namespace
}  // namespace linac::client
