#pragma once
// Who has claimed a folder, as the claim's text says: the same for folders at a store (claim.h) and those of this
// host's file systems (local_claim.h). Values; thread-safe functions.

#include <string>

#include "linac/base/base/process_key.h"

namespace linac::storage {

enum class TakeOver { kIfLeft, kAtOnce };

struct ClaimHolder {
  std::string token;  // drawn by whoever claims: tells the claims apart
  std::string host, since, numbers;
  ProcessKey process;

  /// This process, from now on.
  static ClaimHolder here();
  /// Of foreign bytes: what cannot be read is "somebody" without a token.
  static ClaimHolder parse(const std::string& content);
  std::string text() const;

  /// Whether it was a process of this host, which has ended.
  bool has_ended() const;
  /// "process 7711 on n04, since 2026-01-31T14:05:09Z"
  std::string words() const;
};

std::string draw_claim_token();
/// What ends whoever had it.
std::string taken_over_words(const std::string& folder, const std::string& by);

}  // namespace linac::storage
