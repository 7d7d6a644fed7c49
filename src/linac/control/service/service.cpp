#include "linac/control/service/service.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <future>
#include <mutex>
#include <thread>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/cores.h"
#include "linac/base/base/descriptor.h"
#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/base/base/refusal.h"
#include "linac/base/base/signals.h"
#include "linac/base/base/sole_lock.h"
#include "linac/control/catalog/artifact_location.h"
#include "linac/control/catalog/experiments.h"
#include "linac/control/catalog/users.h"
#include "linac/control/execution/record/run_places.h"
#include "linac/control/execution/scheduler.h"
#include "linac/control/http/files/disk_room.h"
#include "linac/control/http/routes/dispatcher.h"
#include "linac/control/http/routes/router.h"
#include "linac/control/http/server/given_socket.h"
#include "linac/control/http/server/server.h"
#include "linac/control/launch/accounts.h"
#include "linac/control/launch/control_groups.h"
#include "linac/control/launch/fences.h"
#include "linac/control/launch/local_launcher.h"
#include "linac/control/launch/pilots/pilot_launcher.h"
#include "linac/control/launch/sandbox.h"
#include "linac/control/service/authentication.h"
#include "linac/control/service/context.h"
#include "linac/control/service/declared_sites.h"
#include "linac/control/service/ownership.h"
#include "linac/control/service/routes/table.h"
#include "linac/control/service/secret_box.h"
#include "linac/control/service/service_key.h"
#include "linac/control/service/studies/conductor.h"
#include "linac/control/service/studies/submission.h"
#include "linac/control/service/user_secrets.h"

