#include "linac/io/relay/identity.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <cctype>
#include <span>

#include "linac/base/base/error.h"
#include "linac/base/base/hex.h"

namespace linac::relay {
namespace {

constexpr size_t kPublicBytes = 32, kSignatureBytes = 64;

struct FreeContext {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
using Context = std::unique_ptr<EVP_MD_CTX, FreeContext>;

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

}  // namespace

void Identity::Free::operator()(evp_pkey_st* key) const {
  EVP_PKEY_free(key);
}

Identity::Identity(const Seed& seed)
    : key_(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, seed.data(), seed.size()), Free()) {
  std::array<unsigned char, kPublicBytes> name{};
  size_t size = name.size();
  if (!key_ || EVP_PKEY_get_raw_public_key(key_.get(), name.data(), &size) != 1 || size != name.size())
    throw environment_error("[relay] OpenSSL offers no Ed25519 here");
  room_ = in_hex(name);
}

std::string Identity::sign(std::string_view text) const {
  std::array<unsigned char, kSignatureBytes> signature{};
  size_t size = signature.size();
  const Context context(EVP_MD_CTX_new());
  LINAC_CHECK(context && EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key_.get()) == 1 &&
              EVP_DigestSign(context.get(), signature.data(), &size, bytes_of(text), text.size()) == 1 &&
              size == signature.size());
  return in_hex(signature);
}

Identity::Seed seed_of_run(const Identity::Seed& key) {
  constexpr std::string_view kPurpose("linac relay room 1\0", 19);
  Identity::Seed seed;
  unsigned size = 0;
  LINAC_CHECK(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), bytes_of(kPurpose), kPurpose.size(),
                   seed.data(), &size) != nullptr &&
              size == seed.size());
  return seed;
}

std::optional<Identity::Seed> seed_in(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) text.remove_suffix(1);
  Identity::Seed seed;
  std::string small(text);
  std::ranges::transform(small, small.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto bytes = small.size() == 2 * seed.size() ? from_hex(small) : std::nullopt;
  if (!bytes) return std::nullopt;
  std::ranges::copy(*bytes, seed.begin());
  return seed;
}

bool is_signed(std::string_view room, std::string_view text, std::string_view signature) {
  if (room.size() != 2 * kPublicBytes || signature.size() != 2 * kSignatureBytes) return false;
  const auto name = from_hex(room), proof = from_hex(signature);
  if (!name || !proof) return false;
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, bytes_of(*name), name->size()), EVP_PKEY_free);
  const Context context(EVP_MD_CTX_new());
  return key && context && EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
         EVP_DigestVerify(context.get(), bytes_of(*proof), proof->size(), bytes_of(text), text.size()) == 1;
}

}  // namespace linac::relay
