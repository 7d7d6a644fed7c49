#include "linac/train/comm/transport/membership_node.h"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>
#include <set>
#include <stdexcept>

#include "linac/base/base/host.h"
#include "linac/base/base/log.h"
#include "linac/base/stacks/process_stacks.h"
#include "linac/train/comm/meeting/sockets.h"
#include "linac/train/comm/transport/neighbour_links.h"

namespace linac::comm {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

using Post = Watchdog::Post;

constexpr milliseconds kTick{20}, kFarewellTime{1000}, kListWatched{50};
// What the membership's clock takes for one tick at most: the rest, this process was not running.
constexpr int64_t kMaxTickMs = 500;
// In stall timeouts. Scans count their pieces; what LibTorch and the formats' libraries do at the start says nothing.
constexpr int kPatienceAtStart = 4;
// A connection that answers to nothing is noticed by the membership; this only bounds a link that is dead one way.
constexpr int64_t kMaxSilenceMs = 15'000;

uint64_t draw_key() {
  std::random_device device;
  return (uint64_t{device()} << 32 | device()) | 1;
}

MembershipSettings membership_settings(const MembershipNode::Settings& settings) {
  const int64_t stall_ms = settings.stall_timeout.count();
  return {.ping_ms = std::min<int64_t>(200, std::max<int64_t>(20, stall_ms / 10)),
          .silence_ms = std::min(stall_ms, kMaxSilenceMs),
          .quorum_ms = 2 * stall_ms,
          .answer_ms = std::min(2 * stall_ms, kMaxSilenceMs),
          .members_min = settings.members_min,
          .replicas = settings.replicas,
          .pack = settings.pack};
}

// Of a folder that rank 0, who writes views down in its own, does not see.
bool is_first_of_folder(const View& view, int rank) {
  if (rank <= 0) return false;
  const std::string& mine = view.members.at(static_cast<size_t>(rank)).ledger;
  return !mine.empty() && std::none_of(view.members.begin(), view.members.begin() + rank,
                                       [&](const Member& member) { return member.ledger == mine; });
}

Member member_of(const std::string& address, const std::string& ledger) {
  return {
      .seniority = 0, .key = draw_key(), .address = address, .host = host_name(), .pid = getpid(), .ledger = ledger};
}

void set(int event) {
  const uint64_t one = 1;
  [[maybe_unused]] const auto written = write(event, &one, sizeof one);
}

void calm(const Descriptor& event) {
  uint64_t count = 0;
  [[maybe_unused]] const auto taken = read(event.get(), &count, sizeof count);
}

std::string in_words(const Activity& activity) {
  if (activity.what.empty()) return "";
  return fmt::format("; last heard: {} for {:.1f} s", activity.what, static_cast<double>(activity.since_ms) / 1000);
}

}  // namespace

MembershipNode::MembershipNode(const Settings& settings)
    : settings_(settings),
      links_(settings.host, settings.advertise, settings.ports, settings.links, settings.ways),
      desk_(std::make_shared<Desk>()),
      self_(member_of(links_.address(), settings.ledger)),
      membership_(self_, membership_settings(settings), draw_key),
      watchdog_(settings.stall_timeout, [this](const std::string& what, double s) { give_up(what, s); }),
      files_watchdog_(settings.stall_timeout / 2, [this](const std::string& what, double s) { give_up(what, s); }) {
  watchdog_.mark(Post::kTraining, "opening the data and the model", -1, true, kPatienceAtStart);
}

MembershipNode::Desk::Desk() : bell(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!bell) throw environment_error(fmt::format("[comm] no event ({}); raise ulimit -n", std::strerror(errno)));
}

void MembershipNode::Desk::wake() const {
  set(bell.get());
}

MembershipNode::~MembershipNode() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake();
  if (thread_.joinable()) thread_.join();
  std::unique_lock lock(desk_->mutex);
  desk_->copied.wait_for(lock, kFarewellTime, [this] { return desk_->copies == 0; });
}

void MembershipNode::start(const std::function<void(Membership&)>& begin, Ledger ledger) {
  const std::lock_guard lock(mutex_);
  if (ledger) membership_.keep_ledger();
  ledger_ = std::move(ledger);
  begin(membership_);
  thread_ = std::thread([this] { run(); });
}

void MembershipNode::found(const View& first, Ledger ledger) {
  start([&](Membership& membership) { membership.found(first, 0); }, std::move(ledger));
}

void MembershipNode::join(const std::vector<std::string>& contacts, Ledger ledger) {
  start([&](Membership& membership) { membership.join(contacts, 0); }, std::move(ledger));
}

// --- the thread -----------------------------------------------------------------------------------------------------

