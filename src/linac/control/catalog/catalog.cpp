#include "linac/control/catalog/catalog.h"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <span>
#include <thread>
#include <utility>

#include "linac/base/base/log.h"
#include "linac/base/base/refusal.h"
#include "linac/base/base/secure_random.h"
#include "linac/control/catalog/connection.h"
#include "linac/control/catalog/integrity.h"
#include "linac/control/catalog/write_turns.h"

namespace linac::catalog {
namespace {

using Clock = std::chrono::steady_clock;
using Item = WaitingWrite;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr size_t kGroupMax = 1024;         // works in one transaction
constexpr milliseconds kGroupTimeMax{20};  // and their time before the commit, so that none waits long for another's
constexpr seconds kOtherServiceMax{5};     // a service that was killed has not quite gone yet
constexpr seconds kLostMax{60}, kLostReadMax{15};  // trying to reach the database again
constexpr milliseconds kRetry{100};
constexpr int64_t kLookedAtFirstBytes = 64 << 20;  // of a database whose pages are looked at before it is used

/// The connection went away before or during the commit.
struct Lost {
  std::exception_ptr reason;
  bool committing = false;
};

/// Takes a service's place as the only writer, or says who has it.
std::unique_ptr<Connection> open_writer(const std::string& url) {
  auto c = open_connection(url);
  const auto deadline = Clock::now() + kOtherServiceMax;
  while (!c->lock_writing()) {
    if (Clock::now() > deadline)
      throw environment_error(
          "[catalog] another linac service has this catalog open; end it, or use another catalog (--data, --db)");
    std::this_thread::sleep_for(kRetry);
  }
  c->memory = std::make_unique<WriterMemory>();
  return c;
}

}  // namespace

class Catalog::Implementation {
 public:
  Implementation(const std::string& url, int readers) : url_(url), owner_(random_hex(16)) {
    writer_ = open_writer(url);
    const int64_t bytes = writer_->remote() ? 0 : bytes_of(*writer_);
    const bool large = bytes > kLookedAtFirstBytes;
    if (bytes > 0 && !large) look_at_pages();
    if (damage().empty()) {
      migrate(*writer_);
      writer_->begin_write();
      writer_->query("UPDATE writer SET owner = $1, number = 0 WHERE id = 1", owner_);
      writer_->commit();
    }
    if (large) looker_ = std::thread([this] { look_at_pages(); });
    free_.resize(static_cast<size_t>(std::max(1, readers)));  // opened as they are wanted, but the one taken first
    free_.back() = open_connection(url);
    thread_ = std::thread([this] { serve(); });
  }

  ~Implementation() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_one();
    thread_.join();
    stop_looking_ = true;
    if (looker_.joinable()) looker_.join();
  }

  void write(Work work, Done done, const std::string& who) {
    if (damaged_) {
      done(std::make_exception_ptr(refusal_to_write()));
      return;
    }
    {
      const std::lock_guard lock(mutex_);
      if (waiting_.size() < kWaitingMax) {
        waiting_.add({who, std::move(work), std::move(done)});
        if (waiting_.size() == 1) wake_.notify_one();
        return;
      }
    }
    done(std::make_exception_ptr(
        Refusal(RefusalKind::kLimit,
                fmt::format("[catalog] {} changes wait to be written; try again in a second", kWaitingMax))));
  }

  void read(const Work& work, ReadLimit limit) {
    const auto deadline = Clock::now() + kLostReadMax;
    auto c = take_reader();
    for (;;) {
      try {
        if (!c) c = open_connection(url_);
        c->begin_read(limit);
        work(*c);
        c->commit();
        give_reader(std::move(c));
        return;
      } catch (...) {
        if (c && c->alive()) {
          c->rollback();
          if (c->damaged()) found_damage("a page that was read");
          give_reader(std::move(c));
          throw;
        }
        c.reset();
        if (Clock::now() > deadline) {
          give_reader(nullptr);
          throw;
        }
      }
      std::this_thread::sleep_for(kRetry);
    }
  }

