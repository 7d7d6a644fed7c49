#pragma once
// Who a process is to a relay: one of a room, which is a run. The room's name is a public key of Ed25519 (RFC 8032),
// and whoever belongs to it signs what the relay asks. So a relay keeps no secret and no list, and nobody takes a name
// that is another's. Values; thread-safe.

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct evp_pkey_st;

namespace linac::relay {

class Identity {
 public:
  using Seed = std::array<unsigned char, 32>;
  /// `seed`: a secret that all of the room have, and that is used for nothing else.
  explicit Identity(const Seed& seed);

  /// 64 hexadecimal digits.
  const std::string& room() const { return room_; }
  /// 128 hexadecimal digits.
  std::string sign(std::string_view text) const;

 private:
  struct Free {
    void operator()(evp_pkey_st* key) const;
  };
  std::shared_ptr<evp_pkey_st> key_;
  std::string room_;
};

/// Of the room of a run, by its key.
Identity::Seed seed_of_run(const Identity::Seed& key);
/// 64 hexadecimal digits, as a file of a key has them; nothing of what is none.
std::optional<Identity::Seed> seed_in(std::string_view text);

/// Whether somebody of that room has signed the text. False for what is no room or no signature.
bool is_signed(std::string_view room, std::string_view text, std::string_view signature);

}  // namespace linac::relay
