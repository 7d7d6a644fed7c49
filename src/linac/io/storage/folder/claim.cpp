#include "linac/io/storage/folder/claim.h"

#include <fmt/format.h>

#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/base/base/piece_of_work.h"
#include "linac/io/net/http_client.h"
#include "linac/io/storage/folder/manifest.h"
#include "linac/io/storage/store.h"

namespace linac::storage {
namespace {

constexpr int kTriesMax = 5;  // others may begin at the same moment
constexpr std::chrono::milliseconds kRetry{5000};

}  // namespace

Claim::Claim(std::string url, TakeOver take_over, std::chrono::milliseconds renew)
    : url_(std::move(url)), object_(inner_url(url_, kClaimName)), self_(ClaimHolder::here()), renew_(renew) {
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
    if (there && ClaimHolder::parse(there->content).token == self_.token) store_of(object_).remove(object_);
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
  throw user_error(taken_over_words(net::without_secrets(url_), lost_));
}

void Claim::take(TakeOver take_over) {
  const Store& store = store_of(object_);
  std::string who = "somebody";
  for (int i = 0; i < kTriesMax; ++i) {
    const auto there = store.read_small(object_);
    if (there) {
      const ClaimHolder holder = ClaimHolder::parse(there->content);
      if (holder.token == self_.token) return;  // the answer was lost
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
    if (store.replace(object_, self_.text(), there ? there->version : "")) return;
  }
  throw user_error(fmt::format("[folder] {}: {} works on it; wait for its end", net::without_secrets(url_), who));
}

// What must be refused: there is a claim.
void Claim::find_out_about_conditions() {
  if (!store_of(object_).replace(object_, self_.text(), "")) return;
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
      if (const auto version = own_version()) store_of(object_).replace(object_, self_.text(), *version);
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
  const ClaimHolder holder = ClaimHolder::parse(there->content);
  if (holder.token == self_.token) return there->version;
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
