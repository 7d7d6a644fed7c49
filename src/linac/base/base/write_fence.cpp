#include "linac/base/base/write_fence.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <system_error>

#include "linac/base/base/error.h"

namespace linac {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTemporary = ".tmp.";

std::mutex mutex;

std::string whole(const fs::path& path) {
  return fs::absolute(path).lexically_normal().string();
}

// The turn that a temporary file's name tells, "best.safetensors.tmp.7711.TURN"; empty if it is none.
std::string_view turn_of(std::string_view name) {
  const size_t at = name.find(kTemporary);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = name.substr(at + kTemporary.size());
  const size_t digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
  return digits > 0 && digits < rest.size() && rest[digits] == '.' ? rest.substr(digits + 1) : std::string_view();
}

// What is left of a folder goes with its owner.
struct Removed {
  fs::path folder;
  ~Removed() {
    std::error_code ignored;
    fs::remove_all(folder, ignored);
  }
};

}  // namespace

struct WriteFence::Facts {
  std::string folder;                // with a slash at its end
  std::vector<std::string> without;  // likewise
  std::function<void()> check;
  std::string turn;
};

std::vector<std::shared_ptr<WriteFence::Facts>>& WriteFence::fences() {
  static std::vector<std::shared_ptr<Facts>> all;
  return all;
}

std::shared_ptr<const WriteFence::Facts> WriteFence::fence_of(const fs::path& path) {
  for (const auto& fence : fences()) {
    const std::string name = whole(path);
    const auto below = [&](const std::string& folder) { return name.starts_with(folder); };
    if (below(fence->folder) && std::none_of(fence->without.begin(), fence->without.end(), below)) return fence;
  }
  return nullptr;
}

WriteFence::WriteFence(const fs::path& folder, std::vector<std::string> without, std::function<void()> check)
    : facts_(std::make_shared<Facts>(Facts{whole(folder / ""), std::move(without), std::move(check), ""})) {
  for (std::string& one : facts_->without) one = whole(folder / one / "");
}

WriteFence::~WriteFence() {
  const std::scoped_lock lock(mutex);
  std::erase(fences(), facts_);
}

void WriteFence::begin(const std::string& turn) {
  const std::scoped_lock lock(mutex);
  facts_->turn = turn;
  std::erase(fences(), facts_);
  fences().insert(fences().begin(), facts_);
}

void WriteFence::remove_remains(const fs::path& in) const {
  std::string mine;
  {
    const std::scoped_lock lock(mutex);
    mine = facts_->turn;
  }
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(in, ignored)) {
    const std::string name = entry.path().filename().string();
    const std::string_view turn = turn_of(name);
    if (!turn.empty() && turn != mine) fs::remove_all(entry.path(), ignored);
  }
}

FencedWrite::FencedWrite(const fs::path& path) {
  std::string ending = std::to_string(::getpid());
  {
    const std::scoped_lock lock(mutex);
    fence_ = WriteFence::fence_of(path);
    if (fence_) ending += "." + fence_->turn;
  }
  temporary_ = path.string() + std::string(kTemporary) + ending;
}

void FencedWrite::check() const {
  if (fence_) fence_->check();
}

void fill_folder(const fs::path& folder, const std::function<void(const fs::path&)>& fill) {
  const FencedWrite files(folder / "files");
  const Removed removed{files.temporary()};
  std::error_code error;
  const auto need = [&](const char* what) {
    if (!error) return;
    files.check();  // whoever has the next turn has removed it
    throw environment_error(fmt::format("[file] {}: {} ({}); check space and permissions", files.temporary().string(),
                                        what, error.message()));
  };
  fs::create_directories(files.temporary(), error);
  need("cannot be made");
  files.check();
  fill(files.temporary());
  std::vector<fs::path> made;
  for (fs::directory_iterator entry(files.temporary(), error), end; !error && entry != end; entry.increment(error))
    made.push_back(entry->path());
  need("cannot be read");
  for (const fs::path& from : made) {
    const fs::path to = folder / from.filename();
    if (fs::is_directory(to, error)) fs::remove_all(to, error);
    fs::rename(from, to, error);
    need("cannot be moved to its place");
  }
}

}  // namespace linac
