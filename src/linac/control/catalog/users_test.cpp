#include "linac/control/catalog/users.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "linac/base/base/clock.h"
#include "linac/control/catalog/test_catalog.h"

namespace linac::catalog {
namespace {

class UsersTest : public RecordsTest {
 protected:
  void add(const std::string& name, Role role = Role::kMember) {
    User user;
    user.name = name;
    user.role = role;
    create_user(db(), user);
  }
};
LINAC_BOTH_DATABASES(UsersTest);

TEST_P(UsersTest, NamesAndRoles) {
  add("kim.b-1", Role::kAdmin);
  EXPECT_EQ(refusal([&] { add("kim.b-1"); }), RefusalKind::kExists);
  for (const char* bad : {"", "Kim", "a b", "a/b", "\xC3\xA9"})
    EXPECT_EQ(refusal([&] { add(bad); }), RefusalKind::kInvalid);
  EXPECT_EQ(refusal([&] { add(std::string(65, 'a')); }), RefusalKind::kInvalid);
  User changed = user(db(), "kim.b-1");
  EXPECT_EQ(changed.role, Role::kAdmin);
  changed.account = "nobody";
  changed.role = Role::kViewer;
  EXPECT_EQ(changed.quota, Quota());
  changed.quota = {.jobs_max = 10, .cores_max = 4, .core_hours_max = 2.5};
  change_user(db(), changed);
  EXPECT_EQ(user(db(), "kim.b-1").quota, changed.quota);
  User greedy = changed;
  greedy.quota.core_hours_max = -1;
  EXPECT_EQ(refusal([&] { change_user(db(), greedy); }), RefusalKind::kInvalid);
  EXPECT_EQ(user(db(), "kim.b-1").account, "nobody");
  EXPECT_EQ(users(db()).size(), 1u);
  EXPECT_EQ(refusal([&] { user(db(), "pat"); }), RefusalKind::kNotFound);
  EXPECT_EQ(refusal([] { role("king"); }), RefusalKind::kInvalid);
}

TEST_P(UsersTest, ATokenIsKnownByItsSecretAlone) {
  add("kim");
  std::string hash;
  const NewToken made = make_token("kim", Role::kViewer, 0, "laptop", hash);
  add_token(db(), made.token, hash);
  EXPECT_EQ(hash.rfind("$argon2id$", 0), 0u);
  EXPECT_EQ(hash.find(made.secret.substr(30)), std::string::npos);
  const auto kept = kept_token(db(), made.secret);
  ASSERT_TRUE(kept.has_value());
  EXPECT_EQ(kept->user.name, "kim");
  EXPECT_EQ(kept->token.scope, Role::kViewer);
  EXPECT_EQ(kept->token.note, "laptop");
  EXPECT_TRUE(right_secret(kept->hash, made.secret));
  std::string wrong = made.secret;
  wrong.back() = wrong.back() == '0' ? '1' : '0';
  ASSERT_TRUE(kept_token(db(), wrong).has_value());
  EXPECT_FALSE(right_secret(kept->hash, wrong));
  EXPECT_FALSE(right_secret("no hash", made.secret));
  for (const std::string& other : {std::string(), std::string("linac_"), std::string("x") + made.secret,
                                   made.secret + "0", "linac_" + std::string(16, '\'') + "_" + std::string(64, '0')})
    EXPECT_FALSE(kept_token(db(), other).has_value()) << other;
  token_used(db(), made.token.id, 5);
  EXPECT_EQ(tokens(db(), "kim").at(0).used_ms, 5);
  revoke_token(db(), made.token.id);
  EXPECT_FALSE(kept_token(db(), made.secret).has_value());
  EXPECT_EQ(refusal([&] { revoke_token(db(), made.token.id); }), RefusalKind::kNotFound);
}

TEST_P(UsersTest, ATokenMaySayWhoseItIs) {
  add("kim");
  std::string hash;
  const std::string certificate(64, 'a');
  const NewToken made = make_token("kim", Role::kViewer, 0, "laptop", hash, certificate);
  add_token(db(), made.token, hash);
  EXPECT_TRUE(made.secret.ends_with("_" + certificate));
  const auto kept = kept_token(db(), made.secret);
  ASSERT_TRUE(kept.has_value());
  EXPECT_TRUE(right_secret(kept->hash, made.secret));
  // It is whole or none: no token becomes another service's.
  const std::string without = made.secret.substr(0, made.secret.size() - certificate.size() - 1);
  ASSERT_TRUE(kept_token(db(), without).has_value());
  EXPECT_FALSE(right_secret(kept->hash, without));
  EXPECT_FALSE(right_secret(kept->hash, without + "_" + std::string(64, 'b')));
  EXPECT_FALSE(kept_token(db(), made.secret + "0").has_value());
  EXPECT_FALSE(kept_token(db(), without + "_" + std::string(64, 'x')).has_value());
}

TEST_P(UsersTest, ExpiredAndDisabledAreNotKept) {
  add("kim");
  std::string hash;
  NewToken made = make_token("kim", Role::kAdmin, 3600 * 1000, "", hash);
  EXPECT_GT(made.token.expires_ms, now_ms());
  add_token(db(), made.token, hash);
  EXPECT_TRUE(kept_token(db(), made.secret).has_value());
  User kim = user(db(), "kim");
  kim.disabled = true;
  change_user(db(), kim);
  EXPECT_FALSE(kept_token(db(), made.secret).has_value());
  kim.disabled = false;
  change_user(db(), kim);
  db().query("UPDATE tokens SET expires_ms = $1", now_ms() - 1);
  EXPECT_FALSE(kept_token(db(), made.secret).has_value());
  made.token.user = "nobody";
  EXPECT_EQ(refusal([&] { add_token(db(), made.token, hash); }), RefusalKind::kNotFound);
}

TEST_P(UsersTest, TheAuditIsReadBackwards) {
  audit(db(), {1, "kim", "token.create", "abc", "127.0.0.1"});
  audit(db(), {0, "kim", "token.revoke", "abc", "127.0.0.1"});
  const auto all = audited(db(), 10);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].action, "token.revoke");
  EXPECT_GT(all[0].time_ms, 1);
  EXPECT_EQ(all[1].time_ms, 1);
  EXPECT_EQ(audited(db(), 1).size(), 1u);
}

TEST(Tokens, ManyAreCheckedAtOnce) {
  std::string hash;
  const NewToken made = make_token("kim", Role::kMember, 0, "", hash);
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int i = 0; i < 24; ++i) threads.emplace_back([&] { right += right_secret(hash, made.secret); });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(right, 24);
}

}  // namespace
}  // namespace linac::catalog
