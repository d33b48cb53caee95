#include <algorithm>
#include <cmath>
#include <cstring>

#include "argosy/base/error.h"
#include "argosy/base/mutex.h"
#include "argosy/ps/table/rule.h"
#include "argosy/ps/table/table.h"

// The formulas are those of the optimizer operations of a Program, so that a dense parameter
// follows the same road on a server as it would in the trainer.
namespace argosy::ps {
namespace {

enum class Kind : uint8_t {
  sgd,
  momentum,
  adagrad,
  adam,
  adam_d2sum,
  ftrl,
  rmsprop,
  sum,
  summary,
  step
};

constexpr float kSummaryDecay = 0.999999f;

class Dense final : public DenseTable {
 public:
  Dense(const TableConfig& config, size_t size)
      : config_(config), c_(config_.accessor.embedding), size_(size) {
    const std::string& rule = c_.rule;
    kind_ = config.kind == "global_step" ? Kind::step
            : config.kind == "summary"   ? Kind::summary
            : rule == "sgd"              ? Kind::sgd
            : rule == "momentum"         ? Kind::momentum
            : rule == "adam"             ? Kind::adam
            : rule == "adam_d2sum"       ? Kind::adam_d2sum
            : rule == "ftrl"             ? Kind::ftrl
            : rule == "rmsprop"          ? Kind::rmsprop
            : rule == "sum"              ? Kind::sum
                                         : Kind::adagrad;
    weights_.assign(size, 0);
    const bool two = kind_ == Kind::adam || kind_ == Kind::adam_d2sum || kind_ == Kind::ftrl ||
                     (kind_ == Kind::rmsprop && c_.momentum != 0);
    const bool one =
        two || kind_ == Kind::rmsprop || kind_ == Kind::adagrad || kind_ == Kind::momentum;
    first_.assign(one ? size : 0, kind_ == Kind::adagrad ? c_.initial_g2sum : 0);
    second_.assign(two ? size : 0, 0);
    largest_.assign(kind_ == Kind::adam && c_.amsgrad ? size : 0, 0);
    powers_[0] = c_.beta1;
    powers_[1] = kind_ == Kind::adam_d2sum ? 0 : c_.beta2;
    exact_.assign(kind_ == Kind::step ? size : 0, 0);
  }

  const TableConfig& config() const override { return config_; }
  size_t size() const override { return size_; }

  void pull(float* out) const override {
    MutexLock lock(mutex_);
    if (!weights_.empty()) std::memcpy(out, weights_.data(), 4 * weights_.size());
  }

  void assign(const float* values) override {
    MutexLock lock(mutex_);
    if (!weights_.empty()) std::memcpy(weights_.data(), values, 4 * weights_.size());
    std::copy_n(values, exact_.size(), exact_.begin());
  }

  void push(const float* gradient, const PushOptions& options) override {
    const float lr = options.learning_rate < 0 ? c_.learning_rate : options.learning_rate;
    const bool finite = all_finite(gradient, size_);
    MutexLock lock(mutex_);
    if (!finite) {
      ++rejected_;
      return;
    }
    update(gradient, lr);
  }

  std::vector<std::byte> copy() const override {
    MutexLock lock(mutex_);
    std::vector<std::byte> bytes;
    bytes.reserve(state_bytes());
    append(&bytes, powers_, sizeof powers_);
    for (const auto* part : {&weights_, &first_, &second_, &largest_}) {
      append(&bytes, part->data(), 4 * part->size());
    }
    append(&bytes, exact_.data(), 8 * exact_.size());
    return bytes;
  }

  void put(std::span<const std::byte> state) override {
    MutexLock lock(mutex_);
    ARGOSY_CHECK(state.size() == state_bytes(), invalid_argument)
        << "[dense table] " << config_.name << ": expected the state of a table of this size and "
        << "rule, " << state_bytes() << " bytes, got " << state.size() << '.';
    const std::byte* from = state.data();
    const auto take = [&](void* to, size_t bytes) {
      if (bytes) std::memcpy(to, from, bytes);
      from += bytes;
    };
    take(powers_, sizeof powers_);
    for (auto* part : {&weights_, &first_, &second_, &largest_})
      take(part->data(), 4 * part->size());
    take(exact_.data(), 8 * exact_.size());
  }

  uint64_t rejected() const override {
    MutexLock lock(mutex_);
    return rejected_;
  }

 private:
  static void append(std::vector<std::byte>* to, const void* from, size_t bytes) {
    const auto* begin = static_cast<const std::byte*>(from);
    to->insert(to->end(), begin, begin + bytes);
  }
  size_t state_bytes() const ARGOSY_REQUIRES(mutex_) {
    return sizeof powers_ +
           4 * (weights_.size() + first_.size() + second_.size() + largest_.size()) +
           8 * exact_.size();
  }

  float bounded(float w) const {
    w = w < c_.minimum ? c_.minimum : w;
    return w > c_.maximum ? c_.maximum : w;
  }

