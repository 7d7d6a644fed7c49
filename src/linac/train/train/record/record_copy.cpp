#include "linac/train/train/record/record_copy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/base/base/write_fence.h"
#include "linac/train/train/agreement.h"
#include "linac/train/trained/checkpoint_files.h"

namespace linac::train {
namespace {

namespace fs = std::filesystem;

constexpr int kTag = 17;
constexpr size_t kPiece = 4 << 20, kMaxList = 16 << 20;

struct Entry {
  std::string name;  // below the run's folder
  size_t bytes = 0;
};

std::vector<Entry> files_of_record(const RunFolder& folder) {
  std::vector<fs::path> paths = trained::chosen_checkpoints(folder.checkpoints());
  paths.push_back(folder.metrics());
  std::error_code none;
  for (const auto& entry : fs::recursive_directory_iterator(folder.tensorboard(), none)) paths.push_back(entry.path());
  std::vector<Entry> entries;
  for (const fs::path& path : paths) {
    if (!fs::is_regular_file(path, none)) continue;
    const auto bytes = fs::file_size(path, none);
    if (!none) entries.push_back({path.lexically_relative(folder.root()).generic_string(), bytes});
  }
  return entries;
}

// One of those that files_of_record() names.
bool is_of_record(const RunFolder& folder, const std::string& name) {
  const fs::path path = fs::path(name).lexically_normal();
  if (path.generic_string() != name || path.is_absolute() || name.starts_with("..")) return false;
  const fs::path whole = folder.root() / path;
  const fs::path curves = folder.tensorboard().lexically_relative(folder.root());
  const std::vector<fs::path> chosen = trained::chosen_checkpoints(folder.checkpoints());
  return whole == folder.metrics() || std::find(chosen.begin(), chosen.end(), whole) != chosen.end() ||
         *path.begin() == *curves.begin();
}

void send_bytes(comm::Group& group, int to, std::span<const std::byte> bytes) {
  const comm::Group::Outward message{to, bytes};
  group.exchange({&message, 1}, {}, kTag);
}

void receive_bytes(comm::Group& group, int from, std::span<std::byte> bytes) {
  const comm::Group::Inward message{from, bytes};
  group.exchange({}, {&message, 1}, kTag);
}

void send_record(comm::Group& group, int to, const RunFolder& folder) {
  const std::vector<Entry> entries = files_of_record(folder);
  nlohmann::json list = nlohmann::json::array();
  for (const Entry& entry : entries) list.push_back({entry.name, entry.bytes});
  const std::string text = list.dump();
  const std::array<uint64_t, 1> size{text.size()};
  send_bytes(group, to, std::as_bytes(std::span(size)));
  send_bytes(group, to, std::as_bytes(std::span(text)));
  std::vector<char> piece(kPiece);
  for (const Entry& entry : entries) {
    std::ifstream file(folder.root() / entry.name, std::ios::binary);
    for (size_t done = 0; done < entry.bytes;) {
      const size_t now = std::min(kPiece, entry.bytes - done);
      if (!file.read(piece.data(), static_cast<std::streamsize>(now)))
        throw environment_error(fmt::format("[run] {}: cannot be read", (folder.root() / entry.name).string()));
      send_bytes(group, to, std::as_bytes(std::span(piece).first(now)));
      done += now;
    }
  }
}

std::vector<Entry> receive_list(comm::Group& group, int from, const RunFolder& folder) {
  std::array<uint64_t, 1> size{};
  receive_bytes(group, from, std::as_writable_bytes(std::span(size)));
  if (size[0] == 0 || size[0] > kMaxList)
    throw Error(ErrorCode::kInternal, fmt::format("[run] a record whose list has {} bytes", size[0]));
  std::string text(size[0], '\0');
  receive_bytes(group, from, std::as_writable_bytes(std::span(text)));
  std::vector<Entry> entries;
  for (const auto& one : nlohmann::json::parse(text)) {
    entries.push_back({one.at(0), one.at(1)});
    if (!is_of_record(folder, entries.back().name))
      throw Error(ErrorCode::kInternal, fmt::format("[run] '{}' is no file of a record", entries.back().name));
  }
  return entries;
}

void receive_file(comm::Group& group, int from, const fs::path& path, size_t bytes) {
  make_folder(path.parent_path());
  std::ofstream file(path, std::ios::binary);
  std::vector<char> piece(std::min(kPiece, bytes));
  for (size_t done = 0; done < bytes;) {
    const size_t now = std::min(kPiece, bytes - done);
    receive_bytes(group, from, std::as_writable_bytes(std::span(piece).first(now)));
    file.write(piece.data(), static_cast<std::streamsize>(now));
    done += now;
  }
  file.close();
  if (!file) throw environment_error(fmt::format("[run] {}: cannot be written; is the disk full?", path.string()));
}

void move_over(const FencedWrite& incoming, const fs::path& from, const fs::path& to) {
  std::error_code error;
  if (!fs::exists(from, error)) return;
  if (fs::is_directory(from, error)) fs::remove_all(to, error);  // a file replaces another at once
  make_folder(to.parent_path());
  fs::rename(from, to, error);
  if (!error) return;
  incoming.check();  // whoever has the next turn has removed it
  throw environment_error(fmt::format("[run] {}: cannot be written ({})", to.string(), error.message()));
}

// All of it comes first, then it takes the place of what was there; the lines last, as they say how far it goes.
void receive_record(comm::Group& group, int from, const RunFolder& folder) {
  const FencedWrite incoming(folder.root() / ".record-incoming");
  const fs::path beside = incoming.temporary();
  std::error_code ignored;
  fs::remove_all(beside, ignored);
  make_folder(beside);
  incoming.check();
  size_t bytes = 0;
  for (const Entry& entry : receive_list(group, from, folder)) {
    receive_file(group, from, beside / entry.name, entry.bytes);
    bytes += entry.bytes;
  }
  std::vector<fs::path> paths = trained::chosen_checkpoints(folder.checkpoints());
  paths.insert(paths.begin(), folder.tensorboard());
  paths.push_back(folder.metrics());
  for (const fs::path& path : paths) move_over(incoming, beside / path.lexically_relative(folder.root()), path);
  fs::remove_all(beside, ignored);
  log::info(fmt::format("{}: the record of the run has come from rank {} ({:.1f} MB)", folder.root().string(), from,
                        static_cast<double>(bytes) / 1e6));
}

}  // namespace

bool keeps_record(const comm::View& view, int rank) {
  if (rank == 0) return true;
  const std::string& mine = view.members.at(static_cast<size_t>(rank)).ledger;
  const auto end = view.members.begin() + rank;
  return !mine.empty() &&
         std::none_of(view.members.begin(), end, [&](const comm::Member& member) { return member.ledger == mine; });
}

bool copy_records(comm::Group& group, const RunFolder& folder, Holds mine,
                  const std::function<void()>& before_sending) {
  std::string all;
  for (const std::string& one : group.gather_text(std::string(1, static_cast<char>(mine)))) all += one;
  broadcast_bytes(group, all, 0);
  const size_t whole = all.find(static_cast<char>(Holds::kAll));
  if (whole == std::string::npos) return false;
  for (size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank] != static_cast<char>(Holds::kPart)) continue;
    if (group.rank() == static_cast<int>(whole)) {
      before_sending();
      send_record(group, static_cast<int>(rank), folder);
    }
    if (group.rank() == static_cast<int>(rank)) receive_record(group, static_cast<int>(whole), folder);
  }
  return mine == Holds::kPart;
}

}  // namespace linac::train
