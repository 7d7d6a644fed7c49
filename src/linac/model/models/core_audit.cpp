#include "linac/model/models/core_audit.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "linac/base/base/error.h"
#include "linac/model/kernels/fingerprint.h"
#include "linac/model/kernels/known_bits.h"
#include "linac/model/models/processor_probe.h"
#include "linac/model/models/torch_threads.h"

namespace linac::models {
namespace {

using kernels::Isa;
using Clock = std::chrono::steady_clock;

constexpr int64_t kPassesMin = 2;  // or a core that errs now and then has no chance to contradict itself
constexpr auto kTell = std::chrono::milliseconds(200);

template <class Visit>
void for_each_known(const Visit& visit) {
  for (const kernels::KnownPiece& piece : kernels::known_pieces())
    for (const Isa isa : kernels::kIsas)
      if (kernels::has_isa(isa)) visit(piece, isa);
}

std::vector<float> probe_of_torch() {
  const std::string bits = processor_probe();
  std::vector<float> values(bits.size() / sizeof(float));
  std::memcpy(values.data(), bits.data(), values.size() * sizeof(float));
  return values;
}

void one_pass(CoreSayings& sayings, const SpoilResults& spoil) {
  size_t number = 0;
  kernels::Fingerprint fingerprint;
  const auto take = [&](std::span<float> results) {
    if (spoil) spoil(sayings.core, sayings.passes, results);
    fingerprint.add(results);
  };
  const auto note = [&] { ++sayings.digests[number++][std::exchange(fingerprint, {}).value()]; };
  for_each_known([&](const kernels::KnownPiece& piece, Isa isa) {
    piece.compute(isa, take);
    note();
  });
  std::vector<float> results = probe_of_torch();
  take(results);
  note();
  ++sayings.passes;
}

void stay_on(int core) {
  const auto cpus = static_cast<size_t>(std::max(core + 1, CPU_SETSIZE));
  const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(CPU_ALLOC(cpus), [](cpu_set_t* one) { CPU_FREE(one); });
  const size_t bytes = CPU_ALLOC_SIZE(cpus);
  CPU_ZERO_S(bytes, set.get());
  CPU_SET_S(static_cast<size_t>(core), bytes, set.get());
  if (const int status = pthread_setaffinity_np(pthread_self(), bytes, set.get()); status != 0)
    throw environment_error(
        fmt::format("[audit] core {} takes no thread ({}); --cores names those that do", core, std::strerror(status)));
}

// What most of those say that do not contradict themselves.
std::optional<uint64_t> word_of_most(size_t piece, const std::vector<CoreSayings>& cores) {
  std::map<uint64_t, size_t> cores_of;
  size_t steady = 0;
  for (const CoreSayings& one : cores) {
    if (one.digests.at(piece).size() != 1) continue;
    ++steady;
    ++cores_of[one.digests[piece].begin()->first];
  }
  for (const auto& [digest, count] : cores_of)
    if (2 * count > steady) return digest;
  return std::nullopt;
}

int64_t wrong_passes(const std::map<uint64_t, int64_t>& digests, std::optional<uint64_t> right) {
  int64_t all = 0, most = 0;
  for (const auto& [digest, count] : digests) {
    all += count;
    most = std::max(most, count);
  }
  if (!right) return all - most;
  const auto found = digests.find(*right);
  return all - (found == digests.end() ? 0 : found->second);
}

CoreFinding finding_of(size_t piece, const CorePiece& named, const std::vector<CoreSayings>& cores) {
  const std::optional<uint64_t> right = named.known ? named.known : word_of_most(piece, cores);
  CoreFinding finding{.piece = named.name, .wrong = {}, .suspects = {}};
  bool alike = cores.size() > 1;
  for (const CoreSayings& one : cores) {
    const std::map<uint64_t, int64_t>& digests = one.digests.at(piece);
    alike = alike && digests.size() == 1 && digests.contains(cores.front().digests[piece].begin()->first);
    if (const int64_t wrong = wrong_passes(digests, right); wrong > 0)
      finding.wrong.emplace(one.core, wrong);
    else if (!right)
      finding.suspects.push_back(one.core);
  }
  finding.alike = alike && !finding.wrong.empty();
  return finding;
}

}  // namespace

std::vector<CorePiece> core_pieces() {
  std::vector<CorePiece> pieces;
  for_each_known([&](const kernels::KnownPiece& piece, Isa isa) {
    pieces.push_back({fmt::format("{}, {}", piece.name, kernels::to_string(isa)), piece.known(isa)});
  });
  pieces.push_back({"LibTorch", std::nullopt});
  return pieces;
}

std::vector<CoreSayings> ask_cores(const CoreAudit& audit) {
  use_threads(1);  // before several threads could make its first calls
  const size_t pieces = core_pieces().size();
  std::vector<CoreSayings> cores;
  for (const int core : audit.cores) cores.push_back({core, 0, std::vector<std::map<uint64_t, int64_t>>(pieces)});
  std::mutex mutex;  // of what follows
  std::condition_variable ended;
  size_t running = cores.size();
  int64_t passes = 0;
  std::exception_ptr failure;
  const auto begin = Clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  std::atomic<bool> stop = false;
  const auto work = [&](CoreSayings& sayings) {
    std::exception_ptr thrown;
    try {
      stay_on(sayings.core);
      use_threads(1);
      while (!stop && (sayings.passes < kPassesMin || seconds() < audit.seconds)) {
        one_pass(sayings, audit.spoil);
        const std::lock_guard lock(mutex);
        ++passes;
      }
    } catch (...) {
      thrown = std::current_exception();
      stop = true;
    }
    const std::lock_guard lock(mutex);
    if (thrown) failure = thrown;
    --running;
    ended.notify_all();
  };
  {
    std::vector<std::jthread> threads;
    for (CoreSayings& sayings : cores) threads.emplace_back([&] { work(sayings); });
    std::unique_lock lock(mutex);
    do {
      ended.wait_for(lock, kTell, [&] { return running == 0; });
      if (audit.tell) audit.tell(seconds(), passes);
    } while (running > 0);
  }
  if (failure) std::rethrow_exception(failure);
  return cores;
}

std::vector<CoreFinding> judge_cores(const std::vector<CorePiece>& pieces, const std::vector<CoreSayings>& cores) {
  std::vector<CoreFinding> findings;
  for (size_t piece = 0; piece < pieces.size(); ++piece) {
    CoreFinding finding = finding_of(piece, pieces[piece], cores);
    if (!finding.wrong.empty() || !finding.suspects.empty()) findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace linac::models