  std::string damage() const {
    const std::lock_guard lock(damage_mutex_);
    return damage_;
  }

 private:
  /// Of SQLite's file.
  static int64_t bytes_of(Connection& c) {
    return c.query("PRAGMA page_count").front().integer(0) * c.query("PRAGMA page_size").front().integer(0);
  }
  void look_at_pages() {
    const std::string found = damage_of_pages(url_, stop_looking_);
    if (!found.empty()) found_damage(found);
  }
  void found_damage(const std::string& what) {
    const std::lock_guard lock(damage_mutex_);
    if (damaged_) return;
    damage_ = what;
    damaged_ = true;
    log::error(fmt::format("[catalog] is damaged ({}); nothing is written any more: restore a backup", what));
  }
  Error refusal_to_write() const {
    return environment_error(fmt::format(
        "[catalog] is damaged ({}) and is not written any more; `linac serve check` says more, `linac serve "
        "restore` brings back a backup",
        damage()));
  }

  std::unique_ptr<Connection> take_reader() {
    std::unique_lock lock(readers_mutex_);
    reader_free_.wait(lock, [&] { return !free_.empty(); });
    auto c = std::move(free_.back());
    free_.pop_back();
    return c;
  }
  /// Null stands for a connection that is to be opened by whoever takes it next.
  void give_reader(std::unique_ptr<Connection> c) {
    {
      const std::lock_guard lock(readers_mutex_);
      free_.push_back(std::move(c));
    }
    reader_free_.notify_one();
  }

