#include "linac/train/comm/transport/neighbour_links.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

#include "linac/base/base/log.h"
#include "linac/base/base/piece_of_work.h"
#include "linac/train/comm/transport/control_links.h"
#include "linac/train/comm/transport/membership_node.h"

namespace linac::comm {
namespace {

using Clock = std::chrono::steady_clock;
using storage::FileRange;

/// Before the bytes of an answer; no bytes: the range is not given.
struct AnswerHead {
  uint64_t bytes = 0, checksum = 0;
};

// Waits until the link is ready; throws where the end comes or the time is over.
void wait_for(const SecureLink& link, short events, Clock::time_point last, const ViewEnd& end) {
  std::vector<pollfd> polled{{link.descriptor(), events, 0}};
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(last - Clock::now());
  MembershipNode::wait_for_data(polled, std::max(left, std::chrono::milliseconds(0)), end);
}

void send_all(SecureLink& link, std::span<const std::byte> bytes, Clock::time_point last, const ViewEnd& end) {
  while (!bytes.empty()) {
    const size_t sent = link.send(bytes);
    bytes = bytes.subspan(sent);
    if (sent == 0) wait_for(link, POLLOUT, last, end);
  }
}

void receive_all(SecureLink& link, std::span<std::byte> bytes, Clock::time_point last, const ViewEnd& end) {
  while (!bytes.empty()) {
    const size_t come = link.receive(bytes);
    bytes = bytes.subspan(come);
    if (come == 0) wait_for(link, POLLIN, last, end);
  }
}

std::string encoded(const FileRange& range) {
  return frame(nlohmann::json{{"url", range.url},
                              {"version", range.version},
                              {"size", range.size},
                              {"offset", range.offset},
                              {"bytes", range.bytes}}
                   .dump());
}

std::optional<FileRange> decoded(const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  const auto number = [&](const char* name) {
    const nlohmann::json& value = json.at(name);
    return value.is_number_integer() ? value.get<int64_t>() : -1;  // of which no range has one
  };
  try {
    return FileRange{json.at("url"), json.at("version"), number("size"), number("offset"), number("bytes")};
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

}  // namespace

struct NeighbourLinks::Serving {
  explicit Serving(std::shared_ptr<storage::RangeShare> of) : share(std::move(of)) {}

  const std::shared_ptr<storage::RangeShare> share;
  ViewEnd end{};
  std::mutex mutex{};
  std::condition_variable left{};
  size_t servers = 0;

  std::string request(SecureLink& link) const {
    std::string text(kFrameHeader, '\0');
    receive_all(link, std::as_writable_bytes(std::span(text)), Clock::now() + kIdleTime, end);
    const size_t length = frame_length(text);
    if (length > kRequestBytesMax) throw std::runtime_error("no request");
    text.resize(length);
    receive_all(link, std::as_writable_bytes(std::span(text)), Clock::now() + kAnswerTime, end);
    return text;
  }

  // Until the other end closes the link.
  void serve(SecureLink link) const {
    for (;;) {
      const auto range = decoded(request(link));
      if (!range) return;
      const auto held = share->give(*range);
      AnswerHead head{};
      if (held) head = {static_cast<uint64_t>(held->bytes), held->checksum};
      const auto last = Clock::now() + kAnswerTime;
      send_all(link, std::as_bytes(std::span(&head, 1)), last, end);
      if (held) send_all(link, held->content(), last, end);
    }
  }
};

NeighbourLinks::NeighbourLinks(std::shared_ptr<storage::RangeShare> share, Call call)
    : serving_(std::make_shared<Serving>(std::move(share))), call_(std::move(call)) {}

NeighbourLinks::~NeighbourLinks() {
  serving_->end.come();
  std::unique_lock lock(serving_->mutex);
  serving_->left.wait(lock, [this] { return serving_->servers == 0; });
}

void NeighbourLinks::set_others(size_t others) {
  const std::scoped_lock lock(mutex_);
  links_a_peer_ = std::clamp<size_t>(kServersMax / 2 / std::max<size_t>(others, 1), 1, kLinksMax);
}

void NeighbourLinks::take(SecureLink link) {
  {
    const std::scoped_lock lock(serving_->mutex);
    if (serving_->end.has_come() || serving_->servers >= kServersMax) return;
    ++serving_->servers;
  }
  std::thread([serving = serving_, link = std::move(link)]() mutable {
    try {
      serving->serve(std::move(link));
    } catch (const std::exception&) {  // who asked has gone, or is none of the run's
    }
    const std::scoped_lock lock(serving->mutex);
    --serving->servers;
    serving->left.notify_all();
  }).detach();
}

class NeighbourLinks::Loan {
 public:
  // Waits for its turn; a link that was used before is taken first.
  Loan(NeighbourLinks& of, const std::string& address, Clock::time_point last) : of_(of), address_(address) {
    std::unique_lock lock(of_.mutex_);
    Peer& peer = of_.peers_[address];
    if (!of_.returned_.wait_until(lock, last, [&] { return !peer.idle.empty() || peer.links < of_.links_a_peer_; }))
      throw std::runtime_error("no link in time");
    if (peer.idle.empty()) {
      ++peer.links;
    } else {
      link = std::move(peer.idle.back());
      peer.idle.pop_back();
    }
  }
  // A link that failed is not given back.
  ~Loan() {
    const std::scoped_lock lock(of_.mutex_);
    Peer& peer = of_.peers_[address_];
    if (good)
      peer.idle.push_back(std::move(link));
    else
      --peer.links;
    of_.returned_.notify_all();
  }
  Loan(const Loan&) = delete;
  Loan& operator=(const Loan&) = delete;

  SecureLink link;
  bool good = false;

 private:
  NeighbourLinks& of_;
  const std::string& address_;
};

bool NeighbourLinks::ask(const std::string& address, const FileRange& range, std::span<std::byte> bytes,
                         uint64_t& checksum) {
  const auto last = Clock::now() + kAnswerTime;
  const ViewEnd& end = serving_->end;
  const std::string request = encoded(range);
  try {
    Loan loan(*this, address, last);
    AnswerHead head{};
    const auto greet = [&] {
      send_all(loan.link, std::as_bytes(std::span(request)), last, end);
      receive_all(loan.link, std::as_writable_bytes(std::span(&head, 1)), last, end);
    };
    bool asked = false;
    if (loan.link) {
      try {
        greet();
        asked = true;
      } catch (const std::runtime_error&) {  // the other end may have closed it meanwhile
        loan.link.reset();
      }
    }
    if (!asked) {
      loan.link = call_(address, end);
      greet();
    }
    if (head.bytes == bytes.size()) receive_all(loan.link, bytes, last, end);
    checksum = head.checksum;
    piece_is_done();
    loan.good = head.bytes == bytes.size() || head.bytes == 0;
    return head.bytes == bytes.size();
  } catch (const std::exception& error) {
    log::debug(fmt::format("[storage] {} does not give a range: {}", address, error.what()));
    return false;
  }
}

}  // namespace linac::comm