  void update(const float* __restrict g, float lr) ARGOSY_REQUIRES(mutex_) {
    const size_t n = weights_.size();
    float* __restrict w = weights_.data();
    float* __restrict m = first_.data();
    float* __restrict v = second_.data();
    switch (kind_) {
      case Kind::sum:
        for (size_t j = 0; j < n; ++j) w[j] += g[j];
        break;
      case Kind::step:
        for (size_t j = 0; j < n; ++j) {
          exact_[j] += static_cast<double>(g[j]);
          w[j] = static_cast<float>(exact_[j]);
        }
        break;
      case Kind::summary:
        for (size_t j = 0; j < n; ++j) w[j] = w[j] * kSummaryDecay + g[j];
        break;
      case Kind::sgd:
        for (size_t j = 0; j < n; ++j) w[j] = bounded(w[j] - lr * g[j]);
        break;
      case Kind::momentum:
        for (size_t j = 0; j < n; ++j) {
          m[j] = c_.momentum * m[j] + g[j];
          w[j] = bounded(w[j] - lr * (c_.nesterov ? g[j] + c_.momentum * m[j] : m[j]));
        }
        break;
      case Kind::adagrad:
        for (size_t j = 0; j < n; ++j) {
          m[j] += g[j] * g[j];
          w[j] = bounded(w[j] - lr * g[j] / (std::sqrt(m[j]) + c_.epsilon));
        }
        break;
      case Kind::adam: {
        const float root = std::sqrt(1 - powers_[1]);
        const float rate = lr * root / (1 - powers_[0]);
        const float epsilon = c_.epsilon * root;
        const float keep = 1 - lr * c_.decay;
        float* __restrict top = largest_.empty() ? nullptr : largest_.data();
        for (size_t j = 0; j < n; ++j) {
          m[j] = c_.beta1 * m[j] + (1 - c_.beta1) * g[j];
          v[j] = c_.beta2 * v[j] + (1 - c_.beta2) * g[j] * g[j];
          const float under = top ? top[j] = std::max(top[j], v[j]) : v[j];
          w[j] = bounded(keep * w[j] - rate * (m[j] / (std::sqrt(under) + epsilon)));
        }
        powers_[0] *= c_.beta1;
        powers_[1] *= c_.beta2;
        break;
      }
      case Kind::adam_d2sum: {
        const float count = powers_[1] = powers_[1] * c_.beta2 + 1;  // of gradients, as v sums them
        const float epsilon = count * c_.epsilon;
        for (size_t j = 0; j < n; ++j) {
          m[j] = (m[j] - g[j]) * c_.beta1 + g[j];
          v[j] = v[j] * c_.beta2 + g[j] * g[j];
          w[j] = bounded(w[j] - lr * m[j] * std::sqrt((count + epsilon) / (v[j] + epsilon)));
        }
        break;
      }
      case Kind::rmsprop:
        for (size_t j = 0; j < n; ++j) {
          m[j] = c_.rho * m[j] + (1 - c_.rho) * g[j] * g[j];
          float step = lr * g[j] / std::sqrt(m[j] + c_.epsilon);
          if (v) step = v[j] = c_.momentum * v[j] + step;
          w[j] = bounded(w[j] - step);
        }
        break;
      case Kind::ftrl: {
        if (lr == 0) break;
        const bool root = c_.lr_power == -0.5f;
        const auto power = [&](float x) { return root ? std::sqrt(x) : std::pow(x, -c_.lr_power); };
        for (size_t j = 0; j < n; ++j) {
          const float total = m[j] + g[j] * g[j];
          const float to = power(total);
          v[j] += g[j] - (to - power(m[j])) / lr * w[j];
          m[j] = total;
          const float shrunk = (v[j] < 0 ? -c_.l1 : c_.l1) - v[j];
          w[j] = std::abs(v[j]) > c_.l1 ? bounded(shrunk / (to / lr + 2 * c_.l2)) : 0.0f;
        }
        break;
      }
    }
  }

  const TableConfig config_;
  const OptimizerConfig& c_;
  const size_t size_;
  Kind kind_;
  mutable Mutex mutex_;
  // Their sizes never change.
  std::vector<float> weights_ ARGOSY_GUARDED_BY(mutex_);
  std::vector<float> first_ ARGOSY_GUARDED_BY(mutex_);
  std::vector<float> second_ ARGOSY_GUARDED_BY(mutex_);
  std::vector<float> largest_ ARGOSY_GUARDED_BY(mutex_);
  std::vector<double> exact_ ARGOSY_GUARDED_BY(mutex_);  // step: counts past 2^24
  float powers_[2] ARGOSY_GUARDED_BY(mutex_);
  uint64_t rejected_ ARGOSY_GUARDED_BY(mutex_) = 0;
};

}  // namespace

std::unique_ptr<DenseTable> make_dense_table(const TableConfig& config, size_t size) {
  validate(config);
  ARGOSY_CHECK(config.kind == "dense" || config.kind == "summary" || config.kind == "global_step",
               invalid_argument)
      << "[dense table] " << config.name << ": expected kind dense, summary or global_step, got "
      << config.kind << '.';
  return std::make_unique<Dense>(config, size);
}

}  // namespace argosy::ps