  void serve() {
    std::vector<Item> group;
    for (;;) {
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [&] { return stopping_ || waiting_.size() > 0; });
        if (waiting_.size() == 0) return;
        // Who has changes that take long is not let into a transaction that others wait for.
        std::chrono::microseconds together{};
        while (waiting_.size() > 0 && group.size() < kGroupMax) {
          if (!group.empty() && together + waiting_.expected() > kGroupTimeMax) break;
          group.push_back(waiting_.next());
          together += group.back().expected;
        }
      }
      const size_t n = acknowledged_from(group);
      const std::lock_guard lock(mutex_);
      for (const Item& item : std::span(group).first(n)) waiting_.charge(item);
      for (; group.size() > n; group.pop_back()) waiting_.give_back(std::move(group.back()));
      group.clear();
    }
  }

  /// Carries out the first of `items`, one at least, and tells them; how many.
  size_t acknowledged_from(std::span<Item> items) {
    size_t n = items.size();
    try {
      n = committed(items);
    } catch (...) {
      for (Item& item : items) item.error = std::current_exception();
    }
    for (Item& item : items.first(n)) {
      try {
        item.done(item.error);
      } catch (const std::exception& e) {
        log::error(fmt::format("[catalog] who was told about a write threw: {}", e.what()));
      }
    }
    return n;
  }

  size_t committed(std::span<Item> items) {
    std::optional<Clock::time_point> deadline;
    for (;;) {
      try {
        if (!writer_) {
          auto c = open_writer(url_);
          const Row kept = c->query("SELECT owner, number FROM writer WHERE id = 1").front();
          if (kept.text(0) != owner_) taken_ = true;
          writer_ = std::move(c);
          // The lock of the lost connection is ours, so whatever it did has ended by now, one way or the other.
          if (!taken_ && committing_ > 0 && kept.integer(1) == number_) return std::exchange(committing_, 0);
          committing_ = 0;
        }
        if (damaged_) throw refusal_to_write();
        if (taken_)
          throw environment_error(
              "[catalog] another linac service has written into this catalog meanwhile; start this one again");
        const auto n = try_group(items, false);
        return n ? *n : *try_group(items, true);
      } catch (const Lost& lost) {
        writer_.reset();
        if (!lost.committing) committing_ = 0;
        if (!deadline) log::warn("[catalog] the connection to the database was lost; opening it again");
        wait_or_throw(deadline, lost.reason);
      } catch (const Error&) {
        if (writer_) throw;
        wait_or_throw(deadline, std::current_exception());
      }
    }
  }

  void wait_or_throw(std::optional<Clock::time_point>& deadline, const std::exception_ptr& reason) {
    if (!deadline) deadline = Clock::now() + kLostMax;
    if (Clock::now() > *deadline) {
      committing_ = 0;
      std::rethrow_exception(reason);
    }
    std::this_thread::sleep_for(kRetry);
  }

  /// One transaction; how many of the items it holds. Nothing if one failed after it had written and savepoints are
  /// wanted, which are costly and seldom needed.
  std::optional<size_t> try_group(std::span<Item> items, bool savepoints) {
    Connection& c = *writer_;
    size_t n = 0;
    bool committing = false;
    try {
      c.begin_write();
      const auto begin = Clock::now(), enough = begin + kGroupTimeMax;
      auto now = begin;
      while (n < items.size() && (n == 0 || now < enough)) {
        Item& item = items[n++];
        const auto took = [&, before = now] {
          now = Clock::now();
          item.taken = std::chrono::duration_cast<std::chrono::microseconds>(now - before);
        };
        item.error = nullptr;
        if (savepoints) c.post("SAVEPOINT one");
        c.forget_wrote();
        try {
          item.work(c);
          if (savepoints) {
            c.settle();
            c.post("RELEASE SAVEPOINT one");
          }
          took();
        } catch (...) {
          took();
          if (!c.alive()) throw;
          item.error = std::current_exception();
          if (c.damaged()) found_damage("a page that was written");
          if (!c.wrote() && !c.failed()) continue;
          if (!savepoints) {
            c.rollback();
            return std::nullopt;
          }
          c.undo_to_savepoint("one");
        }
      }
      if (c.remote()) c.post("UPDATE writer SET number = $1 WHERE id = 1", ++number_);
      if (!savepoints) {
        c.settle();  // so that a failure is known before the commit is asked for
      }
      share_out(items.first(n), Clock::now() - now);
      committing = true;
      committing_ = n;
      c.commit();
      committing_ = 0;
      return n;
    } catch (...) {
      if (!c.alive()) throw Lost{std::current_exception(), committing};
      c.rollback();
      if (c.damaged()) found_damage("a page that was written");
      committing_ = 0;
      if (!savepoints && c.failed() && c.remote()) return std::nullopt;  // of which item is not known
      throw;
    }
  }

  /// What PostgreSQL was still at when all had been said, to those who said it.
  static void share_out(std::span<Item> items, Clock::duration rest) {
    std::chrono::microseconds together{1};
    for (const Item& item : items) together += item.taken;
    const double more = std::chrono::duration<double, std::micro>(rest).count() / static_cast<double>(together.count());
    for (Item& item : items)
      item.taken += std::chrono::microseconds(std::llround(more * static_cast<double>(item.taken.count())));
  }

  const std::string url_, owner_;
  std::unique_ptr<Connection> writer_;
  int64_t number_ = 0;     // of the newest transaction
  size_t committing_ = 0;  // items of a commit that was not answered
  bool taken_ = false;

  std::mutex mutex_;
  std::condition_variable wake_;
  WriteTurns waiting_;
  bool stopping_ = false;

  std::atomic<bool> damaged_ = false, stop_looking_ = false;
  mutable std::mutex damage_mutex_;
  std::string damage_;
  std::thread looker_;

  std::mutex readers_mutex_;
  std::condition_variable reader_free_;
  std::vector<std::unique_ptr<Connection>> free_;
  std::thread thread_;
};

Catalog::Catalog(const std::string& url, int readers)
    : implementation_(std::make_unique<Implementation>(url, readers)) {}
Catalog::~Catalog() = default;
void Catalog::write(Work work, Done done, const std::string& who) {
  implementation_->write(std::move(work), std::move(done), who);
}
std::string Catalog::damage() const {
  return implementation_->damage();
}
void Catalog::read(const Work& work, ReadLimit limit) {
  implementation_->read(work, limit);
}

}  // namespace linac::catalog
