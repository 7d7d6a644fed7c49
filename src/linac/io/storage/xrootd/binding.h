#pragma once
// What storage wants of XRootD's client: a table of functions that a shared object of its own exports
// (binding/binding.cpp), loaded at the first use (library.h). The client costs each start of a program that links it
// some 20 ms, and a machine may do without it. Plain types only, as both sides are built by themselves; nothing throws.

#include <cstdint>

namespace linac::storage::xrootd {

enum class Outcome : int32_t { kDone, kAbsent, kDenied, kUnreachable, kExists, kFailed };

struct Result {
  Outcome outcome = Outcome::kDone;
  char text[512] = {};  // what went wrong, in the client's words
};

struct State {
  int64_t size = 0, changed_s = 0;
  int32_t is_folder = 0;
  char id[64] = {};
};

/// All times are bounded. Of one file: one thread.
struct Binding {
  static constexpr uint32_t kVersion = 1;
  uint32_t version;
  void* (*open)(const char* url, int32_t to_write, Result*);  // null: see the result
  int64_t (*read)(void* file, int64_t offset, void* to, uint32_t bytes, Result*);
  void (*write)(void* file, int64_t offset, const void* from, uint32_t bytes, Result*);
  void (*close)(void* file, Result*);  // the handle is gone afterwards
  void (*stat)(const char* url, State*, Result*);
  void (*list)(const char* url, void (*take)(void* to, const char* name, const State*), void* to, Result*);
  void (*move)(const char* from_url, const char* to_url, Result*);
  void (*remove)(const char* url, Result*);
};

}  // namespace linac::storage::xrootd

extern "C" __attribute__((visibility("default"))) const linac::storage::xrootd::Binding* linac_xrootd_binding();
