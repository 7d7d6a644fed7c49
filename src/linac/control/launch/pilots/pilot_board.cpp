#include "linac/control/launch/pilots/pilot_board.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/clock.h"
#include "linac/base/base/descriptor.h"
#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/base/base/private_file.h"
#include "linac/base/base/refusal.h"
#include "linac/base/base/secure_random.h"
#include "linac/control/launch/attempt_folder.h"
#include "linac/control/launch/pilots/piece.h"

namespace linac::launch {
namespace {

using nlohmann::json;

constexpr size_t kSecretDigits = 32, kLeaseFileBytesMax = 1 << 16;
constexpr const char *kLeaseFile = "lease.json", *kOutputFile = "output.txt";

[[noreturn]] void refuse_as_over(const std::string& label) {
  throw Refusal(RefusalKind::kState,
                fmt::format("[pilots] the lease of {} is over, or never was; stop that work", label));
}

bool covers(const Demand& room, const Demand& wanted) {
  return wanted.cores <= room.cores && wanted.memory_mb <= room.memory_mb && wanted.gpus <= room.gpus &&
         (room.seconds_max == 0 || wanted.seconds_max <= room.seconds_max);
}

bool has_all(const std::vector<std::string>& tags, const std::vector<std::string>& wanted) {
  return std::all_of(wanted.begin(), wanted.end(),
                     [&](const std::string& tag) { return std::find(tags.begin(), tags.end(), tag) != tags.end(); });
}

/// Of the part of its host that the attempt asks for: the largest of its shares.
double price_of(const Demand& wanted, const PilotAgent& agent) {
  const auto share = [](int64_t part, int64_t all) {
    return part <= 0 ? 0.0 : all <= 0 ? 1.0 : static_cast<double>(part) / static_cast<double>(all);
  };
  return agent.price * std::max({share(wanted.cores, agent.all.cores), share(wanted.memory_mb, agent.all.memory_mb),
                                 share(wanted.gpus, agent.all.gpus)});
}

/// Nobody learns from the time of an answer how far a guess was right.
bool same_text(const std::string& a, const std::string& b) {
  if (a.size() != b.size() || a.empty()) return false;
  unsigned char differ = 0;
  for (size_t i = 0; i < a.size(); ++i) differ |= static_cast<unsigned char>(a[i] ^ b[i]);
  return differ == 0;
}

int64_t size_of(const Descriptor& file) {
  struct stat about {};
  return file && ::fstat(file.get(), &about) == 0 ? about.st_size : 0;
}

}  // namespace

PilotBoard::PilotBoard(std::chrono::milliseconds lease, std::function<Clock::time_point()> clock)
    : lease_(lease), clock_(std::move(clock)) {}

// --- agents

void PilotBoard::ask(const PilotAgent& agent) {
  const std::lock_guard lock(mutex_);
  forget_old_agents();
  const auto found = agents_.find(agent.id);
  const auto his = [&] {
    return static_cast<size_t>(std::count_if(agents_.begin(), agents_.end(),
                                             [&](const auto& item) { return item.second.told.user == agent.user; }));
  };
  if (found == agents_.end() && (agents_.size() >= kAgentsMax || his() >= kAgentsOfUserMax))
    throw Refusal(RefusalKind::kLimit, "[pilots] too many agents; ask again later");
  if (found != agents_.end() && found->second.told.user != agent.user)
    throw Refusal(RefusalKind::kDenied, "[pilots] another user's agent has this id; start it in a folder of its own");
  Agent& known = agents_[agent.id];
  known.told = agent;
  known.told.seen_ms = now_ms();
  known.seen = clock_();
  ++known.asking;
  known.took = false;
  if (!agent.draining) return;
  for (const auto& [label, attempt] : attempts_)
    if (attempt->stage == Stage::kHanded && attempt->agent == agent.id && attempt->until != Clock::time_point::max())
      attempt->stage = Stage::kOffered;  // it will not begin it
}

void PilotBoard::leave(const std::string& agent_id) {
  const std::lock_guard lock(mutex_);
  const auto found = agents_.find(agent_id);
  if (found == agents_.end() || found->second.asking == 0) return;
  if (--found->second.asking == 0) found->second.left = clock_();
}

bool PilotBoard::may_run(const Attempt& attempt, const PilotAgent& agent) {
  const bool avoided = std::ranges::find(attempt.demand.avoid, agent.host) != attempt.demand.avoid.end();
  return !avoided && (agent.of_all || agent.user == attempt.demand.user);
}

bool PilotBoard::suits(const Attempt& attempt, const PilotAgent& agent) const {
  return !agent.draining && may_run(attempt, agent) && covers(agent.free, attempt.demand) &&
         has_all(agent.tags, attempt.demand.tags);
}

/// It asks, or is between two questions.
bool PilotBoard::is_there(const Agent& agent) const {
  return !agent.took && (agent.asking > 0 || clock_() - agent.left < kBetweenMax);
}

bool PilotBoard::has_cheaper(const Attempt& attempt, const PilotAgent& agent) const {
  const double price = price_of(attempt.demand, agent);
  return price > 0 && std::any_of(agents_.begin(), agents_.end(), [&](const auto& item) {
           // Who was given it, and has not begun it, is not waited for again.
           return item.first != attempt.agent && price_of(attempt.demand, item.second.told) < price &&
                  is_there(item.second) && suits(attempt, item.second.told);
         });
}

/// "" where no agent has a price.
std::string PilotBoard::why_chosen(const Attempt& attempt, const PilotAgent& agent) const {
  constexpr size_t kNamedMax = 3;
  const double price = price_of(attempt.demand, agent);
  std::vector<std::string> cheaper;
  bool dearer = false;
  for (const auto& [id, other] : agents_) {
    const double its_price = price_of(attempt.demand, other.told);
    dearer = dearer || its_price > price;
    if (its_price >= price || !may_run(attempt, other.told) || !has_all(other.told.tags, attempt.demand.tags)) continue;
    Demand without_end = attempt.demand;
    without_end.seconds_max = 0;
    cheaper.push_back(fmt::format("{} ({:.3g}) {}", other.told.name, its_price,
                                  !covers(other.told.all, without_end)    ? "is too small"
                                  : other.told.draining                   ? "takes no more"
                                  : !is_there(other)                      ? "does not ask, or is full"
                                  : !covers(other.told.free, without_end) ? "has no room"
                                                                          : "is not there for long enough"));
  }
  if (price <= 0 && !dearer) return "";
  if (cheaper.empty()) return fmt::format("{:.3g} USD an hour, no agent is cheaper", price);
  if (cheaper.size() > kNamedMax) {
    cheaper.resize(kNamedMax);
    cheaper.emplace_back("...");
  }
  return fmt::format("{:.3g} USD an hour; cheaper: {}", price, fmt::join(cheaper, ", "));
}

std::optional<HandedWork> PilotBoard::take(const std::string& agent_id) {
  const std::lock_guard lock(mutex_);
  const auto found = agents_.find(agent_id);
  if (found == agents_.end()) return std::nullopt;
  const PilotAgent& agent = found->second.told;
  if (agent.draining) return std::nullopt;
  const auto handed = [&](const std::string& label, const Attempt& attempt) {
    return HandedWork{label, attempt.secret, attempt.command, attempt.demand, attempt.demand.user == agent.user};
  };
  // The answer with it may have been lost.
  for (const auto& [label, attempt] : attempts_)
    if (attempt->stage == Stage::kHanded && attempt->agent == agent_id && attempt->user == agent.user &&
        may_run(*attempt, agent))
      return handed(label, *attempt);
  for (const auto& [label, attempt] : attempts_) {
    const bool late = attempt->stage == Stage::kHanded && attempt->until < clock_();
    if ((attempt->stage != Stage::kOffered && !late) || !suits(*attempt, agent) || has_cheaper(*attempt, agent))
      continue;
    attempt->chosen = why_chosen(*attempt, agent);
    found->second.took = true;
    attempt->stage = Stage::kHanded;
    attempt->secret = random_hex(kSecretDigits);
    attempt->agent = agent_id;
    attempt->agent_name = agent.name;
    attempt->host = agent.host;
    attempt->user = agent.user;
    attempt->until = clock_() + kHandedMax;
    return handed(label, *attempt);
  }
  return std::nullopt;
}

std::vector<PilotAgent> PilotBoard::agents() const {
  const std::lock_guard lock(mutex_);
  std::vector<PilotAgent> agents;
  for (const auto& [id, agent] : agents_) {
    PilotAgent shown = agent.told;
    for (const auto& [label, attempt] : attempts_)
      shown.leases += attempt->stage == Stage::kRunning && attempt->agent == id;
    if (shown.leases > 0 || agent.asking > 0 || clock_() - agent.seen < kShown) agents.push_back(std::move(shown));
  }
  return agents;
}

std::string PilotBoard::user_of_agent(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  const auto found = agents_.find(id);
  return found == agents_.end() ? "" : found->second.told.user;
}

void PilotBoard::forget_old_agents() {
  std::set<std::string> busy;
  for (const auto& [label, attempt] : attempts_) busy.insert(attempt->agent);
  std::erase_if(agents_, [&](const auto& item) {
    return item.second.asking == 0 && clock_() - item.second.seen > kShown && !busy.contains(item.first);
  });
}

// --- attempts

PilotBoard::Held PilotBoard::find(const std::string& label) const {
  const std::lock_guard lock(mutex_);
  const auto found = attempts_.find(label);
  return found == attempts_.end() ? nullptr : found->second;
}

/// Of one whose `files` the caller has locked.
PilotBoard::Held PilotBoard::alive(const LeaseClaim& claim, bool begun) {
  const std::lock_guard lock(mutex_);
  const auto found = attempts_.find(claim.label);
  if (found == attempts_.end()) refuse_as_over(claim.label);
  Attempt& attempt = *found->second;
  const bool stage = attempt.stage == Stage::kRunning || (!begun && attempt.stage == Stage::kHanded);
  const bool may = attempt.user == claim.user && (claim.for_all || attempt.demand.user == claim.user);
  if (!stage || !same_text(attempt.secret, claim.secret) || !may) refuse_as_over(claim.label);
  renew_lease(attempt);
  return found->second;
}

void PilotBoard::renew_lease(Attempt& attempt) {
  if (attempt.stage == Stage::kRunning) attempt.until = clock_() + lease_;
  if (const auto agent = agents_.find(attempt.agent); agent != agents_.end()) {
    agent->second.seen = clock_();
    agent->second.told.seen_ms = now_ms();
  }
}

void PilotBoard::check(const LeaseClaim& claim) {
  alive(claim, false);
}

void PilotBoard::with_lease(const LeaseClaim& claim, const std::function<void()>& work) {
  const Held held = find(claim.label);
  if (!held) refuse_as_over(claim.label);
  const std::lock_guard lock(held->files);
  alive(claim);
  work();
  alive(claim);  // it may have taken longer than the lease
}

void PilotBoard::begin(const LeaseClaim& claim, int64_t now_ms) {
  const Held held = find(claim.label);
  if (!held) refuse_as_over(claim.label);
  const std::lock_guard files(held->files);
  alive(claim, false);
  {
    const std::lock_guard lock(mutex_);
    if (held->stage == Stage::kRunning) return;
    if (held->stop) refuse_as_over(claim.label);
    held->until = Clock::time_point::max();  // it is not offered again while it is written down
  }
  try {
    write_private_file(held->folder / kLeaseFile, json{{"secret", held->secret},
                                                       {"agent", held->agent},
                                                       {"name", held->agent_name},
                                                       {"host", held->host},
                                                       {"user", held->user},
                                                       {"begun_ms", now_ms}}
                                                      .dump());
  } catch (const Error&) {
    const std::lock_guard lock(mutex_);
    held->until = clock_() + kHandedMax;
    throw;
  }
  const std::lock_guard lock(mutex_);
  if (held->stage != Stage::kHanded) refuse_as_over(claim.label);  // cancelled meanwhile
  held->stage = Stage::kRunning;
  held->command = {};
  held->status.started_ms = now_ms;
  renew_lease(*held);
}

bool PilotBoard::renew(const LeaseClaim& claim, const AttemptUse& use) {
  const Held held = alive(claim);
  const std::lock_guard lock(mutex_);
  held->use = use;
  return held->stop;
}

int64_t PilotBoard::add_output(const LeaseClaim& claim, int64_t from, std::string_view bytes) {
  int64_t size = 0;
  with_lease(claim, [&] {
    const Held held = find(claim.label);
    size = add_piece(AT_FDCWD, (held->folder / kOutputFile).c_str(), from, bytes);
  });
  return size;
}

void PilotBoard::end(const LeaseClaim& claim, const Exit& exit) {
  with_lease(claim, [&] {
    const Held held = find(claim.label);
    AttemptFolder(held->folder).write(exit);
  });
  const Held held = find(claim.label);
  if (!held) return;
  const std::lock_guard lock(mutex_);
  if (held->stage != Stage::kRunning) return;
  held->stage = Stage::kEnded;
  held->status.exit = exit;
}

// --- the launcher's side

void PilotBoard::prepare(const AttemptKey& attempt, const Demand& demand) {
  auto made = std::make_shared<Attempt>();
  made->folder = attempt.folder;
  made->demand = demand;
  std::error_code none;
  if (std::filesystem::exists(std::filesystem::symlink_status(attempt.folder / kLeaseFile, none))) {
    made->stage = Stage::kRunning;
    made->until = clock_() + lease_;
    try {
      const json lease = json::parse(read_private_file(attempt.folder / kLeaseFile, kLeaseFileBytesMax).value_or(""));
      made->secret = lease.at("secret");
      made->agent = lease.at("agent");
      made->agent_name = lease.at("name");
      made->host = lease.at("host");
      made->user = lease.at("user");
      made->status.started_ms = lease.at("begun_ms");
      made->status.exit = AttemptFolder(attempt.folder).exit();
      if (made->status.exit) made->stage = Stage::kEnded;
    } catch (const std::exception& error) {
      // It has begun, and nobody can show that it is his: its lease runs out.
      log::error(fmt::format("[pilots] {}: {}", (attempt.folder / kLeaseFile).string(), error.what()));
    }
  }
  const std::lock_guard lock(mutex_);
  attempts_.try_emplace(attempt.label, std::move(made));
}

void PilotBoard::offer(const AttemptKey& attempt, const Command& command) {
  const Held held = find(attempt.label);
  LINAC_CHECK(held != nullptr);
  make_folder(held->folder.parent_path());
  AttemptFolder(held->folder).make();
  const std::lock_guard lock(mutex_);
  if (held->stage != Stage::kPrepared) return;
  held->command = command;
  held->stage = Stage::kOffered;
}

void PilotBoard::expire(Attempt& attempt) {
  attempt.stage = Stage::kLost;
  attempt.status.reason = fmt::format("its agent {} on {} was not heard of for {} s", attempt.agent_name, attempt.host,
                                      std::chrono::duration_cast<std::chrono::seconds>(lease_).count());
}

AttemptStatus PilotBoard::status(const AttemptKey& attempt) {
  const Held held = find(attempt.label);
  if (!held) return {};
  // Whoever holds it is heard of.
  const std::unique_lock files(held->files, std::try_to_lock);
  const std::lock_guard lock(mutex_);
  if (files.owns_lock() && held->stage == Stage::kRunning && held->until < clock_()) expire(*held);
  AttemptStatus status = held->status;
  status.chosen = held->chosen;
  if (!held->host.empty()) status.hosts = {fmt::format("{} (agent {})", held->host, held->agent_name)};
  switch (held->stage) {
    case Stage::kPrepared:
      status.state = AttemptState::kPrepared;
      break;
    case Stage::kOffered:
    case Stage::kHanded:
      status.state = AttemptState::kQueued;
      status.reason = "an agent is about to take it";
      break;
    case Stage::kRunning:
      status.state = AttemptState::kRunning;
      break;
    case Stage::kEnded:
      status.state = AttemptState::kEnded;
      break;
    case Stage::kLost:
      status.state = AttemptState::kLost;
      break;
  }
  return status;
}

AttemptUse PilotBoard::use(const AttemptKey& attempt) const {
  const Held held = find(attempt.label);
  const std::lock_guard lock(mutex_);
  return held ? held->use : AttemptUse{};
}

std::string PilotBoard::output(const AttemptKey& attempt, int64_t from, size_t bytes_max) const {
  const auto path = attempt.folder / kOutputFile;
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  const int64_t left = size_of(file) - from;
  if (left <= 0) return "";
  std::string bytes(std::min(bytes_max, static_cast<size_t>(left)), '\0');
  const ssize_t got = ::pread(file.get(), bytes.data(), bytes.size(), from);
  bytes.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return bytes;
}

void PilotBoard::cancel(const AttemptKey& attempt) {
  const Held held = find(attempt.label);
  if (!held) return;
  const std::lock_guard lock(mutex_);
  held->stop = true;
  if (held->stage != Stage::kOffered && held->stage != Stage::kHanded) return;
  held->stage = Stage::kEnded;  // nothing of it runs: who was given it is refused when he begins
  held->command = {};
  held->status.reason = "cancelled";
}

void PilotBoard::release(const AttemptKey& attempt) {
  const std::lock_guard lock(mutex_);
  attempts_.erase(attempt.label);
}

std::vector<Vacancy> PilotBoard::vacancies() const {
  const std::lock_guard lock(mutex_);
  std::vector<const PilotAgent*> asking;
  for (const auto& [id, agent] : agents_)
    if (agent.asking > 0 && !agent.told.draining) asking.push_back(&agent.told);
  for (const auto& [label, attempt] : attempts_) {
    if (attempt->stage == Stage::kHanded)
      std::erase_if(asking, [&, &attempt = attempt](const PilotAgent* one) { return one->id == attempt->agent; });
    if (attempt->stage != Stage::kPrepared && attempt->stage != Stage::kOffered) continue;
    auto taker = asking.end();
    for (auto one = asking.begin(); one != asking.end(); ++one)
      if (suits(*attempt, **one) &&
          (taker == asking.end() || price_of(attempt->demand, **one) < price_of(attempt->demand, **taker)))
        taker = one;
    if (taker != asking.end()) asking.erase(taker);
  }
  std::vector<Vacancy> vacancies;
  for (const PilotAgent* agent : asking) {
    Vacancy vacancy{agent->all, agent->free, agent->of_all ? "" : agent->user, agent->tags, agent->host};
    vacancies.push_back(std::move(vacancy));
  }
  return vacancies;
}

}  // namespace linac::launch
