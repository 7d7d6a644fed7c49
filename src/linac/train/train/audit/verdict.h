#pragma once
// Who computes wrongly, by what several workers say of one replica. Two that err do so in different bits, so what two
// workers say is right; and who says two things of the same replica has erred in one of them. A worker that lies with a
// purpose is another matter: this is no protection from it. Pure, thread-safe.

#include <cstdint>
#include <vector>

namespace linac::train {

/// What a worker has computed of a replica.
struct Saying {
  int rank = 0;
  uint64_t digest = 0;
};

/// Ascending ranks. None at all: all say the same.
struct Verdict {
  std::vector<int> wrong;
  std::vector<int> suspects;  // of whom all but one are wrong, at least, and nobody can tell which
};

/// Who computes the replica next, of `ranks` workers, before judge() can say the most: one that has not yet; where all
/// have once, each once more. Nobody: judge().
std::vector<int> next_witnesses(const std::vector<Saying>& sayings, int ranks);

Verdict judge(const std::vector<Saying>& sayings);

}  // namespace linac::train
