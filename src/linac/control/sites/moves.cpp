#include "linac/control/sites/moves.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/descriptor.h"
#include "linac/base/base/error.h"
#include "linac/base/base/fnv1a.h"
#include "linac/base/base/private_file.h"
#include "linac/base/base/signals.h"
#include "linac/base/base/sole_lock.h"
#include "linac/base/base/user_files.h"
#include "linac/control/sites/sites_file.h"

namespace linac::sites {
namespace {

using nlohmann::json;
using plan::SpotPlace;

constexpr int kStaysMax = 1000, kAwayMax = 100;  // times in a row that a site is not reached
constexpr double kKnockEvery_s = 10;             // or a recovery: so long a queue may take, and spot is left in peace
constexpr int64_t kStopWait_ms = 300'000;        // for a checkpoint, before a stay that is left is made to end
constexpr int64_t kSeenEvery_ms = 10'000;
constexpr size_t kBytesMax = 1 << 20;

std::filesystem::path moves_file(const std::string& name) {
  const auto state = user_folder("XDG_STATE_HOME", ".local/state");
  if (!state) throw user_error("[launch] neither HOME nor XDG_STATE_HOME is set; set one");
  return *state / "moves" / (name + ".json");
}

// What is written down. The last stay is the one that goes on, unless `over`. Of the market is known what the stays on
// spot have shown; gone_ms: since when it is known that no machine can be had, 0: that is not known.
struct Moves {
  std::string digest, key;
  std::vector<std::string> stays;  // the sites
  double done_s = 0;               // of the work, by the stays before
  int64_t begun_ms = 0, asked_ms = 0, running_ms = 0, seen_ms = 0, left_ms = 0, gone_ms = 0;
  plan::SpotSeen market;
  bool over = true;

