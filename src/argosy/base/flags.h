#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "argosy/base/export.h"

// All switches of the process, in one table (flags.cc): FLAGS_* with the names and defaults of
// Paddle's, read from the environment at the start and changed by set_flags; ARGOSY_*, read once.
namespace argosy::flags {

// In the order of Type.
using Value = std::variant<bool, int64_t, double, std::string>;
enum class Type : uint8_t { boolean, integer, real, text };

enum class Effect : uint8_t {
  live,     // acts as soon as it is set
  startup,  // read once from the environment; setting it later is an error
  none,     // known to Paddle, accepted and kept, changes nothing here
  gpu,      // known to Paddle's builds for GPUs alone; a program for CPUs cannot reach it
};

// Thread safe. Flags never go away, so code that asks often keeps a reference:
//   static const Flag& check = flags::find("FLAGS_check_nan_inf");
//   if (check.boolean()) [[unlikely]] ...
class ARGOSY_API Flag {
 public:
  Flag(const char* name, Value initial, Effect effect, const char* doc);

  const char* name() const { return name_; }
  const char* doc() const { return doc_; }
  Type type() const { return static_cast<Type>(initial_.index()); }
  Effect effect() const { return effect_; }
  const Value& initial() const { return initial_; }  // without the environment

  Value get() const;
  // Converts among numbers where nothing is lost, and reads text as the environment is read. Throws
  // ErrorKind::type for what does not fit, invalid_argument for startup flags.
  void set(const Value& value);
  // Calls back now and after each later set. One listener; for static initializers.
  void listen(void (*changed)());

  bool boolean() const { return number_.load(std::memory_order_relaxed) != 0; }
  int64_t integer() const { return number_.load(std::memory_order_relaxed); }
  double real() const { return real_.load(std::memory_order_relaxed); }
  std::string text() const;

 private:
  void store(const Value& value);

  const char* name_;
  const char* doc_;
  Value initial_;
  Effect effect_;
  std::atomic<void (*)()> changed_{nullptr};
  std::atomic<int64_t> number_{0};
  std::atomic<double> real_{0};
  mutable std::mutex mutex_;
  std::string text_;  // guarded by mutex_
};

// Throws ErrorKind::not_found naming similar flags if there is none of that name.
ARGOSY_API Flag& find(std::string_view name);
ARGOSY_API std::span<Flag> all();

// How a text becomes a value: 0, false, off, no and the empty text are false; 1, true, on, yes are
// true (case ignored). Nothing if it cannot be read.
ARGOSY_API std::optional<Value> parse(std::string_view text, Type type);
ARGOSY_API std::string print(const Value& value);
// The table as Markdown: docs/flags.md.
ARGOSY_API std::string markdown();

}  // namespace argosy::flags
