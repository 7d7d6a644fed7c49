#include "linac/control/catalog/secrets.h"

#include <gtest/gtest.h>

#include "linac/base/job/secret_names.h"
#include "linac/control/catalog/test_catalog.h"

namespace linac::catalog {
namespace {

class SecretsTest : public RecordsTest {
 protected:
  void set(const std::string& user, const std::string& name, int64_t size = 10) {
    set_secret(db(), {.user = user, .name = name, .sealed = Bytes(3, std::byte{0}), .size = size});
  }
};
LINAC_BOTH_DATABASES(SecretsTest);

TEST_P(SecretsTest, BelongToOneUser) {
  set("ann", "KEY");
  set("bob", "KEY", 20);
  set_secret(
      db(),
      {.user = "ann", .name = "A", .kind = SecretKind::kFile, .sealed = {std::byte{0}, std::byte{255}}, .size = 1});
  const auto found = secrets(db(), "ann");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].name, "A");
  EXPECT_EQ(found[0].kind, SecretKind::kFile);
  EXPECT_EQ(found[0].sealed, (Bytes{std::byte{0}, std::byte{255}}));
  EXPECT_EQ(found[1].size, 10);
  EXPECT_GT(found[1].created_ms, 0);
  EXPECT_EQ(found[1].used_ms, 0);
  secrets_used(db(), "ann", {"KEY", "NONE"}, 5);
  set("ann", "KEY", 11);
  EXPECT_EQ(secrets(db(), "ann")[1].used_ms, 5);
  EXPECT_EQ(secrets(db(), "ann")[1].size, 11);
  EXPECT_EQ(secrets(db(), "bob")[0].used_ms, 0);
  remove_secret(db(), "ann", "KEY");
  EXPECT_EQ(refusal([&] { remove_secret(db(), "ann", "KEY"); }), RefusalKind::kNotFound);
  EXPECT_EQ(refusal([&] { remove_secret(db(), "ann", std::string(100000, 'x')); }), RefusalKind::kNotFound);
  EXPECT_EQ(all_secrets(db()).size(), 2u);
  seal_again(db(), secrets(db(), "bob")[0], {std::byte{7}});
  EXPECT_EQ(secrets(db(), "bob")[0].sealed, Bytes{std::byte{7}});
}

TEST_P(SecretsTest, AreFewAndSmall) {
  EXPECT_EQ(refusal([&] { set("ann", "LD_PRELOAD"); }), RefusalKind::kInvalid);
  EXPECT_EQ(refusal([&] { secret_kind("x"); }), RefusalKind::kInvalid);
  EXPECT_EQ(refusal([&] { set("ann", "KEY", kSecretBytesMax + 1); }), RefusalKind::kLimit);
  for (size_t i = 0; i < job::kSecretsMax; ++i) set("ann", "K" + std::to_string(i));
  EXPECT_EQ(refusal([&] { set("ann", "ONE_MORE"); }), RefusalKind::kLimit);
  set("ann", "K0", kSecretBytesMax - 10 * static_cast<int64_t>(job::kSecretsMax - 1));
  EXPECT_EQ(refusal([&] { set("ann", "K1", 11); }), RefusalKind::kLimit);
  set("bob", "ONE_MORE");
}

}  // namespace
}  // namespace linac::catalog
