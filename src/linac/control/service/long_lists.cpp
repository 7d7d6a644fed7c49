#include "linac/control/service/long_lists.h"

#include <algorithm>
#include <optional>

namespace linac::service {
namespace {

using catalog::Database;
using nlohmann::json;

constexpr size_t kPieceBytes = 512 * 1024;
constexpr int64_t kFirstItems = 64, kItemsAtOnceMax = 512;

std::string text_of(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

class ListSource : public http::PieceSource {
 public:
  ListSource(Context& context, std::string who, LongList list)
      : context_(context), who_(std::move(who)), list_(std::move(list)) {
    std::string before = text_of(list_.more);
    before.back() = ',';
    if (list_.more.empty()) before = "{";
    text_ = before + text_of(list_.name) + ":[";
  }

  /// Makes more of it, until there is a piece or the end.
  void read(Database& database) {
    do {
      const int64_t n = std::min(list_.count - done_, items_at_once());
      if (n > 0) {
        try {
          add(list_.items(database, done_, n));
        } catch (const catalog::TooLarge&) {
          if (n == 1) throw;
          fit_ = std::max<int64_t>(1, n / 8);
          continue;
        }
      }
      done_ += n;
    } while (done_ < list_.count && text_.size() < kPieceBytes);
    if (done_ == list_.count) text_ += "]}";
    ended_ = done_ == list_.count;
  }
  bool ended() const { return ended_; }
  std::string take() { return std::exchange(text_, {}); }

  Task<std::string> next() override {
    if (text_.empty() && !ended_) {
      const auto turn = co_await context_.long_reads.take(who_);
      co_await aside(context_,
                     [this] { context_.catalog.read([this](Database& database) { read(database); }, kReadMax); });
    }
    co_return take();
  }

 private:
  void add(const json& items) {
    const size_t before = text_.size();
    for (const json& item : items) {
      if (any_) text_ += ',';
      text_ += text_of(item);
      any_ = true;
    }
    if (!items.empty()) item_bytes_ = std::max<size_t>(1, (text_.size() - before) / items.size());
  }
  int64_t items_at_once() const {
    if (fit_ > 0) return fit_;
    if (item_bytes_ == 0) return std::max(kFirstItems, list_.at_once);
    const int64_t fit = std::clamp<int64_t>(static_cast<int64_t>(kPieceBytes / item_bytes_), 1, kItemsAtOnceMax);
    return std::max(fit, list_.at_once);
  }

  Context& context_;
  const std::string who_;
  LongList list_;
  std::string text_;
  size_t item_bytes_ = 0;  // about
  int64_t done_ = 0;
  int64_t fit_ = 0;  // what the database may give at once, where items are larger than that
  bool any_ = false, ended_ = false;
};

}  // namespace

Handler reads_long_list(Context& context, std::function<LongList(Database&, Request&)> search) {
  return [&context, search = std::move(search)](Request& request) -> Task<Response> {
    auto turn = co_await context.turns.take(who_asks(request));
    std::shared_ptr<ListSource> source = co_await reading(context, [&](Database& database) {
      auto made = std::make_shared<ListSource>(context, who_asks(request), search(database, request));
      made->read(database);
      return made;
    });
    turn.reset();
    Response response;
    if (source->ended()) {
      response.body = source->take();
    } else {
      response.pieces = std::move(source);
    }
    co_return response;
  };
}

}  // namespace linac::service
