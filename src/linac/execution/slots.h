#pragma once
// What this host can give to jobs, and who has it: cores and GPUs by number, memory by size. One thread.

#include <optional>
#include <string>
#include <vector>

#include "linac/catalog/queue.h"
#include "linac/launch/command.h"

namespace linac::execution {

class Slots {
 public:
  Slots(std::vector<int> cores, int64_t memory_mb, std::vector<int> gpus);
  /// All of this host that this process may use: its cores, its memory, its NVIDIA GPUs.
  static Slots of_host();
  /// "cores=8,memory=32G,gpus=2": of the host's no more than that; what is not named stays. User error for anything
  /// else.
  static Slots of_text(const std::string& text);

  const catalog::Resources& all() const { return all_; }
  catalog::Resources free() const;
  /// Why `wanted` can never be had here; "" if it can.
  std::string why_never(const catalog::Resources& wanted) const;

  /// Takes them; none if they are not free.
  std::optional<launch::Limits> take(const catalog::Resources& wanted);
  /// Takes what an attempt has that was found again, even if somebody else has it too.
  void retake(const launch::Limits& limits, const catalog::Resources& wanted);
  void give_back(const launch::Limits& limits, const catalog::Resources& wanted);

 private:
  catalog::Resources all_;
  std::vector<int> own_cores_, own_gpus_;
  std::vector<int> cores_, gpus_;  // free ones of them
  int64_t memory_mb_;
};

}  // namespace linac::execution
