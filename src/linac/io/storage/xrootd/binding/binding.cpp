#include "linac/io/storage/xrootd/binding.h"

#include <XProtocol/XProtocol.hh>
#include <XrdCl/XrdClDefaultEnv.hh>
#include <XrdCl/XrdClFile.hh>
#include <XrdCl/XrdClFileSystem.hh>
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

namespace {

using linac::storage::xrootd::Binding;
using linac::storage::xrootd::Outcome;
using linac::storage::xrootd::Result;
using linac::storage::xrootd::State;

// Seconds. The client's own are for hours: a port that nobody listens at costs eight minutes.
constexpr uint16_t kAsked_s = 30, kMoved_s = 120;
struct Bound {
  const char *variable, *name;
  int value;
};
constexpr Bound kBounds[] = {{"XRD_CONNECTIONWINDOW", "ConnectionWindow", 5},
                             {"XRD_CONNECTIONRETRY", "ConnectionRetry", 2},
                             {"XRD_REQUESTTIMEOUT", "RequestTimeout", 120},
                             {"XRD_STREAMTIMEOUT", "StreamTimeout", 60},
                             {"XRD_TIMEOUTRESOLUTION", "TimeoutResolution", 1}};

void set_bounds() {
  static const bool once = [] {
    XrdCl::Env* const env = XrdCl::DefaultEnv::GetEnv();
    for (const Bound& bound : kBounds)
      if (std::getenv(bound.variable) == nullptr) env->PutInt(bound.name, bound.value);
    return true;
  }();
  static_cast<void>(once);
}

Outcome outcome_of(const XrdCl::XRootDStatus& status) {
  if (status.IsOK()) return Outcome::kDone;
  if (status.code == XrdCl::errErrorResponse) {
    switch (status.errNo) {
      case kXR_NotFound:
        return Outcome::kAbsent;
      case kXR_NotAuthorized:
      case kXR_AuthFailed:
        return Outcome::kDenied;
      case kXR_ItExists:
        return Outcome::kExists;
      default:
        return Outcome::kFailed;
    }
  }
  switch (status.code) {
    case XrdCl::errNotFound:
      return Outcome::kAbsent;
    case XrdCl::errAuthFailed:
    case XrdCl::errLoginFailed:
      return Outcome::kDenied;
    case XrdCl::errInvalidAddr:
    case XrdCl::errConnectionError:
    case XrdCl::errSocketTimeout:
    case XrdCl::errNoMoreReplicas:
      return Outcome::kUnreachable;
    default:
      return Outcome::kFailed;
  }
}

bool keep(const XrdCl::XRootDStatus& status, Result* result) {
  result->outcome = outcome_of(status);
  if (result->outcome == Outcome::kDone) return true;
  std::string text = status.GetErrorMessage();
  if (text.empty()) text = status.ToStr();
  const size_t size = std::min(text.size(), sizeof result->text - 1);
  std::memcpy(result->text, text.data(), size);
  result->text[size] = '\0';
  return false;
}

State state_of(const XrdCl::StatInfo& info) {
  State state;
  state.size = static_cast<int64_t>(info.GetSize());
  state.changed_s = static_cast<int64_t>(info.GetModTime());
  state.is_folder = info.TestFlags(XrdCl::StatInfo::IsDir) ? 1 : 0;
  std::strncpy(state.id, info.GetId().c_str(), sizeof state.id - 1);
  return state;
}

void* open_file(const char* url, int32_t to_write, Result* result) {
  set_bounds();
  auto file = std::make_unique<XrdCl::File>();
  using XrdCl::Access;
  using XrdCl::OpenFlags;
  const auto flags =
      to_write != 0 ? OpenFlags::New | OpenFlags::Write | OpenFlags::MakePath : OpenFlags::Flags(OpenFlags::Read);
  const auto mode = to_write != 0 ? Access::UR | Access::UW | Access::GR | Access::OR : Access::None;
  if (!keep(file->Open(url, flags, mode, kAsked_s), result)) return nullptr;
  return file.release();
}

int64_t read_file(void* handle, int64_t offset, void* to, uint32_t bytes, Result* result) {
  uint32_t got = 0;
  keep(static_cast<XrdCl::File*>(handle)->Read(static_cast<uint64_t>(offset), bytes, to, got, kMoved_s), result);
  return got;
}

void write_file(void* handle, int64_t offset, const void* from, uint32_t bytes, Result* result) {
  keep(static_cast<XrdCl::File*>(handle)->Write(static_cast<uint64_t>(offset), bytes, from, kMoved_s), result);
}

void close_file(void* handle, Result* result) {
  const std::unique_ptr<XrdCl::File> file(static_cast<XrdCl::File*>(handle));
  keep(file->Close(kAsked_s), result);
}

void look(const char* url, State* state, Result* result) {
  set_bounds();
  const XrdCl::URL place(url);
  XrdCl::FileSystem files(place);
  XrdCl::StatInfo* found = nullptr;
  const bool done = keep(files.Stat(place.GetPathWithParams(), found, kAsked_s), result);
  const std::unique_ptr<XrdCl::StatInfo> info(found);
  if (done) *state = state_of(*info);
}

void list_folder(const char* url, void (*take)(void*, const char*, const State*), void* to, Result* result) {
  set_bounds();
  const XrdCl::URL place(url);
  XrdCl::FileSystem files(place);
  XrdCl::DirectoryList* found = nullptr;
  const bool done = keep(files.DirList(place.GetPathWithParams(),
                                       XrdCl::DirListFlags::Stat | XrdCl::DirListFlags::Locate, found, kMoved_s),
                         result);
  const std::unique_ptr<XrdCl::DirectoryList> listed(found);
  if (!done) return;
  for (auto entry = listed->Begin(); entry != listed->End(); ++entry) {
    const XrdCl::StatInfo* const info = (*entry)->GetStatInfo();
    const State state = info != nullptr ? state_of(*info) : State{};
    take(to, (*entry)->GetName().c_str(), &state);
  }
}

void move_file(const char* from_url, const char* to_url, Result* result) {
  set_bounds();
  const XrdCl::URL from(from_url), to(to_url);
  XrdCl::FileSystem files(from);
  keep(files.Mv(from.GetPathWithParams(), to.GetPathWithParams(), kAsked_s), result);
}

void remove_file(const char* url, Result* result) {
  set_bounds();
  const XrdCl::URL place(url);
  XrdCl::FileSystem files(place);
  keep(files.Rm(place.GetPathWithParams(), kAsked_s), result);
}

}  // namespace

extern "C" const Binding* linac_xrootd_binding() {
  static const Binding binding{Binding::kVersion, open_file, read_file,  write_file, close_file, look,
                               list_folder,       move_file, remove_file};
  return &binding;
}
