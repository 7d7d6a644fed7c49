#pragma once
// Whether each core of this host computes the same bits, and the right ones: `linac bench audit`. A core computes
// pieces again and again: those of the kernels for each instruction set of the processor, whose bits are known
// (kernels/known_bits.h), and what LibTorch takes (processor_probe.h), whose bits depend on the processor: there what
// most cores say is right. Thread-safe.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace linac::models {

struct CorePiece {
  std::string name;               // "GRU and LSTM, avx512", "LibTorch"
  std::optional<uint64_t> known;  // the digest, if it is
};
std::vector<CorePiece> core_pieces();

/// What a core has said of each piece, in their order.
struct CoreSayings {
  int core = 0;
  int64_t passes = 0;                                // through all pieces
  std::vector<std::map<uint64_t, int64_t>> digests;  // by piece: how often each
};

/// Changes results before they are looked at: a core that errs, for those who want to see it found. `pass` counts the
/// core's. On several threads.
using SpoilResults = std::function<void(int core, int64_t pass, std::span<float> results)>;

struct CoreAudit {
  std::vector<int> cores;  // all at a time, as some err under load only
  double seconds = 60;     // as long as that, two passes at least
  SpoilResults spoil = {};
  std::function<void(double seconds, int64_t passes)> tell = {};  // now and then, the passes of all cores
};
/// Environment error where a core takes no thread.
std::vector<CoreSayings> ask_cores(const CoreAudit& audit);

/// What is wrong with a piece. A core that contradicts itself is wrong. Where nothing is known and no more than half of
/// those that stand by their word agree, nobody can tell who of them is.
struct CoreFinding {
  std::string piece;
  std::map<int, int64_t> wrong;  // by core: in how many passes
  std::vector<int> suspects;
  bool alike = false;  // all of several cores are wrong, and say one and the same: the processor, or this program
};
std::vector<CoreFinding> judge_cores(const std::vector<CorePiece>& pieces, const std::vector<CoreSayings>& cores);

}  // namespace linac::models
