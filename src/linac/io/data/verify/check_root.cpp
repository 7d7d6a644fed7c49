#include "linac/base/base/plural.h"
#include "linac/io/data/formats/root_file.h"
#include "linac/io/data/verify/findings.h"
#include "linac/io/root/bytes.h"
#include "linac/io/root/table.h"

namespace linac::data {
namespace {

class RootCheck {
 public:
  RootCheck(const SourcePtr& source, Findings& findings) : file_(open_root_file(source)), findings_(findings) {}

  void run() {
    for (const root::Key& key : file_->keys()) {
      const std::string where = fmt::format("'{}'", key.name);
      if (root::is_table(key)) {
        findings_.guarded(where, [&] {
          try {
            check_table(key);
          } catch (const root::NotRead& error) {
            unread_ += fmt::format("; {} is not checked: {}", where, error.what());
          }
        });
        continue;
      }
      findings_.guarded(where, [&] { file_->content(key); });
      findings_.read(key.bytes);
      ++records_;
    }
    const std::string unpacked =
        fmt::format("{} of tables and {} unpacked", plural(parts_, "piece"), plural(records_, "other record"));
    if (with_checksum_ == 0)
      findings_.checked(unpacked + unread_, false);
    else
      findings_.checked(fmt::format("XXH3 of {}, {}{}", plural(with_checksum_, "page"), unpacked, unread_), true);
  }

 private:
  void check_table(const root::Key& key) {
    root::open_table(file_, key)->check_parts([&](const root::StoredPart& part, const std::string& damage) {
      ++parts_;
      if (part.has_checksum) ++with_checksum_;
      if (!damage.empty()) {
        findings_.damaged(
            fmt::format("'{}', column '{}', {}", key.name, part.column, events_in_words(part.first, part.events)),
            damage);
      }
      findings_.read(static_cast<int64_t>(part.bytes));
    });
  }

  const std::shared_ptr<const root::File> file_;
  Findings& findings_;
  std::string unread_;
  int64_t parts_ = 0, with_checksum_ = 0, records_ = 0;
};

}  // namespace

void check_root(const SourcePtr& source, Findings& findings) {
  RootCheck(source, findings).run();
}

}  // namespace linac::data
