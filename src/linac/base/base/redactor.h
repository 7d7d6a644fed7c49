#pragma once
// Secrets in text, replaced by their names: "[secret AWS_SECRET_ACCESS_KEY]". All are looked for at once, in one pass
// however many there are (Aho and Corasick, Comm. ACM 18 (1975) 333). A value is found as it stands: not in another
// encoding, nor cut by a line break of the one who prints it.
//
// Of a value that has several lines each line counts for itself, without the space around it: so a file of keys is
// found however it is printed. What is shorter than kRedactedMin is left alone, it would be found everywhere.
//
// A Redactor is a plain value, and does not change: to be read by several threads. RedactedStream belongs to one.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace linac {

inline constexpr size_t kRedactedMin = 6;  // bytes

class Redactor {
 public:
  Redactor() : nodes_(1) {}
  /// Names with their values.
  explicit Redactor(const std::vector<std::pair<std::string, std::string>>& secrets);

  bool empty() const { return nodes_.size() == 1; }
  /// `text` with what it holds of the values replaced. Of those that overlap the one that begins first is named.
  std::string redacted(std::string_view text) const;

 private:
  friend class RedactedStream;
  struct Node {
    int32_t fallback = 0;  // the longest other prefix of a value that what was read ends with
    int32_t depth = 0;     // bytes of the prefix
    int32_t found = 0;     // bytes of the longest value that ends here, 0: none
    int32_t secret = 0;    // which
    bool goes_on = false;  // a value has it as its beginning
  };
  void add(std::string_view value, int32_t secret);
  void link();
  int32_t child(int32_t node, unsigned char byte) const;
  int32_t next(int32_t node, unsigned char byte) const;

  std::vector<std::string> labels_;
  std::vector<Node> nodes_;                         // 0: nothing read
  std::unordered_map<uint64_t, int32_t> children_;  // by node and byte
};

/// Text that comes in pieces, wherever they are cut.
class RedactedStream {
 public:
  /// Outlived by `redactor`.
  explicit RedactedStream(const Redactor& redactor) : redactor_(redactor) {}
  /// What can be told by now: the end is held back while it may be the beginning of a value.
  std::string take(std::string_view piece);
  /// What was held back.
  std::string end();

 private:
  struct Found {
    size_t begin, end;
    int32_t secret;
  };
  std::string told(size_t until);

  const Redactor& redactor_;
  std::string held_;          // that has not been told
  std::vector<Found> found_;  // in it, apart and in order
  int32_t node_ = 0;
};

}  // namespace linac
