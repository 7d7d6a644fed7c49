#include "linac/base/base/strict_json.h"

#include <charconv>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace linac {
namespace {

using nlohmann::json;

bool digit(char c) {
  return c >= '0' && c <= '9';
}

/// The grammar of RFC 8259. Each function reads one thing from where it stands, or says that it is not there.
class Reader {
 public:
  Reader(std::string_view text, int depth_max)
      : at_(text.data()), end_(text.data() + text.size()), depth_max_(depth_max) {}

  bool document(json& into) {
    if (!value(into, 0)) return false;
    skip_space();
    return at_ == end_;
  }

 private:
  void skip_space() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) ++at_;
  }
  bool passed(char c) {
    skip_space();
    if (at_ == end_ || *at_ != c) return false;
    ++at_;
    return true;
  }

  bool value(json& into, int depth) {
    skip_space();
    if (at_ == end_) return false;
    switch (*at_) {
      case '{':
        return object(into, depth + 1);
      case '[':
        return array(into, depth + 1);
      case '"': {
        std::string text;
        if (!string(text)) return false;
        into = std::move(text);
        return true;
      }
      case 't':
        return word("true", into, true);
      case 'f':
        return word("false", into, false);
      case 'n':
        return word("null", into, nullptr);
      default:
        return number(into);
    }
  }

  bool object(json& into, int depth) {
    if (depth > depth_max_) return false;
    ++at_;
    into = json::object();
    auto& members = into.get_ref<json::object_t&>();
    if (passed('}')) return true;
    do {
      skip_space();
      std::string key;
      if (at_ == end_ || *at_ != '"' || !string(key) || !passed(':')) return false;
      const auto [member, is_new] = members.try_emplace(std::move(key));
      if (!is_new || !value(member->second, depth)) return false;
    } while (passed(','));
    return passed('}');
  }

  bool array(json& into, int depth) {
    if (depth > depth_max_) return false;
    ++at_;
    into = json::array();
    auto& items = into.get_ref<json::array_t&>();
    if (passed(']')) return true;
    do {
      if (!value(items.emplace_back(), depth)) return false;
    } while (passed(','));
    return passed(']');
  }

  /// One with escapes, or beyond ASCII, is left to the other parser.
  bool string(std::string& into) {
    const char* const quote = at_++;
    const char* const begin = at_;
    bool plain = true;
    for (; at_ != end_ && *at_ != '"'; ++at_) {
      const auto byte = static_cast<unsigned char>(*at_);
      if (byte < 0x20) return false;
      if (byte >= 0x80) plain = false;
      if (byte != '\\') continue;
      plain = false;
      if (++at_ == end_) return false;
    }
    if (at_ == end_) return false;
    into.assign(begin, at_++);
    if (plain) return true;
    const json parsed = json::parse(quote, at_, nullptr, false);
    if (parsed.is_discarded()) return false;
    into = parsed.get<std::string>();
    return true;
  }

  template <class T>
  bool word(std::string_view wanted, json& into, T meant) {
    if (!std::string_view(at_, end_).starts_with(wanted)) return false;
    at_ += wanted.size();
    into = meant;
    return true;
  }

  const char* after_digits(const char* from) const {
    while (from != end_ && digit(*from)) ++from;
    return from;
  }

  /// Whole ones stay whole while 64 bits hold them.
  bool number(json& into) {
    const char *const begin = at_, *const digits = *begin == '-' ? begin + 1 : begin;
    const char* end = after_digits(digits);
    if (end == digits || (*digits == '0' && end - digits > 1)) return false;
    bool whole = true;
    if (end != end_ && *end == '.') {
      const char* const part = end + 1;
      end = after_digits(part);
      if (end == part) return false;
      whole = false;
    }
    if (end != end_ && (*end == 'e' || *end == 'E')) {
      const char* power = end + 1;
      if (power != end_ && (*power == '+' || *power == '-')) ++power;
      end = after_digits(power);
      if (end == power) return false;
      whole = false;
    }
    at_ = end;
    return (whole && (*begin == '-' ? read<int64_t>(begin, end, into) : read<uint64_t>(begin, end, into))) ||
           read<double>(begin, end, into);
  }

  template <class T>
  static bool read(const char* begin, const char* end, json& into) {
    T value{};
    if (std::from_chars(begin, end, value).ec != std::errc()) return false;
    into = value;
    return true;
  }

  const char* at_;
  const char* const end_;
  const int depth_max_;
};

}  // namespace

std::optional<json> strict_json(std::string_view text, int depth_max) {
  std::optional<json> document(std::in_place);
  if (!Reader(text, depth_max).document(*document)) document.reset();
  return document;
}

}  // namespace linac