namespace linac::service {
namespace {

constexpr const char* kAdmin = "admin";
constexpr int64_t kSweepEvery_s = 60;

void check(const ServiceOptions& options, const http::Address& address) {
  const bool tls = !options.tls_certificate.empty();
  if (tls != !options.tls_key.empty()) throw user_error("[serve] TLS needs both --tls-cert and --tls-key");
  if (!address.loopback && !options.authentication)
    throw user_error(fmt::format(
        "[serve] --no-auth lets everybody who reaches {} do everything; listen at 127.0.0.1, or leave it out",
        address.host));
  if (!address.loopback && !tls)
    throw user_error(fmt::format(
        "[serve] tokens would travel to {} unencrypted; give --tls-cert and --tls-key, or listen at 127.0.0.1 "
        "behind a proxy that speaks TLS",
        address.host));
  catalog::check_stores(options.artifact_stores);
}

/// Each connection is a file: as many as the system lets.
void raise_file_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

/// The data folder is for this service alone: tokens' hashes and artefacts lie in it.
std::filesystem::path prepared(const std::filesystem::path& data) {
  make_folder(data);
  const auto folder = std::filesystem::canonical(data);
  std::error_code ignored;
  std::filesystem::permissions(folder, std::filesystem::perms::others_all, std::filesystem::perm_options::remove,
                               ignored);
  for (const char* name : {kArtifactsFolder, kStudiesFolder, kUploadsFolder}) make_folder(folder / name);
  return folder;
}

constexpr std::chrono::milliseconds kOtherServiceMax{5000};  // one that was killed has not quite gone yet

/// The lock of the data folder: of two services with databases of their own each would act on the other's jobs and
/// files.
Descriptor locked(const std::filesystem::path& folder) {
  const auto path = folder / "lock";
  Descriptor lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock) {
    throw environment_error(fmt::format("[serve] {}: cannot be opened ({}); the folder has to be writable",
                                        path.string(), std::strerror(errno)));
  }
  if (!lock_alone(lock.get(), kOtherServiceMax)) {
    if (errno != EWOULDBLOCK)
      throw environment_error(fmt::format("[serve] {}: cannot be locked ({}); take a disk that has locks, --data",
                                          path.string(), std::strerror(errno)));
    throw environment_error(fmt::format(
        "[serve] {}: another service works in this folder; stop it, or give another one, --data", folder.string()));
  }
  return lock;
}

std::string first_admin(catalog::Catalog& catalog, catalog::Visibility visibility, const std::string& certificate) {
  if (catalog.read_as([](catalog::Database& database) { return !catalog::users(database).empty(); })) return "";
  std::string hash;
  const catalog::NewToken made =
      catalog::make_token(kAdmin, catalog::Role::kAdmin, 0, "made at the first start", hash, certificate);
  catalog.write([&](catalog::Database& database) {
    catalog::User admin;
    admin.name = kAdmin;
    admin.role = catalog::Role::kAdmin;
    admin.account = launch::own_account();
    catalog::create_user(database, admin);
    catalog::add_token(database, made.token, hash);
    if (visibility == catalog::Visibility::kShared) catalog::set_experiment_visibility(database, 0, visibility);
  });
  return made.secret;
}

/// Whether there are sandboxes, and what their jobs have to find. Waits for programs that it starts.
execution::Sandboxes tried_sandboxes(bool trusted) {
  execution::Sandboxes sandboxes;
  if (trusted) return sandboxes;
  sandboxes.why_none = launch::why_no_sandbox();
  sandboxes.isolation = sandboxes.why_none.empty() ? execution::Isolation::kSandbox : execution::Isolation::kNone;
  sandboxes.programs = launch::needed_by(std::filesystem::path(launch::this_program()).parent_path() / "linac-compute");
  return sandboxes;
}

/// With what belongs to the service beside its data folder, and is there by now.
execution::Sandboxes sandboxes(execution::Sandboxes sandboxes, const ServiceOptions& options,
                               const std::filesystem::path& data) {
  if (options.trust_jobs) return sandboxes;
  std::error_code none;
  const auto hide = [&](const std::filesystem::path& path) {
    if (const auto real = std::filesystem::canonical(path, none); !none) sandboxes.hidden.push_back(real);
  };
  constexpr std::string_view kFile = "sqlite://";
  const std::string url = catalog_url(data, options.database);
  for (const char* end : {"", "-wal", "-shm"}) hide((url.starts_with(kFile) ? url.substr(kFile.size()) : url) + end);
  if (!options.tls_key.empty()) hide(options.tls_key);
  if (!options.sites.empty()) hide(options.sites);
  return sandboxes;
}

std::string warning_of(const execution::Sandboxes& sandboxes) {
  switch (sandboxes.isolation) {
    case execution::Isolation::kOfLauncher:
      return "Jobs run without a sandbox (--trust-jobs): who submits one can read and change all that this service "
             "can, "
             "its database and tokens too.";
    case execution::Isolation::kNone:
      return fmt::format(
          "No sandbox for jobs here ({}): only admins' jobs run as this account; install bubblewrap, or "
          "trust everybody who submits with --trust-jobs.",
          sandboxes.why_none);
    case execution::Isolation::kSandbox:
      break;
  }
  return "";
}

std::vector<std::string> lower(std::vector<std::string> names) {
  for (std::string& name : names)
    for (char& c : name)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return names;
}

constexpr std::chrono::seconds kStopMax{25};

/// Whatever a thread of the service waits for, a disk that does not answer: the process ends. What was acknowledged is
/// in the database by then, and what is not is not.
void end_in_any_case() {
  std::thread([] {
    std::this_thread::sleep_for(kStopMax);
    log::warn(
        fmt::format("[serve] something does not come to its end within {} s; stopped all the same", kStopMax.count()));
    std::_Exit(static_cast<int>(ErrorCode::kEnvironment));
  }).detach();
}

}  // namespace

