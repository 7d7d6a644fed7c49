#pragma once
// Attempts carried out at a site (control/sites/site.h) that an admin has declared for the service. The scheduler's
// calls (launcher.h) are answered from what is known; a thread of the site's own asks the place, which may take as long
// as it takes, one attempt after the other.
//
// An attempt is a launch there of the service's mark and the attempt's label, which is submitted once whoever dies
// meanwhile. All attempts of a run have the same folder there and go on from its checkpoints; what it records comes
// into the run's folder at the service (run_copy.h). A job brings its settings alone: program, folder, account and all
// else is the site's. It cannot bring secrets.

#include <condition_variable>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "linac/control/launch/launcher.h"
#include "linac/control/launch/sites/run_copy.h"
#include "linac/control/launch/sites/site_attempt.h"
#include "linac/control/sites/site.h"

namespace linac::launch {

struct SiteLauncherSettings {
  std::filesystem::path folder;  // of the service, for all sites
  /// The folder at the service of the run that an attempt's label names. Called by the site's thread.
  std::function<std::filesystem::path(const std::string& label)> outputs;
  int64_t keep_free = 0;  // bytes of the disk that copies of runs do not take
};

/// The same for all sites of a service, made at its first start and kept in `folder`: two services with a copy of the
/// same catalog do not take each other's launches for theirs.
std::string mark_of(const std::filesystem::path& folder);

class SiteLauncher : public Launcher {
 public:
  SiteLauncher(std::shared_ptr<const sites::Site> site, SiteLauncherSettings settings);
  /// Waits for the answer that the site is asked for; what runs there goes on.
  ~SiteLauncher() override;

  /// Nothing is more than a site could have: it says itself what it has not.
  Capacity capacity() override;
  std::vector<Vacancy> vacancies() override;
  bool on_this_host() const override { return false; }
  std::string why_not_as(const std::string&) override { return ""; }
  void prepare(const AttemptKey& attempt, const Demand& demand) override;
  void start(const AttemptKey& attempt, const Command& command) override;
  AttemptStatus status(const AttemptKey& attempt) override;
  AttemptUse use(const AttemptKey&) override { return {}; }
  std::optional<std::string> output(const AttemptKey& attempt, int64_t from, size_t bytes_max) override;
  void cancel(const AttemptKey& attempt) override;
  void release(const AttemptKey& attempt) override;
  std::vector<std::string> labels() override { return files_.labels(); }

  /// Attempts at a time: each is asked for in its turn.
  static constexpr size_t kAtATimeMax = 64;

 private:
  struct Held;
  using HeldAttempt = std::shared_ptr<Held>;

  HeldAttempt find(const std::string& label);
  HeldAttempt hold(const std::string& label);
  void run();
  /// Asks and tells the site what is to be asked and told of one attempt; whether there
  /// is nothing left to do for it.
  bool look_after(Held& held);
  void submit(Held& held, SiteAttempt attempt);
  void ask(Held& held, SiteAttempt attempt);
  void end_if_wished(Held& held, SiteAttempt& attempt, const sites::Standing& standing);
  void bring_what_is_new(Held& held, const SiteAttempt& attempt);
  bool bring_rest(Held& held, const SiteAttempt& attempt);
  bool copy_log(Held& held, const SiteAttempt& attempt);
  void tidy_up(const SiteAttempt& attempt);
  void keep(Held& held, const SiteAttempt& attempt);
  void ended(Held& held, AttemptStatus status);

  const std::shared_ptr<const sites::Site> site_;
  const SiteLauncherSettings settings_;
  const std::string mark_;
  const SiteAttempts files_;

  std::mutex mutex_;
  std::map<std::string, HeldAttempt> attempts_;  // by label
  bool woken_ = false, stopping_ = false;
  std::condition_variable changed_;
  std::thread thread_;
};

}  // namespace linac::launch