  template <class Self, class V>
  static void each(Self& self, V&& v) {
    v("digest", self.digest), v("key", self.key), v("stays", self.stays), v("done_s", self.done_s);
    v("begun_ms", self.begun_ms), v("asked_ms", self.asked_ms), v("running_ms", self.running_ms);
    v("seen_ms", self.seen_ms), v("left_ms", self.left_ms), v("over", self.over);
  }
  // Files of earlier versions have nothing of it.
  template <class Self, class V>
  static void each_of_market(Self& self, V&& v) {
    v("gone_ms", self.gone_ms), v("there_s", self.market.there_s), v("gone_s", self.market.gone_s);
    v("ends", self.market.ends), v("begins", self.market.begins);
  }
};

class Mover {
 public:
  Mover(const MoveWishes& wishes, const std::function<void(const std::string&)>& tell)
      : wishes_(wishes),
        tell_(tell),
        file_(moves_file(label_of(wishes.each.name, ""))),
        job_(resolved_job(wishes.each.job, wishes.each.overrides)),
        spot_(find_site(wishes.spot)),
        on_demand_(find_site(wishes.on_demand)) {
    make_folder(file_.parent_path());
    const std::string lock = file_.string() + ".lock";
    lock_ = Descriptor(::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
    if (!lock_ || !lock_alone(lock_.get()))
      throw user_error(fmt::format("[launch] --name {}: somebody follows it already, or {} cannot be locked",
                                   wishes.each.name, lock));
    read();
  }

  Standing follow() {
    int away = 0;
    while (stop_signal() == 0) {
      try {
        if (const auto end = moves_.over ? begin() : look()) return *end;
        away = 0;
      } catch (const Error& error) {
        if (error.code() != ErrorCode::kEnvironment || ++away >= kAwayMax) throw;
        if (away == 1) tell_(fmt::format("{}; waiting for it", error.what()));
      }
      std::this_thread::sleep_for(site().facts().pause);
    }
    return {job::RunState::kRunning, "no longer followed; the same command goes on", {}};
  }

 private:
  void read() {
    const std::string digest =
        fmt::format("{:016x}", fnv1a_64(fmt::format("{}\n{}\n{}\n{}\n{}", job::to_yaml(job_), wishes_.each.workers,
                                                    wishes_.each.out, wishes_.spot, wishes_.on_demand)));
    const auto text = read_private_file(file_, kBytesMax);
    if (!text) {
      moves_.digest = digest;
      moves_.key = new_key();
      moves_.begun_ms = now_ms();
      return;
    }
    try {
      const json from = json::parse(*text);
      const auto read = [&](const char* name, auto& value) { from.at(name).get_to(value); };
      Moves::each(moves_, read);
      if (from.contains("gone_ms")) Moves::each_of_market(moves_, read);
    } catch (const json::exception& error) {
      throw data_error(fmt::format("[launch] {}: is damaged ({}); see with `linac status` what runs, and remove it",
                                   file_.string(), error.what()));
    }
    if (moves_.digest != digest)
      throw user_error(fmt::format("[launch] --name {}: another job has it, or other sites; choose another name",
                                   wishes_.each.name));
  }

  void save() {
    json text;
    const auto put = [&](const char* name, const auto& value) { text[name] = value; };
    Moves::each(moves_, put);
    Moves::each_of_market(moves_, put);
    write_private_file(file_, text.dump(1) + "\n");
  }

  bool on_spot() const { return !moves_.stays.empty() && moves_.stays.back() == wishes_.spot; }
  const Site& site() const { return on_spot() ? *spot_ : *on_demand_; }
  std::string label() const { return fmt::format("{}-{}", wishes_.each.name, moves_.stays.size()); }
  double since_s(int64_t ms) const { return 1e-3 * static_cast<double>(now_ms() - ms); }
  double knock_s() const { return std::max(kKnockEvery_s, wishes_.job.recovery_s); }

  double trained_s(int64_t until_ms) const {
    if (moves_.running_ms == 0) return 0;
    return std::max(0.0, 1e-3 * static_cast<double>(until_ms - moves_.running_ms) - wishes_.job.recovery_s);
  }
  SpotPlace wanted(double done_s, SpotPlace place, bool spot_there) const {
    plan::SpotMoment moment{since_s(moves_.begun_ms), done_s, place, spot_there, moves_.market};
    if (place == SpotPlace::kOnDemand) moment.unseen_s = since_s(moves_.asked_ms);
    if (on_spot() && moves_.running_ms != 0) moment.seen.there_s += since_s(moves_.running_ms);
    if (moves_.gone_ms != 0) moment.seen.gone_s += since_s(moves_.gone_ms);
    return plan::decide(wishes_.job, moment).place;
  }

  // What is seen of the market.
  void is_there(int64_t now) {
    if (moves_.gone_ms == 0) return;
    is_not_watched(now);
    ++moves_.market.begins;
  }
  void is_gone(int64_t since) {
    if (moves_.gone_ms == 0) moves_.gone_ms = since;
  }
  void is_not_watched(int64_t now) {
    if (moves_.gone_ms != 0) moves_.market.gone_s += 1e-3 * static_cast<double>(now - moves_.gone_ms);
    moves_.gone_ms = 0;
  }
  void was_there(int64_t until, bool taken) {
    if (!on_spot() || moves_.running_ms == 0) return;
    moves_.market.there_s += 1e-3 * static_cast<double>(until - moves_.running_ms);
    if (!taken) return;
    ++moves_.market.ends;
    is_gone(until);
  }

  // The next stay, if it is time for one. Who waits has asked for spot; who has left that wait knows that it is gone.
  std::optional<Standing> begin() {
    const bool waited_in_vain = on_spot() && moves_.left_ms != 0;
    const bool on_demand = wanted(moves_.done_s, SpotPlace::kNone, !waited_in_vain) == SpotPlace::kOnDemand;
    const bool too_soon = on_spot() && since_s(moves_.asked_ms) <= knock_s();
    if (!on_demand && too_soon) return std::nullopt;
    if (moves_.stays.size() >= kStaysMax)
      return Standing{job::RunState::kLost, fmt::format("it was taken away {} times", kStaysMax), {}};
    moves_.stays.push_back(on_demand ? wishes_.on_demand : wishes_.spot);
    if (on_demand) is_not_watched(now_ms());
    moves_.asked_ms = now_ms();
    moves_.running_ms = moves_.seen_ms = moves_.left_ms = 0;
    moves_.over = false;
    save();
    tell_(fmt::format("{}:{}{}", site().name(), label(),
                      on_demand ? ": on demand, or the deadline would be in danger" : ""));
    return std::nullopt;
  }

  // Submits it unless that was done.
  KeptLaunch stay() const {
    Wishes wishes = wishes_.each;
    wishes.name = label();
    Launch launch = make_launch(site(), job_, wishes);
    launch.key = moves_.key;
    return start(site(), launch, true).kept;
  }

  std::optional<Standing> look() {
    const KeptLaunch kept = stay();
    const Standing standing = site().standing(kept.record);
    if (job::ended(standing.state)) return end(standing);
    const bool runs = standing.state == job::RunState::kRunning;
    const int64_t now = now_ms();
    if (runs && moves_.running_ms == 0) {
      moves_.running_ms = moves_.seen_ms = now;
      if (on_spot()) is_there(now);
      save();
    } else if (runs && now - moves_.seen_ms > kSeenEvery_ms) {
      moves_.seen_ms = now;
      save();
    } else if (!runs && moves_.running_ms != 0) {  // back in the queue of the site
      moves_.done_s += trained_s(moves_.seen_ms);
      was_there(moves_.seen_ms, true);
      moves_.running_ms = 0;
      moves_.asked_ms = now;
      save();
    }
    if (on_spot() && !runs && since_s(moves_.asked_ms) > knock_s()) is_gone(moves_.asked_ms);
    if (moves_.left_ms == 0 && !stays(runs)) {
      moves_.left_ms = now;
      save();
      tell_(fmt::format("{}:{}: left, for {}", site().name(), label(), on_spot() ? "a machine on demand" : "spot"));
      site().cancel(kept.record);
    } else if (moves_.left_ms != 0 && now - moves_.left_ms > kStopWait_ms) {
      moves_.left_ms = now;
      save();
      site().cancel(kept.record);
    }
    return std::nullopt;
  }

  bool stays(bool runs) const {
    const double done_s = moves_.done_s + trained_s(now_ms());
    if (!on_spot()) return wanted(done_s, SpotPlace::kOnDemand, false) == SpotPlace::kOnDemand;
    if (runs) return true;
    return wanted(done_s, SpotPlace::kNone, since_s(moves_.asked_ms) <= knock_s()) != SpotPlace::kOnDemand;
  }

  std::optional<Standing> end(const Standing& standing) {
    const bool left = moves_.left_ms != 0, lost = standing.state == job::RunState::kLost;
    const bool interrupted = standing.exit == int(ErrorCode::kPreempted) &&
                             !standing.reason.starts_with("cancelled");  // by its user (standing_of_end)
    if (standing.state == job::RunState::kSucceeded || !(left || lost || interrupted)) return standing;
    // Whoever did not look for a while does not know when it ended.
    const int64_t now = now_ms();
    const int64_t until = now - moves_.seen_ms <= 2 * kSeenEvery_ms ? now : moves_.seen_ms;
    double trained = trained_s(until);
    was_there(until, !left);
    if (lost) trained = std::max(0.0, trained - wishes_.job.checkpoint_s);
    moves_.done_s = std::min(wishes_.job.work_s, moves_.done_s + trained);
    moves_.running_ms = 0;
    moves_.over = true;
    save();
    if (!left) tell_(fmt::format("{}:{}: taken away: {}", site().name(), label(), standing.reason));
    return std::nullopt;
  }

  const MoveWishes& wishes_;
  const std::function<void(const std::string&)>& tell_;
  const std::filesystem::path file_;
  const job::Job job_;
  const std::unique_ptr<Site> spot_, on_demand_;
  Descriptor lock_;
  Moves moves_;
};

}  // namespace

Standing follow_moves(const MoveWishes& wishes, const std::function<void(const std::string&)>& tell) {
  return Mover(wishes, tell).follow();
}

}  // namespace linac::sites
