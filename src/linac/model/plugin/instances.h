#pragma once
// Instances of somebody else's class for several threads: each in the hands of one at a time, made when all are taken.
// Thread-safe.

#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace linac::plugin {

template <class T>
class Instances {
 public:
  explicit Instances(std::function<std::shared_ptr<T>()> make)
      : free_(std::make_shared<Free>()), make_(std::move(make)) {}

  /// The caller's alone until the last copy of the pointer is gone.
  std::shared_ptr<T> lease() const {
    std::shared_ptr<T> instance = free_->take();
    if (!instance) instance = make_();
    T* const raw = instance.get();
    return {raw, [free = free_, instance = std::move(instance)](T*) { free->give_back(instance); }};
  }

 private:
  struct Free {
    std::shared_ptr<T> take() {
      const std::lock_guard lock(mutex);
      if (instances.empty()) return nullptr;
      std::shared_ptr<T> last = std::move(instances.back());
      instances.pop_back();
      return last;
    }
    void give_back(std::shared_ptr<T> instance) {
      const std::lock_guard lock(mutex);
      instances.push_back(std::move(instance));
    }
    std::mutex mutex;
    std::vector<std::shared_ptr<T>> instances;
  };

  std::shared_ptr<Free> free_;
  std::function<std::shared_ptr<T>()> make_;
};

}  // namespace linac::plugin