void MembershipNode::run() {
  auto last = Clock::now();
  std::vector<std::string> watched;
  Clock::time_point listed{};
  std::optional<Clock::time_point> last_words;
  for (;;) {
    watchdog_.mark(Post::kMembership, "the thread that speaks with the other workers", -1, true);
    try {
      ControlLinks::News news = links_.wait(desk_->bell.get(), kTick, watched);
      control_descriptors_ = links_.descriptors();
      const std::lock_guard lock(mutex_);
      calm(desk_->bell);
      const auto now = Clock::now();
      clock_ms_ += std::clamp<int64_t>(std::chrono::duration_cast<milliseconds>(now - last).count(), 0, kMaxTickMs);
      last = now;
      pass_time(std::move(news));
      if (now - listed >= kListWatched) {
        watched = membership_.watched();
        listed = now;
      }
    } catch (const std::exception& error) {
      // An address cannot be used, descriptors are used up: this worker's trouble.
      const std::lock_guard lock(mutex_);
      membership_.depart({static_cast<int>(ErrorCode::kEnvironment), error.what()});
      take_leave();
    }
    const std::lock_guard lock(mutex_);
    // What was queued last still goes out.
    if (ending_ && !last_words) last_words = Clock::now() + 2 * kTick;
    if (last_words && Clock::now() >= *last_words) break;
  }
  watchdog_.mark(Post::kMembership, "", -1, false);
}

void MembershipNode::pass_time(ControlLinks::News news) {
  digest(std::move(news));
  membership_.set_activity(activity());
  membership_.on_tick(clock_ms_);
  std::vector<Desk::Answer> answers;
  std::optional<Failure> verdict;
  {
    const std::lock_guard lock(desk_->mutex);
    answers.swap(desk_->answers);
    verdict.swap(desk_->verdict);
  }
  for (const Desk::Answer& answer : answers) {
    files_watchdog_.mark(Post::kViews, "", -1, false);
    if (answer.next)
      membership_.on_noted(answer.number, *answer.next, clock_ms_);
    else
      membership_.on_note_failed(answer.number, answer.why, clock_ms_);
  }
  if (verdict) membership_.depart(*verdict);
  after_change();
}

// What can still be told to the others after something has failed.
void MembershipNode::take_leave() noexcept {
  try {
    after_change();
  } catch (const std::exception& error) {
    log::warn(error.what());
  }
  changed_.notify_all();
}

void MembershipNode::digest(ControlLinks::News news) {
  for (const std::string& address : news.refused) membership_.on_refused(address, clock_ms_);
  for (const std::string& bytes : news.messages) {
    std::optional<Message> message;
    try {
      message = decode_message(bytes, membership_.view());
    } catch (const std::exception& error) {
      log::warn(fmt::format("[comm] a message that cannot be read ({})", error.what()));
    }
    if (message) membership_.on_message(*message, clock_ms_);
  }
  for (ControlLinks::Data& arrived : news.data) {
    const Hello& hello = arrived.hello;
    if (hello.channel == kNeighbourChannel) {
      welcome_neighbour(std::move(arrived.link));
      continue;
    }
    if (hello.view < given_view_) continue;
    data_[{hello.view, hello.channel, hello.from}] = std::move(arrived.link);
  }
}

void MembershipNode::after_change() {
  // What goes to many is written once.
  const Membership::Outgoing* last = nullptr;
  std::string bytes;
  const auto all = membership_.take_outgoing();
  for (const auto& outgoing : all) {
    if (last == nullptr || outgoing.knows_view != last->knows_view || !(outgoing.message == last->message))
      bytes = encode(outgoing.message, outgoing.knows_view ? &membership_.view() : nullptr);
    last = &outgoing;
    links_.send(outgoing.to, bytes, membership_.key());
  }
  if (const auto note = membership_.take_note()) write_down(*note);
  rank_ = membership_.rank();
  say_events();
  const bool in_view = membership_.running() && membership_.view().number == given_view_;
  if (given_view_ > 0 && !in_view && !view_end_->has_come()) view_end_->come();
  changed_.notify_all();
}

void MembershipNode::say_events() {
  for (const MembershipEvent& event : membership_.take_events()) {
    const std::string said = fmt::format("[comm] {}", event.text);
    if (event.kind == MembershipEvent::Kind::kNote) {
      log::debug(said);
      continue;
    }
    if (event.kind != MembershipEvent::Kind::kLost) {
      event.kind == MembershipEvent::Kind::kTrouble ? log::warn(said) : log::info(said);
      continue;
    }
    std::string text = fmt::format("[comm] lost {}{}", event.text, in_words(event.last_activity));
    // One of the survivors is enough to say where it hangs.
    if (event.silent && event.silent->host == self_.host && event.silent->pid != self_.pid && membership_.leads())
      text.append("\n").append(stacks::process_stacks(static_cast<pid_t>(event.silent->pid)));
    log::warn(text);
  }
}

