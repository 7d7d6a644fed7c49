#include "linac/train/train/audit/verdict.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace linac::train {
namespace {

std::map<int, std::set<uint64_t>> said_by_rank(const std::vector<Saying>& sayings) {
  std::map<int, std::set<uint64_t>> said;
  for (const Saying& one : sayings) said[one.rank].insert(one.digest);
  return said;
}

// What more workers say than anything else, and at least two do.
std::optional<uint64_t> right_one(const std::vector<Saying>& sayings) {
  std::map<uint64_t, std::set<int>> ranks_with;
  for (const Saying& one : sayings) ranks_with[one.digest].insert(one.rank);
  size_t most = 1;
  std::optional<uint64_t> found;
  for (const auto& [digest, ranks] : ranks_with) {
    if (ranks.size() > most)
      found = digest;
    else if (ranks.size() == most)
      found.reset();
    most = std::max(most, ranks.size());
  }
  return found;
}

bool agree(const std::vector<Saying>& sayings) {
  return std::ranges::all_of(sayings, [&](const Saying& one) { return one.digest == sayings.front().digest; });
}

}  // namespace

std::vector<int> next_witnesses(const std::vector<Saying>& sayings, int ranks) {
  if (agree(sayings) || right_one(sayings)) return {};
  const auto said = said_by_rank(sayings);
  for (int i = 1; i < ranks; ++i)
    if (const int rank = (sayings.back().rank + i) % ranks; !said.contains(rank)) return {rank};
  if (sayings.size() > said.size()) return {};  // each had its second word
  std::vector<int> all;
  for (const auto& [rank, digests] : said) all.push_back(rank);
  return all;
}

Verdict judge(const std::vector<Saying>& sayings) {
  Verdict verdict;
  if (agree(sayings)) return verdict;
  const auto right = right_one(sayings);
  for (const auto& [rank, digests] : said_by_rank(sayings)) {
    if (digests.size() > 1 || (right && !digests.contains(*right)))
      verdict.wrong.push_back(rank);
    else if (!right)
      verdict.suspects.push_back(rank);
  }
  if (verdict.suspects.size() == 1) verdict.suspects.clear();  // the only one that stands by its word
  return verdict;
}

}  // namespace linac::train
