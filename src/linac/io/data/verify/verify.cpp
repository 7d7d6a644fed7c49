#include "linac/io/data/verify/verify.h"

#include <algorithm>
#include <atomic>

#include "linac/base/base/error.h"
#include "linac/base/base/piece_of_work.h"
#include "linac/base/base/thread_pool.h"
#include "linac/io/data/formats/table.h"
#include "linac/io/data/verify/findings.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LINAC_SANITIZED_BUILD 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define LINAC_SANITIZED_BUILD 1
#endif
#endif

namespace linac::data {
namespace {

// A child process (child_check.h) begins with what the allocator was in the midst of. glibc's and jemalloc's put that
// in order, those of the sanitizers do not: there no other thread of ours allocates meanwhile.
#ifdef LINAC_SANITIZED_BUILD
constexpr int kJobsMax = 1;
#else
constexpr int kJobsMax = 64;
#endif

/// One file: its size is known before any is read.
struct Verification {
  VerifiedFile file;
  SourcePtr source;

  /// What `work` throws becomes the file's end.
  template <class Work>
  void guarded(Work&& work) {
    try {
      work();
    } catch (const Findings::Stop&) {
      file.result = VerifyResult::kStopped;
    } catch (const Error& error) {
      fail(error.what(), static_cast<int>(error.code()));
    } catch (const std::exception& error) {
      fail(error.what(), static_cast<int>(ErrorCode::kInternal));
    }
  }

  void open() {
    guarded([&] {
      source = storage::Source::open(file.url);
      file.bytes = source->size();
    });
  }

  void run(Findings& findings) {
    guarded([&] {
      const bool readable = findings.guarded("the file", [&] {
        const Format& format = format_of(*source);
        file.format = format.name;
        format.check(source, findings);
        source->need_unchanged();
      });
      if (readable) findings.read_to_the_end();
      file.result = file.damages_in_all > 0 ? VerifyResult::kDamaged : VerifyResult::kSound;
    });
  }

 private:
  void fail(const std::string& what, int code) {
    if (code == static_cast<int>(ErrorCode::kPreempted)) return;  // kStopped, as it began
    file.result = VerifyResult::kFailed;
    file.error = what;
    file.error_code = code;
  }
};

}  // namespace

const char* to_string(VerifyResult result) {
  switch (result) {
    case VerifyResult::kSound:
      return "sound";
    case VerifyResult::kDamaged:
      return "damaged";
    case VerifyResult::kFailed:
      return "failed";
    case VerifyResult::kStopped:
      return "stopped";
  }
  return "";
}

std::vector<VerifiedFile> verify_files(const std::vector<std::string>& urls, const VerifyOptions& options) {
  const auto stopped = [&] { return options.stop && options.stop(); };
  std::vector<Verification> all(urls.size());
  ThreadPool pool(std::clamp(options.jobs, 1, kJobsMax));
  pool.run(static_cast<int>(urls.size()), [&](int i) {
    Verification& one = all[static_cast<size_t>(i)];
    one.file.url = urls[static_cast<size_t>(i)];
    if (!stopped()) one.open();
  });
  int64_t bytes = 0;
  for (const Verification& one : all) bytes += one.file.bytes;
  std::atomic<int64_t> done = 0;
  pool.run(static_cast<int>(urls.size()), [&](int i) {
    Verification& one = all[static_cast<size_t>(i)];
    if (!one.source || stopped()) return;
    Findings findings(
        one.file,
        [&](int64_t more) {
          piece_is_done();
          done += more;
          if (options.progress) options.progress(done, bytes);
        },
        stopped);
    one.run(findings);
    one.source.reset();
  });
  std::vector<VerifiedFile> files;
  for (Verification& one : all) files.push_back(std::move(one.file));
  return files;
}

}  // namespace linac::data