Activity MembershipNode::activity() const {
  Activity now = watchdog_.activity(Post::kTraining);
  now.pace_s = pace_s_;
  now.account = account_;
  return now;
}

// A disk may not answer for a long time, or never: nobody else is to wait for it.
void MembershipNode::write_down(const LedgerNote& note) {
  files_watchdog_.mark(Post::kViews, "writing down the view after number", static_cast<int>(note.number), true);
  std::thread([ledger = ledger_, note, desk = desk_] {
    Desk::Answer answer{.number = note.number, .next = {}};
    try {
      answer.next = ledger(note.number, note.next);
    } catch (const std::exception& error) {
      answer.why = error.what();
    }
    {
      const std::lock_guard lock(desk->mutex);
      desk->answers.push_back(std::move(answer));
    }
    desk->wake();
  }).detach();
}

// So that newcomers find the others in this folder too; nothing is decided by it, and nobody waits for the disk before
// the end.
void MembershipNode::copy_view(const View& view) {
  {
    const std::lock_guard lock(desk_->mutex);
    ++desk_->copies;
  }
  std::thread([ledger = ledger_, view, desk = desk_] {
    try {
      ledger(view.number - 1, view);
    } catch (const std::exception& error) {
      log::warn(fmt::format("[comm] newcomers will not find view {} in this folder ({})", view.number, error.what()));
    }
    const std::lock_guard lock(desk->mutex);
    --desk->copies;
    desk->copied.notify_all();
  }).detach();
}

// On a watchdog's thread: takes no lock that what hangs may hold. The others are told if that is still possible; they
// notice the end of this process at any rate.
void MembershipNode::give_up(const std::string& what, double seconds) {
  const Error error(ErrorCode::kHang, fmt::format("[comm] rank {} has made no progress for {:.1f} s: {}\n{}",
                                                  rank_.load(), seconds, what, stacks::own_stacks()));
  {
    const std::lock_guard lock(desk_->mutex);
    desk_->verdict = {static_cast<int>(error.code()), error.what()};
  }
  wake();
  std::this_thread::sleep_for(kFarewellTime);
  if (settings_.on_hang) settings_.on_hang(error);
}

// --- the training's side --------------------------------------------------------------------------------------------

std::optional<MembershipNode::Place> MembershipNode::await_view(int64_t number) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] {
    return membership_.phase() == Membership::Phase::kEnded ||
           (membership_.running() && membership_.view().number > number);
  });
  if (membership_.phase() == Membership::Phase::kEnded) {
    const Failure& ending = membership_.ending();
    if (ending.code == 0) return std::nullopt;
    throw Error(static_cast<ErrorCode>(ending.code), ending.text);
  }
  given_view_ = membership_.view().number;
  if (view_end_) view_end_->come();
  view_end_ = std::make_shared<ViewEnd>();
  changed_.notify_all();
  std::erase_if(data_, [&](const auto& entry) { return std::get<0>(entry.first) < given_view_; });
  if (ledger_ && is_first_of_folder(membership_.view(), membership_.rank())) copy_view(membership_.view());
  return Place{membership_.view(), membership_.rank(), view_end_};
}

void MembershipNode::leave_view(const std::string& why) {
  {
    const std::lock_guard lock(mutex_);
    if (membership_.view().number == given_view_) membership_.leave_view(why, clock_ms_);
  }
  wake();
}

void MembershipNode::complain_of(const Member& member) {
  const std::lock_guard lock(mutex_);
  if (membership_.view().number == given_view_) membership_.complain_of(member.key);
}

void MembershipNode::shut_out(const Member& member, const Error& why) {
  {
    const std::lock_guard lock(mutex_);
    membership_.shut_out(member.key, {static_cast<int>(why.code()), why.what()}, clock_ms_);
  }
  wake();
}

bool MembershipNode::commit(const Moment& moment) {
  const std::lock_guard lock(mutex_);
  return membership_.view().number == given_view_ && membership_.commit(moment);
}

bool MembershipNode::wants_next_view() {
  const std::lock_guard lock(mutex_);
  return membership_.wants_next_view();
}

void MembershipNode::fail_with(const Error& error, Reach reach) {
  {
    const std::lock_guard lock(mutex_);
    const Failure failure{static_cast<int>(error.code()), error.what()};
    reach == Reach::kThisWorker ? membership_.depart(failure) : membership_.abort(failure);
  }
  mark("ending", -1, true);
  wake();
  std::this_thread::sleep_for(3 * kTick);
}

