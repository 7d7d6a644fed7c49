#include "linac/base/job/step_gaps.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "linac/base/base/plural.h"

namespace linac::job {
namespace {

// A text as dump() writes it: no spaces, names without escapes, numbers.
class Plain {
 public:
  explicit Plain(std::string_view text) : text_(text) {}
  bool empty() const { return text_.empty(); }
  bool skip(std::string_view word) {
    if (!text_.starts_with(word)) return false;
    text_.remove_prefix(word.size());
    return true;
  }
  template <class T>
  bool number(T& value) {
    if (text_.empty() || (text_.front() != '-' && (text_.front() < '0' || text_.front() > '9'))) return false;
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    // JSON has neither 01 nor 1. nor infinities.
    const std::string_view digits(text_.data(), static_cast<size_t>(end - text_.data()));
    const std::string_view whole = digits.substr(digits.starts_with('-') ? 1 : 0);
    if (error != std::errc() || whole.ends_with('.') || whole.find(".e") != whole.npos || whole.empty() ||
        whole.front() < '0' || whole.front() > '9' ||
        (whole.size() > 1 && whole[0] == '0' && whole[1] >= '0' && whole[1] <= '9'))
      return false;
    text_.remove_prefix(digits.size());
    return true;
  }
  /// "name":number,... and the end of the object.
  bool members() {
    while (true) {
      double value = 0;
      if (!word() || !skip(":") || !(number(value) || word())) return false;
      if (skip("}")) return true;
      if (!skip(",")) return false;
    }
  }

 private:
  bool word() {
    if (!skip("\"")) return false;
    const size_t end = text_.find('"');
    if (end == text_.npos) return false;
    const auto is_plain = [](char c) { return c >= ' ' && c < '\x7f' && c != '\\'; };
    if (!std::all_of(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(end), is_plain)) return false;
    text_.remove_prefix(end + 1);
    return true;
  }
  std::string_view text_;
};

}  // namespace

std::vector<GapLine> gaps_between(int64_t begin, int64_t end, std::vector<int64_t> there) {
  there.push_back(end + 1);
  std::sort(there.begin(), there.end());
  std::vector<GapLine> gaps;
  int64_t next = begin + 1;
  for (const int64_t step : there) {
    if (step > end + 1) break;
    if (step > next) {
      if (gaps.size() < kGapsMax) gaps.push_back({.first = next, .last = next, .steps = 0, .global_step = end});
      gaps.back().last = step - 1;
      gaps.back().steps += step - next;
    }
    next = std::max(next, step + 1);
  }
  return gaps;
}

std::optional<int64_t> step_of_plain_line(std::string_view line) {
  Plain plain(line);
  int64_t epoch = 0, step = 0;
  const bool begins = plain.skip("{\"epoch\":") && plain.number(epoch) && plain.skip(",\"global_step\":") &&
                      plain.number(step) && plain.skip(",\"kind\":\"step\",\"loss\":{");
  if (!begins || !plain.members()) return std::nullopt;
  const bool ends = plain.skip("}") || (plain.skip(",") && plain.members());
  return ends && plain.empty() ? std::optional(step) : std::nullopt;
}

std::string in_words(const std::vector<GapLine>& gaps) {
  constexpr size_t kNamed = 3;
  std::vector<std::string> named;
  int64_t more = 0;
  for (const GapLine& gap : gaps) {
    if (named.size() == kNamed || gap.steps <= gap.last - gap.first) {
      more += gap.steps;
    } else {
      named.push_back(gap.steps == 1 ? fmt::format("step {}", gap.first)
                                     : fmt::format("steps {} to {}", gap.first, gap.last));
    }
  }
  return fmt::format("{}{}", fmt::join(named, ", "), more > 0 ? " and " + plural(more, "more step") : "");
}

}  // namespace linac::job