class Service::Implementation {
 public:
  Implementation(const ServiceOptions& options, const http::Address& address, int socket)
      : folder_(prepared(options.data)),
        lock_(locked(folder_)),
        sandboxes_tried_(std::async(std::launch::async, tried_sandboxes, options.trust_jobs)),
        secret_box_(folder_),
        certificate_(http::own_certificate(service_key_file(folder_))),
        context_(catalog_url(folder_, options.database), folder_, options.keep_free,
                 catalog::visibility(options.visibility), options.artifact_stores),
        authentication_(context_, options.authentication),
        pilots_(std::chrono::seconds(options.lease_s)),
        sites_(options.sites, options.trust_jobs),
        first_token_(
            options.authentication ? first_admin(context_.catalog, context_.visibility, certificate_.fingerprint) : ""),
        sandboxes_(sandboxes(sandboxes_tried_.get(), options, folder_)),
        warning_(warning_of(sandboxes_)),
        groups_(launch::ControlGroups::of_host()),
        scheduler_(context_.host, attempts(options, sandboxes_), launch::local_launcher(slots(options), groups_),
                   other_places(options)),
        router_(routes()),
        dispatcher_([this](Method method, const std::map<std::string, std::string>& headers,
                           const std::string& from) { return authentication_.identify(method, headers, from); },
                    guard(), router_,
                    {address.loopback, lower(options.hosts), options.requests_per_s_max, requests_at_once(options),
                     http::TrustedProxies(options.trusted_proxies)}),
        server_(dispatcher_, context_.traffic, settings(options, address, socket), [this] { context_.hub.stop(); }) {
    const std::string host = address.host.find(':') == std::string::npos ? address.host : "[" + address.host + "]";
    url_ = fmt::format("{}://{}:{}", options.tls_certificate.empty() ? "http" : "https", host, server_.port());
  }
  ~Implementation() {
    context_.checks.stop();
    {
      const std::lock_guard lock(house_mutex_);
      stopping_ = true;
    }
    leaving_.notify_one();
    house_.join();
    conductor_.stop();
    server_.stop();
    context_.checks.close();
    context_.readers.join();
  }

  const std::string& url() const { return url_; }
  const std::string& first_token() const { return first_token_; }
  const std::string& warning() const { return warning_; }
  std::string on_groups() const { return groups_.said(); }

 private:
  std::vector<Route> routes() {
    return all_routes({context_, authentication_, secret_box_, desks_, conductor_, scheduler_, sites_, pilots_});
  }

  bool has_room() const {
    try {
      http::check_room(context_.data, 0, context_.keep_free);
      return true;
    } catch (const Error&) {
      return false;
    }
  }

  /// Forgets uploads that nobody finishes, and gives back the memory of large requests and answers.
  void keep_house() {
    std::unique_lock lock(house_mutex_);
    for (int64_t second = 1; !leaving_.wait_for(lock, std::chrono::seconds(1), [this] { return stopping_; });
         ++second) {
      conductor_.tick();
      if (second % kSweepEvery_s == 0) {
        context_.parts.sweep();
        authentication_.note_failures();
      }
      if (context_.traffic.large.exchange(false)) ::malloc_trim(0);
    }
    authentication_.note_failures(/*all=*/true);
  }

  http::Dispatcher::Guard guard() {
    return {[this](Request& request) { return ownership_.check(request); },
            [this](const Request& request) { return ownership_.note(request); }};
  }

  execution::AttemptSettings attempts(const ServiceOptions& options, const execution::Sandboxes& sandboxes) {
    execution::AttemptSettings settings;
    settings.may_begin = [this] { return has_room() && context_.catalog.damage().empty(); };
    settings.sandboxes = sandboxes;
    settings.is_admin = [required = options.authentication](catalog::Database& database, const std::string& user) {
      return !required || catalog::user(database, user).role == catalog::Role::kAdmin;
    };
    settings.command = [program = launch::this_program()](const std::string& job, const std::string& outputs) {
      return std::vector<std::string>{program, "train", job, "--out", outputs, "--resume-or-start"};
    };
    settings.account = [required = options.authentication](catalog::Database& database, const std::string& user) {
      return required ? catalog::user(database, user).account : launch::own_account();
    };
    settings.why_not_there = [this, admin = settings.is_admin](catalog::Database& database, const std::string& user,
                                                               const std::string& place) -> std::string {
      Caller owner;
      owner.user = user, owner.access = admin(database, user) ? Access::kAdmin : Access::kMember;
      try {
        sites_.check(place, owner);
        return "";
      } catch (const Refusal& refusal) {
        return refusal.what();
      }
    };
    settings.secrets = [this](catalog::Database& database, const std::string& user,
                              const std::vector<std::string>& names) {
      return given_secrets(database, secret_box_, user, names);
    };
    if (!options.prices.empty()) settings.prices = execution::Prices::of_text(options.prices);
    return settings;
  }