void MembershipNode::finish() {
  {
    const std::lock_guard lock(mutex_);
    membership_.finish();
  }
  mark("ending", -1, true);
  wake();
}

size_t MembershipNode::descriptors() {
  const std::lock_guard lock(mutex_);
  return control_descriptors_ + data_.size();
}

void MembershipNode::mark(const char* what, int number, bool waiting) {
  watchdog_.mark(Post::kTraining, what, number, !waiting);
}

void MembershipNode::mark_file(const char* what) {
  watchdog_.mark(Post::kCheckpoint, what, -1, *what != '\0');
}

std::vector<SecureLink> MembershipNode::connect_data(const View& view, std::span<const int> to, uint64_t channel,
                                                     const ViewEnd& end) {
  uint64_t key = 0;
  {
    const std::lock_guard lock(mutex_);
    key = membership_.key();
  }
  std::vector<Callee> callees;
  for (const int rank : to) {
    const std::string& address = view.members.at(static_cast<size_t>(rank)).address;
    callees.push_back({rank, address, encode(Hello{address, key, view.number, channel})});
  }
  return call_all(callees, settings_.links, settings_.stall_timeout, end, settings_.ways.get());
}

void MembershipNode::welcome_neighbours(std::function<void(SecureLink)> take) {
  const std::lock_guard lock(mutex_);
  take_neighbour_ = std::move(take);
  for (SecureLink& link : std::exchange(early_neighbours_, {})) welcome_neighbour(std::move(link));
}

// Members do not come to their data at the same moment.
void MembershipNode::welcome_neighbour(SecureLink link) {
  if (!take_neighbour_ && early_neighbours_.size() < NeighbourLinks::kServersMax)
    early_neighbours_.push_back(std::move(link));
  else if (take_neighbour_ && *take_neighbour_)
    (*take_neighbour_)(std::move(link));
}

SecureLink MembershipNode::call_neighbour(const std::string& address, const ViewEnd& end) {
  constexpr milliseconds kCallTime{3000};
  const Callee callee{0, address, encode(Hello{address, self_.key, kNoView, kNeighbourChannel})};
  return std::move(call_all({&callee, 1}, settings_.links, kCallTime, end, settings_.ways.get()).front());
}

MembershipNode::Neighbours MembershipNode::neighbours(const View& view) const {
  Neighbours found;
  std::set<std::string> hosts;
  for (const Member& member : view.members) {
    if (is_by_relay(settings_.ways.get(), member.address)) continue;
    if (!hosts.insert(host_in(without_group(member.address))).second) continue;
    found.names.push_back(member.address);
    if (member.key == self_.key) found.self = member.address;
  }
  return found;
}

void MembershipNode::tell(double pace_s, std::string account) {
  const std::lock_guard lock(mutex_);
  pace_s_ = pace_s;
  account_ = std::move(account);
}

std::vector<Activity> MembershipNode::activities() {
  const std::lock_guard lock(mutex_);
  return membership_.activities();
}

bool MembershipNode::leaving() {
  const std::lock_guard lock(mutex_);
  return view_end_ && view_end_->has_come();
}

void MembershipNode::close_view() noexcept {
  const std::lock_guard lock(mutex_);
  if (view_end_) view_end_->come();
  changed_.notify_all();
}

void MembershipNode::wait_for_data(std::vector<pollfd>& polled, milliseconds limit, const ViewEnd& end) {
  const auto last = Clock::now() + limit;
  polled.push_back({end.descriptor(), POLLIN, 0});
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(last - Clock::now());
    const int ready = poll(polled.data(), polled.size(), static_cast<int>(std::max<int64_t>(0, left.count())));
    if (ready < 0 && errno != EINTR) throw std::runtime_error(std::strerror(errno));
    if (ready > 0 && polled.back().revents != 0) throw std::runtime_error("the view is being left");
    if (ready > 0) return;
    if (left.count() <= 0) throw std::runtime_error("timed out");
  }
}

SecureLink MembershipNode::accept_data(const View& view, int from, uint64_t channel, milliseconds limit,
                                       const ViewEnd& end) {
  const std::tuple key(view.number, channel, view.members.at(static_cast<size_t>(from)).key);
  std::unique_lock lock(mutex_);
  const bool told = changed_.wait_for(lock, limit, [&] { return data_.contains(key) || end.has_come(); });
  if (const auto found = data_.find(key); found != data_.end()) {
    SecureLink link = std::move(found->second);
    data_.erase(found);
    return link;
  }
  throw std::runtime_error(told ? "the view is being left" : "no connection in time");
}

}  // namespace linac::comm
