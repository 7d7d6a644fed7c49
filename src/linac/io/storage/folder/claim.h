#pragma once
// Who writes a folder at a store: one process at a time. The claim is a small object with host and process in it, which
// is written on condition that there is none, renewed by a thread of its own, and removed at the end. One that was not
// renewed for kClaimLeft_s, or whose process was one of this host and has ended, is taken over, on condition that
// nobody else has done that. Times are those of the store's clock.
//
// A server that passes over conditions makes two that begin at the same moment possible: the claim says so.

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "linac/io/storage/folder/claim_holder.h"

namespace linac::storage {

inline constexpr double kClaimLeft_s = 180;

class Claim {
 public:
  /// Of the folder at `url`. User error if another process has it. `renew`: how often.
  Claim(std::string url, TakeOver take_over, std::chrono::milliseconds renew = std::chrono::seconds(30));
  /// Gives the folder back, if it still is its own.
  ~Claim();
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;

  /// Called once by the claim's thread, when another process has taken the folder over.
  void on_loss(std::function<void()> act);
  /// User error if another process is known to have taken the folder over.
  void check() const;
  /// The same, after a look at the store.
  void look();

 private:
  void take(TakeOver take_over);
  void find_out_about_conditions();
  void keep();
  /// What is there: its version, empty if there is none; nothing if it is another process's, which is noted.
  std::optional<std::string> own_version();

  const std::string url_, object_;
  const ClaimHolder self_;
  const std::chrono::milliseconds renew_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool ending_ = false;
  std::string lost_;  // to whom
  std::function<void()> on_loss_;
  std::thread thread_;
};

}  // namespace linac::storage
