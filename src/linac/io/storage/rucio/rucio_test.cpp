#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <map>

#include "linac/base/base/temporary_folder.h"
#include "linac/base/base/test_errors.h"
#include "linac/io/storage/rucio/access.h"
#include "linac/io/storage/rucio/did.h"
#include "linac/io/storage/rucio/publish.h"
#include "linac/io/storage/storage.h"

namespace linac::storage::rucio {
namespace {

TEST(Rucio, NamesOfData) {
  const Did did = parse_did("rucio://mc16:folder/a.root:1?rse=tier=1&country=CH");
  EXPECT_EQ(did.scope, "mc16");
  EXPECT_EQ(did.name, "folder/a.root:1");
  EXPECT_EQ(did.rse, "tier=1&country=CH");
  EXPECT_EQ(did.url(), "rucio://mc16:folder/a.root:1?rse=tier=1&country=CH");
  EXPECT_EQ(parse_did("rucio://a:b").url(), "rucio://a:b");
  for (const char* bad :
       {"rucio://", "rucio://a", "rucio://:b", "rucio://a:", "rucio://a/b", "rucio://a/b:c", "rucio://a:b c",
        "rucio://a:b?other=1", "rucio://a:b?rse=", "rucio://a?rse=b:c", "rucio://a:b\n"})
    expect_in(message_of([&] { parse_did(bad); }), {"rucio://SCOPE:NAME"});
  EXPECT_EQ((Did{"s", "a/b c%#?"}.path()), "/dids/s/a/b%20c%25%23%3F");
}

TEST(Rucio, NamesOfFiles) {
  EXPECT_EQ(name_of("models/a b\xc3\xa4.keras"), "models.a_b__.keras");
}

class RucioAccess : public ::testing::Test {
 protected:
  Access find(std::map<std::string, std::string> variables) const {
    return find_access([&](const char* name) { return variables[name]; });
  }
  std::string write(const std::string& text) const {
    const auto file = folder_.path() / "rucio.cfg";
    std::ofstream(file) << text;
    return file.string();
  }
  const TemporaryFolder folder_;
};

TEST_F(RucioAccess, IsThatOfRuciosClient) {
  const std::string file = write(
      "[common]\nrucio_host = http://other\n[client]\nrucio_host = https://rucio.example.org:443/\n"
      "auth_type = userpass\nUSERNAME = me\npassword = secret\naccount = root\nca_cert = /ca.pem\n");
  Access access = find({{"RUCIO_CONFIG", file}, {"TMPDIR", "/t"}});
  EXPECT_EQ(access.host, "https://rucio.example.org:443");
  EXPECT_EQ(access.auth_host, access.host);
  EXPECT_EQ(access.username + access.password + access.account + access.ca_file, "mesecretroot/ca.pem");
  const std::string place = access.token_file.string();
  EXPECT_TRUE(place.starts_with("/t/.rucio_") && place.ends_with("/auth_token_for_account_root")) << place;
  access = find({{"RUCIO_CONFIG", file}, {"RUCIO_ACCOUNT", "you"}, {"RUCIO_AUTH_TYPE", "oidc"}, {"RUCIO_VO", "atl"}});
  EXPECT_EQ(access.account + access.auth_type, "youoidc");
  EXPECT_NE(access.token_file.string().find("@atl/auth_token_for_account_you"), std::string::npos);
}

TEST_F(RucioAccess, WithoutAServerSaysSo) {
  for (const char* text : {"", "[client]\n", "[server]\nrucio_host = http://a\n"})
    expect_in(message_of([&] { find({{"RUCIO_CONFIG", write(text)}}); }), {"RUCIO_CONFIG", "rucio_host"});
  for (const char* host : {"rucio.example.org", "ftp://a", "https://", "https://me:secret@a"})
    expect_in(message_of([&] {
                find({{"RUCIO_CONFIG", write(std::string("[client]\nrucio_host = ") + host + "\n")}});
              }),
              {"no server's address"});
}

}  // namespace
}  // namespace linac::storage::rucio
