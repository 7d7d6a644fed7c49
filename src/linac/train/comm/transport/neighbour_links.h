#pragma once
// Ranges of files between the workers of a run (io/storage/neighbours/range_share.h), over links like those of their
// other data, which do not depend on the view: whoever is asked answers from a thread of its own, whatever its training
// does. A request is a frame with JSON, the answer a head and the bytes. Thread-safe.

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "linac/io/storage/neighbours/range_share.h"
#include "linac/train/comm/transport/secure_link.h"
#include "linac/train/comm/transport/view_end.h"

namespace linac::comm {

/// Of a hello (control_links.h): a link for ranges, in no view.
inline constexpr uint64_t kNeighbourChannel = UINT64_MAX;
inline constexpr int64_t kNoView = -1;

class NeighbourLinks : public storage::RangeLinks {
 public:
  static constexpr std::chrono::seconds kAnswerTime{30};  // for a link, an answer and all of its bytes
  static constexpr std::chrono::seconds kIdleTime{300};   // nobody asks: the link is closed
  static constexpr size_t kServersMax = 256, kLinksMax = 8, kRequestBytesMax = 1 << 16;

  /// A link to that address, established, with its hello sent; throws std::exception. Ends early when `end` comes.
  using Call = std::function<SecureLink(const std::string& address, const ViewEnd& end)>;

  NeighbourLinks(std::shared_ptr<storage::RangeShare> share, Call call);
  /// Waits for what is being read for others: as long as a store has time to answer.
  ~NeighbourLinks() override;

  /// So many others share: what each may have of this process's links.
  void set_others(size_t others);
  bool ask(const std::string& address, const storage::FileRange& range, std::span<std::byte> bytes,
           uint64_t& checksum) override;
  /// Somebody who will ask. Beyond kServersMax the link is closed.
  void take(SecureLink link);

 private:
  /// What the threads that answer have in common.
  struct Serving;
  struct Peer {
    std::vector<SecureLink> idle{};
    size_t links = 0;  // with those in use
  };
  /// One of a peer's links, for one request.
  class Loan;

  const std::shared_ptr<Serving> serving_;
  const Call call_;
  std::mutex mutex_;
  std::condition_variable returned_;
  size_t links_a_peer_ = kLinksMax;
  std::map<std::string, Peer> peers_;
};

}  // namespace linac::comm
