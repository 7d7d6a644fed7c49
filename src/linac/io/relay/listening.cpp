#include "linac/io/relay/listening.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <stdexcept>

#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/base/base/utf8.h"

namespace linac::relay {
namespace {

using std::chrono::milliseconds;

// A relay that has been started again is found within so long.
constexpr milliseconds kFirstPause{100}, kLongestPause{2000};
// Of what is said before a connection is anybody's own.
constexpr milliseconds kApproachTime{10'000};
// A relay says something four times in this time, if it is there.
constexpr milliseconds kSilence{60'000};
constexpr size_t kTakenMax = 1024, kComeMax = 1024;

Descriptor make_event() {
  Descriptor event(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event) throw environment_error(fmt::format("[relay] no event ({}); raise ulimit -n", std::strerror(errno)));
  return event;
}

void set(int event) {
  const uint64_t one = 1;
  [[maybe_unused]] const auto written = write(event, &one, sizeof one);
}

}  // namespace

struct Listening::Post {
  std::optional<Relays::Begun> way{};
  bool listens = false;
  bool told = false;  // that it is not there
  std::string line{};
  Clock::time_point since{}, again{};  // begun, or heard last; not before
  milliseconds pause = kFirstPause;
};

struct Listening::Taken {
  Relays::Begun way;
  Clock::time_point since;
};

Listening::Listening(std::shared_ptr<const Relays> relays, std::string name)
    : relays_(std::move(relays)), name_(std::move(name)), bell_(make_event()), end_(make_event()) {
  posts_.resize(relays_->size());
  thread_ = std::thread([this] { run(); });
}

Listening::~Listening() {
  set(end_.get());
  thread_.join();
}

Descriptor Listening::take() {
  const std::lock_guard lock(mutex_);
  if (come_.empty()) {
    uint64_t count = 0;
    [[maybe_unused]] const auto taken = read(bell_.get(), &count, sizeof count);
    return Descriptor();
  }
  Descriptor first = std::move(come_.front());
  come_.pop_front();
  return first;
}

void Listening::run() {
  std::vector<pollfd> polled;
  for (;;) {
    const auto now = Clock::now();
    auto wake = now + kApproachTime;
    for (size_t i = 0; i < posts_.size(); ++i) {
      Post& post = posts_[i];
      if (!post.way && now >= post.again) begin(i, post);
      if (!post.way) wake = std::min(wake, post.again);
    }
    polled.assign(1, {end_.get(), POLLIN, 0});
    for (const Post& post : posts_)
      polled.push_back({post.way ? post.way->socket.get() : -1,
                        post.way && !post.listens ? post.way->approach.awaits() : short{POLLIN}, 0});
    for (const Taken& taken : taken_) polled.push_back({taken.way.socket.get(), taken.way.approach.awaits(), 0});
    const auto patience = std::chrono::ceil<milliseconds>(wake - now);
    if (poll(polled.data(), polled.size(), static_cast<int>(patience.count())) < 0 && errno != EINTR) return;
    if (polled[0].revents != 0) return;
    size_t next = 1 + posts_.size();
    std::erase_if(taken_, [&](Taken& taken) {
      return (polled[next++].revents != 0 && go_on(taken)) || Clock::now() - taken.since > kApproachTime;
    });
    for (size_t i = 0; i < posts_.size(); ++i) {
      Post& post = posts_[i];
      if (!post.way) continue;
      if (polled[1 + i].revents != 0) {
        try {
          while (post.way && serve(i, post)) {
          }
        } catch (const std::runtime_error& error) {
          lose(i, post, error.what());
        }
      } else if (Clock::now() - post.since > (post.listens ? kSilence : kApproachTime)) {
        lose(i, post, "it does not answer");
      }
    }
  }
}

void Listening::begin(size_t relay, Post& post) {
  post.since = Clock::now();
  post.listens = false;
  post.line.clear();
  try {
    post.way = relays_->begin(relay, Role::kListen, name_);
    if (!post.way->socket) lose(relay, post, "there is no way to it");
  } catch (const Error& error) {
    lose(relay, post, error.what());
  }
}

void Listening::lose(size_t relay, Post& post, const std::string& why) {
  if (!post.told) log::warn(fmt::format("[relay] {}: {}; trying again", relays_->address(relay), why));
  post.told = true;
  if (post.listens) post.pause = kFirstPause;
  post.way.reset();
  post.listens = false;
  post.again = Clock::now() + post.pause;
  post.pause = std::min(2 * post.pause, kLongestPause);
}

// True while there may be more.
bool Listening::serve(size_t relay, Post& post) {
  if (!post.listens) {
    post.listens = post.way->approach.advance(post.way->socket.get());
    if (!post.listens) return false;
    post.pause = kFirstPause;
    if (std::exchange(post.told, false)) log::info(fmt::format("[relay] {} is there again", relays_->address(relay)));
  }
  char bytes[4096];
  const ssize_t size = recv(post.way->socket.get(), bytes, sizeof bytes, MSG_DONTWAIT);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (size < 0) throw std::runtime_error(std::strerror(errno));
  if (size == 0) throw std::runtime_error("it has closed the connection");
  post.since = Clock::now();
  post.line.append(bytes, static_cast<size_t>(size));
  for (size_t end = 0; (end = post.line.find('\n')) != std::string::npos; post.line.erase(0, end + 1)) {
    const std::string line = post.line.substr(0, end);
    if (line == kStillWord) continue;
    if (line.starts_with(kNo)) throw std::runtime_error(printable(line.substr(kNo.size())));
    if (!line.starts_with(kCallWord)) throw std::runtime_error("it says what no relay says");
    take_call(relay, line.substr(kCallWord.size()));
  }
  if (post.line.size() > kLineBytesMax) throw std::runtime_error("it says what no relay says");
  return true;
}

// Who is not taken calls again.
void Listening::take_call(size_t relay, const std::string& ticket) {
  if (taken_.size() >= kTakenMax || !is_name(ticket)) return;
  try {
    Taken taken{relays_->begin(relay, Role::kTake, ticket), Clock::now()};
    if (taken.way.socket) taken_.push_back(std::move(taken));
  } catch (const Error& error) {
    log::warn(error.what());
  }
}

// True once it is over, well or not.
bool Listening::go_on(Taken& taken) {
  try {
    if (!taken.way.approach.advance(taken.way.socket.get())) return false;
  } catch (const std::runtime_error&) {
    return true;  // whoever called has gone
  }
  const std::lock_guard lock(mutex_);
  if (come_.size() < kComeMax) come_.push_back(std::move(taken.way.socket));
  set(bell_.get());
  return true;
}

}  // namespace linac::relay
