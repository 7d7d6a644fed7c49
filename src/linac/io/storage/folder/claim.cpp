#include "linac/io/storage/folder/claim.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>

#include "linac/base/base/error.h"
#include "linac/base/base/host.h"
#include "linac/base/base/log.h"
#include "linac/base/base/piece_of_work.h"
#include "linac/base/base/process_key.h"
#include "linac/base/base/utf8.h"
#include "linac/io/net/http_client.h"
#include "linac/io/storage/folder/manifest.h"
#include "linac/io/storage/store.h"

namespace linac::storage {
namespace {

using nlohmann::json;

constexpr int kTriesMax = 5;  // others may begin at the same moment
constexpr std::chrono::milliseconds kRetry{5000};

// Process ids count within one of these.
std::string process_numbers() {
  std::error_code none;
  return std::filesystem::read_symlink("/proc/self/ns/pid", none).string();
}

std::string draw_token() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}", random(), random(), random());
}

std::string now_text() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

/// Somebody's claim, as it is found: foreign bytes.
struct Holder {
  std::string token, host, since, numbers;
  ProcessKey process;

  explicit Holder(const std::string& content) {
    try {
      const json whole = json::parse(content);
      token = whole.at("token");
      host = whole.at("host");
      since = whole.at("since");
      numbers = whole.at("process_numbers");
      process = process_key_from_json(whole.at("process"));
    } catch (const json::exception&) {
      host = "somebody";  // it stands until nobody renews it
    }
    host = printable(host);
    since = printable(since);
  }
  bool has_ended() const {
    return process.pid > 0 && host == host_name() && numbers == process_numbers() &&
           process.boot == process_key(::getpid()).boot && !alive(process);
  }
  std::string words() const {
    return process.pid > 0 ? fmt::format("process {} on {}, since {}", process.pid, host, since) : host;
  }
};

}  // namespace

Claim::Claim(std::string url, TakeOver take_over, std::chrono::milliseconds renew)
    : url_(std::move(url)),
      object_(inner_url(url_, kClaimName)),
      token_(draw_token()),
      since_(now_text()),
      renew_(renew) {
  take(take_over);
  find_out_about_conditions();
  thread_ = std::thread([this] { keep(); });
}

Claim::~Claim() {
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
  if (!lost_.empty()) return;
  try {
    const auto there = store_of(object_).read_small(object_);
    if (there && Holder(there->content).token == token_) store_of(object_).remove(object_);
  } catch (const std::exception& error) {
    log::warn(fmt::format("{}: stays claimed for {:.0f} s more ({})", net::without_secrets(url_), kClaimLeft_s,
                          error.what()));
  }
}

void Claim::on_loss(std::function<void()> act) {
  const std::scoped_lock lock(mutex_);
  on_loss_ = std::move(act);
  if (!lost_.empty() && on_loss_) on_loss_();
}

void Claim::check() const {
  const std::scoped_lock lock(mutex_);
  if (lost_.empty()) return;
  throw user_error(fmt::format("[folder] {}: was taken over by {}; what this one did since does not count there",
                               net::without_secrets(url_), lost_));
}

// The time makes each renewal another content, and so another version.
std::string Claim::text() const {
  const json whole{{"token", token_},
                   {"host", host_name()},
                   {"process", to_json(process_key(::getpid()))},
                   {"process_numbers", process_numbers()},
                   {"since", since_},
                   {"renewed", now_text()},
                   {"renewal", draw_token()}};
  return whole.dump(1) + "\n";
}

void Claim::take(TakeOver take_over) {
  const Store& store = store_of(object_);
  std::string who = "somebody";
  for (int i = 0; i < kTriesMax; ++i) {
    const auto there = store.read_small(object_);
    if (there) {
      const Holder holder(there->content);
      if (holder.token == token_) return;  // the answer was lost
      who = holder.words();
      const double age_s = there->age_s.value_or(0);
      const bool left = holder.has_ended() || age_s > kClaimLeft_s;
      if (take_over == TakeOver::kIfLeft && !left) {
        throw user_error(fmt::format(
            "[folder] {}: {} works on it (seen {:.0f} s ago); wait for its end, or take it over with --take-over. One "
            "that was lost is free after {:.0f} s",
            net::without_secrets(url_), who, age_s, kClaimLeft_s));
      }
      log::info(fmt::format("[folder] {}: taken over from {}, {}", net::without_secrets(url_), who,
                            holder.has_ended() ? "which has ended"
                            : left             ? fmt::format("not seen for {:.0f} s", age_s)
                                               : "as --take-over says"));
    }
    if (store.replace(object_, text(), there ? there->version : "")) return;
  }
  throw user_error(fmt::format("[folder] {}: {} works on it; wait for its end", net::without_secrets(url_), who));
}

// What must be refused: there is a claim.
void Claim::find_out_about_conditions() {
  if (!store_of(object_).replace(object_, text(), "")) return;
  log::warn(
      fmt::format("[folder] {}: this server writes without looking at conditions (If-None-Match): it does not "
                  "refuse a second process that begins at the same moment",
                  net::without_secrets(url_)));
}

void Claim::keep() {
  const BackgroundWork background;
  std::chrono::milliseconds wait = renew_;
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      if (changed_.wait_for(lock, wait, [&] { return ending_; })) return;
    }
    try {
      // It is read first: a server that knows no conditions would write over who took over. Who was quicker is seen the
      // next time.
      if (const auto version = own_version()) store_of(object_).replace(object_, text(), *version);
      wait = renew_;
    } catch (const std::exception& error) {
      // Who sends files tells of a server that is away. Nobody takes over for a while.
      log::debug(fmt::format("[folder] {}: not renewed: {}", net::without_secrets(url_), error.what()));
      wait = std::min(renew_, kRetry);
    }
    const std::scoped_lock lock(mutex_);
    if (lost_.empty()) continue;
    log::error(fmt::format("[folder] {}: was taken over by {}", net::without_secrets(url_), lost_));
    if (on_loss_) on_loss_();
    return;
  }
}

std::optional<std::string> Claim::own_version() {
  const auto there = store_of(object_).read_small(object_);
  if (!there) return "";
  const Holder holder(there->content);
  if (holder.token == token_) return there->version;
  const std::scoped_lock lock(mutex_);
  lost_ = holder.words();
  return std::nullopt;
}

void Claim::look() {
  check();
  own_version();
  check();
}

}  // namespace linac::storage
