#include "linac/control/service/secrets.h"

#include <sodium.h>

#include "linac/base/base/error.h"
#include "linac/base/base/secure_random.h"

namespace linac::service {
namespace {

void begin() {
  static const int kReady = sodium_init();
  LINAC_CHECK(kReady >= 0);
}

}  // namespace

std::string keyed_hash(std::string_view text) {
  begin();
  static const std::string kKey = random_hex(crypto_generichash_KEYBYTES);
  std::string hash(crypto_generichash_BYTES, '\0');
  crypto_generichash(reinterpret_cast<unsigned char*>(hash.data()), hash.size(),
                     reinterpret_cast<const unsigned char*>(text.data()), text.size(),
                     reinterpret_cast<const unsigned char*>(kKey.data()), kKey.size());
  return hash;
}

bool same_secret(std::string_view a, std::string_view b) {
  const std::string x = keyed_hash(a), y = keyed_hash(b);
  return sodium_memcmp(x.data(), y.data(), x.size()) == 0;
}

}  // namespace linac::service
