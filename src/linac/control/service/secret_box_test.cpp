#include "linac/control/service/secret_box.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/base/base/temporary_folder.h"
#include "linac/control/catalog/catalog.h"
#include "linac/control/catalog/secrets.h"
#include "linac/control/service/user_secrets.h"

namespace linac::service {
namespace {

const SealedFor kAnns{"ann", "KEY", "env"};
const std::string kValue = "hunter2-and-more";

template <class F>
std::string message(F action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

class SecretBoxTest : public testing::Test {
 protected:
  TemporaryFolder folder_;
  SecretBox box_{folder_.path()};
};

TEST_F(SecretBoxTest, OpensWhatItSealed) {
  const auto sealed = box_.seal(kAnns, kValue, false);
  EXPECT_EQ(box_.open(kAnns, sealed), kValue);
  EXPECT_TRUE(box_.has_key_of(sealed));
  EXPECT_NE(box_.seal(kAnns, kValue, true), sealed);  // another nonce
  const std::string text(reinterpret_cast<const char*>(sealed.data()), sealed.size());
  EXPECT_EQ(text.find(kValue.substr(0, 4)), std::string::npos);
  const std::string zeros("\0\n\xff", 3);
  EXPECT_EQ(box_.open(kAnns, box_.seal(kAnns, zeros, true)), zeros);
  struct stat about {};
  ASSERT_EQ(::stat(box_.file().c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07777, 0600u);
  ASSERT_EQ(::stat(box_.file().parent_path().c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07777, 0700u);
}

TEST_F(SecretBoxTest, WhatWasMovedOrAlteredDoesNotOpen) {
  const auto sealed = box_.seal(kAnns, kValue, false);
  for (const SealedFor& other : {SealedFor{"bob", "KEY", "env"}, SealedFor{"ann", "KEY2", "env"},
                                 SealedFor{"ann", "KEY", "file"}, SealedFor{"annKEY", "", "env"}})
    EXPECT_NE(message([&] { box_.open(other, sealed); }).find("altered"), std::string::npos);
  for (size_t i = 0; i < sealed.size(); ++i) {
    auto altered = sealed;
    altered[i] ^= std::byte{1};
    EXPECT_THROW(box_.open(kAnns, altered), Error) << i;
    EXPECT_THROW(box_.open(kAnns, catalog::Bytes(sealed.begin(), sealed.begin() + static_cast<std::ptrdiff_t>(i))),
                 Error);
  }
}

TEST_F(SecretBoxTest, AKeyThatIsLostIsMissedAndNotMade) {
  const auto sealed = box_.seal(kAnns, kValue, false);
  const std::string key = read_file(box_.file());
  std::filesystem::remove(box_.file());
  EXPECT_NE(message([&] { box_.open(kAnns, sealed); }).find("rotate-key --drop-unreadable"), std::string::npos);
  EXPECT_NE(message([&] { box_.seal(kAnns, kValue, true); }).find("is gone"), std::string::npos);
  EXPECT_FALSE(box_.has_key_of(sealed));
  EXPECT_FALSE(std::filesystem::exists(box_.file()));
  const auto another = box_.seal(kAnns, kValue, false);  // the last one was removed
  EXPECT_NE(message([&] { box_.open(kAnns, sealed); }).find("another key"), std::string::npos);
  EXPECT_EQ(box_.open(kAnns, another), kValue);
  // What is put back counts at once; a damaged one, or one for others' eyes, is said.
  std::ofstream(box_.file()) << key;
  EXPECT_EQ(box_.open(kAnns, sealed), kValue);
  ::chmod(box_.file().c_str(), 0644);
  EXPECT_NE(message([&] { box_.open(kAnns, sealed); }).find("others can reach it"), std::string::npos);
  ::chmod(box_.file().c_str(), 0600);
  for (const std::string& bad : {std::string(), key.substr(1), key + "x\n", std::string(100000, 'a')}) {
    std::ofstream(box_.file()) << bad;
    const std::string what = message([&] { box_.open(kAnns, sealed); });
    EXPECT_NE(what, "no error");
    EXPECT_EQ(what.find(key.substr(0, 8)), std::string::npos) << what;
    EXPECT_FALSE(box_.has_key_of(sealed));
  }
}

class UserSecretsTest : public SecretBoxTest {
 protected:
  void set(const std::string& user, const std::string& name, const std::string& value) {
    catalog_.write([&](catalog::Database& database) {
      catalog::set_secret(database, {.user = user,
                                     .name = name,
                                     .sealed = box_.seal({user, name, "env"}, value, catalog::any_secret(database)),
                                     .size = static_cast<int64_t>(value.size())});
    });
  }
  execution::GivenSecrets given(const std::string& user, const std::vector<std::string>& names) {
    return catalog_.read_as([&](catalog::Database& database) { return given_secrets(database, box_, user, names); });
  }
  ResealedSecrets rotate(bool drop) {
    const auto done = catalog_.write([&](catalog::Database& database) { return reseal(database, box_, drop); });
    box_.forget_former_keys();
    return done;
  }

  catalog::Catalog catalog_{"sqlite://" + (folder_ / "catalog.db").string(), 2};
};

TEST_F(UserSecretsTest, AreGivenToTheirUserAlone) {
  set("ann", "KEY", kValue);
  set("bob", "KEY", "bobs");
  EXPECT_EQ(given("ann", {"KEY"}).secrets.at(0).value, kValue);
  EXPECT_EQ(given("bob", {"KEY"}).secrets.at(0).value, "bobs");
  EXPECT_NE(given("eve", {"KEY"}).problem.find("linac secrets set KEY"), std::string::npos);
  EXPECT_TRUE(given("eve", {"KEY"}).secrets.empty());
  EXPECT_TRUE(given("eve", {}).problem.empty());
  // Who can write the database copies the row of another.
  catalog_.write([&](catalog::Database& database) {
    database.query(
        "UPDATE secrets SET sealed = (SELECT s.sealed FROM secrets s WHERE s.user_name = 'ann') WHERE user_name = "
        "'bob'");
  });
  EXPECT_TRUE(given("bob", {"KEY"}).secrets.empty());
  EXPECT_NE(given("bob", {"KEY"}).problem.find("altered"), std::string::npos);
  EXPECT_EQ(given("ann", {"KEY"}).secrets.at(0).value, kValue);
}

TEST_F(UserSecretsTest, ANewKeyTakesThePlaceOfTheFormer) {
  set("ann", "KEY", kValue);
  set("bob", "KEY", "bobs");
  const std::string former = read_file(box_.file());
  EXPECT_EQ(rotate(false).count, 2);
  EXPECT_EQ(read_file(box_.file()).find(former), std::string::npos);
  EXPECT_EQ(given("ann", {"KEY"}).secrets.at(0).value, kValue);
  // Killed between the commit and its end: the former key is still there, and goes with the next rotation.
  catalog_.write([&](catalog::Database& database) { return reseal(database, box_, false); });
  EXPECT_EQ(given("bob", {"KEY"}).secrets.at(0).value, "bobs");
  // Killed before the commit.
  box_.add_key();
  EXPECT_EQ(given("bob", {"KEY"}).secrets.at(0).value, "bobs");
  rotate(false);
  EXPECT_EQ(read_file(box_.file()).size(), former.size());

  write_file_atomically(box_.file(), former);
  ::chmod(box_.file().c_str(), 0600);
  set("eve", "KEY", "eves");
  EXPECT_NE(message([&] { rotate(false); }).find("2 of 3"), std::string::npos);
  EXPECT_EQ(read_file(box_.file()), former);
  EXPECT_EQ(rotate(true).dropped, 2);
  EXPECT_EQ(given("eve", {"KEY"}).secrets.at(0).value, "eves");
  EXPECT_NE(given("ann", {"KEY"}).problem.find("has no secret KEY"), std::string::npos);
}

}  // namespace
}  // namespace linac::service
