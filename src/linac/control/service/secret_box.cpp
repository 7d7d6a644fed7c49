#include "linac/control/service/secret_box.h"

#include <fmt/format.h>
#include <sodium.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <vector>

#include "linac/base/base/error.h"
#include "linac/base/base/private_file.h"
#include "linac/control/service/data_folder.h"

namespace linac::service {
namespace {

// version, id of the key, nonce, ciphertext with its tag
constexpr size_t kIdBytes = 8, kNonceBytes = crypto_aead_xchacha20poly1305_ietf_NPUBBYTES,
                 kTagBytes = crypto_aead_xchacha20poly1305_ietf_ABYTES,
                 kKeyBytes = crypto_aead_xchacha20poly1305_ietf_KEYBYTES, kHeadBytes = 1 + kIdBytes + kNonceBytes;
constexpr std::byte kVersion{1};
constexpr size_t kKeyFileBytesMax = 4096, kKeysMax = 16;
constexpr std::string_view kPurpose = "linac secret 1";

unsigned char* bytes_of(catalog::Bytes& bytes) {
  return reinterpret_cast<unsigned char*>(bytes.data());
}
const unsigned char* bytes_of(const std::string& text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

void begin() {
  static const int kReady = sodium_init();
  LINAC_CHECK(kReady >= 0);
}

/// A key while it is used; its bytes do not stay in memory.
class Key {
 public:
  Key() {
    begin();
    crypto_aead_xchacha20poly1305_ietf_keygen(bytes_);
  }
  ~Key() { sodium_memzero(bytes_, kKeyBytes); }
  Key(const Key&) = default;
  Key& operator=(const Key&) = default;

  static bool parse(std::string_view digits, Key& key) {
    size_t size = 0;
    return digits.size() == 2 * kKeyBytes &&
           sodium_hex2bin(key.bytes_, kKeyBytes, digits.data(), digits.size(), nullptr, &size, nullptr) == 0 &&
           size == kKeyBytes;
  }
  std::string digits() const {
    std::string text(2 * kKeyBytes + 1, '\0');
    sodium_bin2hex(text.data(), text.size(), bytes_, kKeyBytes);
    text.pop_back();
    return text;
  }
  /// Says which key it is, and nothing of it.
  std::string id() const {
    std::string id(crypto_generichash_BYTES_MIN, '\0');
    crypto_generichash(reinterpret_cast<unsigned char*>(id.data()), id.size(), bytes_, kKeyBytes, bytes_of(purpose_),
                       purpose_.size());
    id.resize(kIdBytes);
    return id;
  }
  const unsigned char* bytes() const { return bytes_; }

 private:
  inline static const std::string purpose_ = "linac id of a key of secrets";
  unsigned char bytes_[kKeyBytes];
};

std::string place_text(const SealedFor& place) {
  std::string text(kPurpose);
  for (const std::string* part : {&place.user, &place.name, &place.kind}) text.append(1, '\0').append(*part);
  return text;
}

std::string id_of(const catalog::Bytes& sealed) {
  if (sealed.size() < kHeadBytes + kTagBytes || sealed.front() != kVersion) return "";
  return {reinterpret_cast<const char*>(sealed.data()) + 1, kIdBytes};
}

std::string ways_out(const std::filesystem::path& file) {
  return fmt::format(
      "put {} back as it was, from where it is kept apart from backups; if it is lost for ever, an admin begins anew "
      "with `linac secrets rotate-key --drop-unreadable`, and users set theirs again",
      file.string());
}

/// None if there is no file.
std::vector<Key> keys_in(const std::filesystem::path& file) {
  std::optional<std::string> text;
  try {
    text = read_private_file(file, kKeyFileBytesMax);
  } catch (const Error& error) {
    throw environment_error(fmt::format("[secrets] the key cannot be used: {}", error.what()));
  }
  std::vector<Key> keys;
  if (!text) return keys;
  for (std::string_view rest = *text; !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
    if (line.empty()) continue;
    Key key;
    if (keys.size() == kKeysMax || !Key::parse(line, key))
      throw environment_error(
          fmt::format("[secrets] {}: is not a key of linac any longer; {}", file.string(), ways_out(file)));
    keys.push_back(key);
  }
  sodium_memzero(text->data(), text->size());
  if (keys.empty()) throw environment_error(fmt::format("[secrets] {}: is empty; {}", file.string(), ways_out(file)));
  return keys;
}

void write_keys(const std::filesystem::path& file, const std::vector<Key>& keys) {
  const std::filesystem::path folder = file.parent_path();
  if (::mkdir(folder.c_str(), S_IRWXU) != 0 && errno != EEXIST)
    throw environment_error(fmt::format("[secrets] {}: cannot be made ({})", folder.string(), std::strerror(errno)));
  std::string text;
  for (const Key& key : keys) text += key.digits() + "\n";
  write_private_file(file, text);
  sodium_memzero(text.data(), text.size());
}

}  // namespace

SecretBox::SecretBox(std::filesystem::path data) : file_(std::move(data) / kPrivateFolder / "secrets.key") {}

catalog::Bytes SecretBox::seal(const SealedFor& place, const std::string& value, bool others) const {
  std::vector<Key> keys = keys_in(file_);
  if (keys.empty() && others)
    throw environment_error(fmt::format("[secrets] the key of the secrets that there are is gone ({}); {}",
                                        file_.string(), ways_out(file_)));
  if (keys.empty()) {
    keys.emplace_back();
    write_keys(file_, keys);
  }
  const Key& key = keys.front();
  const std::string for_place = place_text(place), id = key.id();
  catalog::Bytes sealed(kHeadBytes + value.size() + kTagBytes);
  sealed[0] = kVersion;
  std::memcpy(sealed.data() + 1, id.data(), kIdBytes);
  unsigned char* nonce = bytes_of(sealed) + 1 + kIdBytes;
  randombytes_buf(nonce, kNonceBytes);
  crypto_aead_xchacha20poly1305_ietf_encrypt(bytes_of(sealed) + kHeadBytes, nullptr, bytes_of(value), value.size(),
                                             bytes_of(for_place), for_place.size(), nullptr, nonce, key.bytes());
  return sealed;
}

std::string SecretBox::open(const SealedFor& place, const catalog::Bytes& sealed) const {
  const std::vector<Key> keys = keys_in(file_);
  const std::string id = id_of(sealed), for_place = place_text(place);
  const auto key = std::find_if(keys.begin(), keys.end(), [&](const Key& one) { return one.id() == id; });
  if (!id.empty() && key == keys.end())
    throw environment_error(fmt::format("[secrets] {} was sealed with another key than {} has; {}", place.name,
                                        keys.empty() ? "the service, which has none:" : file_.string(),
                                        ways_out(file_)));
  std::string value(sealed.size() - std::min(sealed.size(), kHeadBytes + kTagBytes), '\0');
  const auto* bytes = reinterpret_cast<const unsigned char*>(sealed.data());
  if (id.empty() ||
      crypto_aead_xchacha20poly1305_ietf_decrypt(reinterpret_cast<unsigned char*>(value.data()), nullptr, nullptr,
                                                 bytes + kHeadBytes, sealed.size() - kHeadBytes, bytes_of(for_place),
                                                 for_place.size(), bytes + 1 + kIdBytes, key->bytes()) != 0)
    throw data_error(fmt::format(
        "[secrets] {} was altered in the database, or is another's: it does not open; set it again", place.name));
  return value;
}

bool SecretBox::has_key_of(const catalog::Bytes& sealed) const {
  try {
    const std::vector<Key> keys = keys_in(file_);
    const std::string id = id_of(sealed);
    return std::any_of(keys.begin(), keys.end(), [&](const Key& one) { return one.id() == id; });
  } catch (const Error&) {
    return false;
  }
}

void SecretBox::add_key() const {
  std::vector<Key> keys(1);
  try {
    for (const Key& key : keys_in(file_)) keys.push_back(key);
  } catch (const Error&) {  // it opens nothing
  }
  if (keys.size() > kKeysMax) keys.resize(kKeysMax);
  write_keys(file_, keys);
}

void SecretBox::forget_former_keys() const {
  std::vector<Key> keys = keys_in(file_);
  if (keys.size() <= 1) return;
  keys.resize(1);
  write_keys(file_, keys);
}

}  // namespace linac::service
