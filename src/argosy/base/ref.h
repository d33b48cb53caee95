#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace argosy {

// Base of intrusively counted objects. Counts are atomic: handles of one object may be copied and
// dropped on any thread; the object itself is not synchronized by this.
class RefCounted {
 public:
  RefCounted() = default;
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;

  void retain() const { refs_.fetch_add(1, std::memory_order_relaxed); }
  void release() const {
    if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) last();
  }
  uint32_t ref_count() const { return refs_.load(std::memory_order_acquire); }

 protected:
  virtual ~RefCounted() = default;
  // Called when the last handle goes; may resurrect by retaining again.
  virtual void drop() { delete this; }

 private:
  // Out of line: handles are destroyed in every second line of the ops, and a compiler that sees
  // what drop() may be writes that there each time.
  [[gnu::noinline, gnu::cold]] static void drop_last(RefCounted* p) { p->drop(); }
  void last() const { drop_last(const_cast<RefCounted*>(this)); }

  mutable std::atomic<uint32_t> refs_{1};
};

template <class T>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}
  static Ref adopt(T* p) {  // takes over the caller's count
    Ref r;
    r.p_ = p;
    return r;
  }
  static Ref share(T* p) {
    if (p) p->retain();
    return adopt(p);
  }
  Ref(const Ref& o) : p_(o.p_) {
    if (p_) p_->retain();
  }
  Ref(Ref&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  Ref& operator=(Ref o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  ~Ref() {
    if (p_) p_->release();
  }
  T* get() const { return p_; }
  T* operator->() const { return p_; }
  T& operator*() const { return *p_; }
  explicit operator bool() const { return p_ != nullptr; }
  T* leak() { return std::exchange(p_, nullptr); }
  bool operator==(const Ref& o) const { return p_ == o.p_; }

 private:
  T* p_ = nullptr;
};

template <class T, class... Args>
Ref<T> make_ref(Args&&... args) {
  return Ref<T>::adopt(new T(std::forward<Args>(args)...));
}

}  // namespace argosy