  std::map<std::string, std::unique_ptr<launch::Launcher>> other_places(const ServiceOptions& options) {
    launch::SiteLauncherSettings settings;
    settings.folder = folder_ / kSitesFolder;
    settings.keep_free = options.keep_free;
    settings.outputs = [this](const std::string& label) {
      const auto attempt = execution::attempt_of(label);
      if (!attempt) throw environment_error(fmt::format("[queue] '{}' is no attempt of a run", label));
      return execution::RunPlaces(context_.host, context_.host.run(attempt->first)).outputs;
    };
    auto launchers = sites_.launchers(settings);
    launchers[catalog::kPilots] = std::make_unique<launch::PilotLauncher>(pilots_);
    return launchers;
  }

  static launch::Slots slots(const ServiceOptions& options) {
    return options.slots.empty() ? launch::Slots::of_host() : launch::Slots::of_text(options.slots);
  }

  /// Of one user, and connections of one address.
  static int requests_at_once(const ServiceOptions& options) { return std::max(1, options.connections_max / 4); }

  http::ServerSettings settings(const ServiceOptions& options, const http::Address& address, int socket) const {
    http::ServerSettings settings;
    settings.host = address.host;
    settings.port = address.port;
    settings.socket = socket;
    settings.threads = options.threads > 0 ? options.threads : std::clamp(usable_cores(), 1, 4);
    settings.connections_max = options.connections_max;
    settings.connections_of_address_max = requests_at_once(options);
    settings.proxies = http::TrustedProxies(options.trusted_proxies);
    settings.keep_free = options.keep_free;
    settings.tls_certificate = options.tls_certificate;
    settings.tls_key = options.tls_key;
    if (address.loopback) settings.own_pem = certificate_.pem;
    settings.uploads = context_.uploads;
    return settings;
  }

  const std::filesystem::path folder_;
  const Descriptor lock_;
  std::future<execution::Sandboxes> sandboxes_tried_;  // while the catalog is opened: both wait for other programs
  const SecretBox secret_box_;
  const http::OwnCertificate certificate_;
  Context context_;
  Authentication authentication_;
  Desks desks_{context_};
  launch::PilotBoard pilots_;
  Ownership ownership_{context_, context_.parts, pilots_};
  const DeclaredSites sites_;
  const std::string first_token_;
  const execution::Sandboxes sandboxes_;
  const std::string warning_;
  const launch::ControlGroups groups_;
  execution::Scheduler scheduler_;
  Conductor conductor_{context_, desks_, scheduler_, sites_};
  const http::Router router_;
  http::Dispatcher dispatcher_;
  http::Server server_;
  std::string url_;
  std::mutex house_mutex_;
  std::condition_variable leaving_;
  bool stopping_ = false;
  std::thread house_{[this] { keep_house(); }};
};

Service::Service(const ServiceOptions& options) {
  const auto given = http::given_socket();
  const http::Address address = given ? given->address : http::parse_address(options.listen);
  check(options, address);
  raise_file_limit();
  implementation_ = std::make_unique<Implementation>(options, address, given ? given->socket : -1);
}

Service::~Service() = default;

const std::string& Service::url() const {
  return implementation_->url();
}

const std::string& Service::warning() const {
  return implementation_->warning();
}

std::string Service::on_groups() const {
  return implementation_->on_groups();
}

const std::string& Service::first_token() const {
  return implementation_->first_token();
}

void serve(const ServiceOptions& options) {
  catch_stop_signals();
  std::signal(SIGPIPE, SIG_IGN);
  ::umask(077);  // the catalog, tokens' hashes and other people's runs
  const Service service(options);
  fmt::print("linac serves {}\n", service.url());
  if (!service.first_token().empty())
    fmt::print("The user '{}' has this token, shown only now:\n  {}\n", kAdmin, service.first_token());
  if (!service.warning().empty()) fmt::print("{}\n", service.warning());
  if (const std::string lacks = launch::lacks_of_landlock(launch::landlock_version()); !lacks.empty())
    fmt::print("{}\n", lacks);
  fmt::print("{}\n", service.on_groups());
  if (!options.authentication) fmt::print("Everybody on this machine is an admin here (--no-auth).\n");
  std::fflush(stdout);
  while (stop_signal() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  log::info("[serve] stopping");
  end_in_any_case();
}

}  // namespace linac::service
