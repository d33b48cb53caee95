#include "argosy/comm/staging.h"

#include <algorithm>

#include "argosy/base/mutex.h"
#include "argosy/op/copy.h"
#include "argosy/op/dispatch.h"

namespace argosy::comm {
namespace {

bool on_device(const Tensor& t) {
  return device::find(t.place().kind) != nullptr;
}

// The stream by which this process exchanges tensors of a place.
Stream exchange_stream(Place place) {
  static Mutex mutex;
  static std::vector<Stream>& made = *new std::vector<Stream>;  // guarded by mutex; for ever
  MutexLock lock(mutex);
  for (const Stream& s : made)
    if (s.place == place) return s;
  return made.emplace_back(device::of(place).make_stream(place));
}

// What the thread enqueues on a place goes to its stream of exchanges meanwhile.
class OnExchangeStream {
 public:
  explicit OnExchangeStream(Place place) : before_(device::current(place)) {
    device::set_current(exchange_stream(place));
  }
  ~OnExchangeStream() { device::set_current(before_); }
  OnExchangeStream(const OnExchangeStream&) = delete;

 private:
  const Stream before_;
};

}  // namespace

Tensor Staging::sent(const Tensor& t) {
  if (!on_device(t)) return t;
  const Tensor dense = op::contiguous(t);
  return sent_.emplace_back(dense, Tensor::empty(dense.shape(), dense.dtype())).second;
}

Tensor Staging::received(const Tensor& t) {
  if (!on_device(t)) return t;
  return received_.emplace_back(t, Tensor::empty(t.shape(), t.dtype())).second;
}

std::vector<Stream> Staging::streams() const {
  std::vector<Stream> all;
  for (const Pairs* pairs : {&sent_, &received_})
    for (const auto& [there, here] : *pairs) {
      const Stream stream = exchange_stream(there.place());
      if (!std::ranges::count(all, stream)) all.push_back(stream);
    }
  return all;
}

void Staging::begin() {
  for (const Stream& stream : streams()) {
    Device& device = device::of(stream.place);
    device.wait(stream, *device.record(device::current(stream.place)));
  }
  for (const Pairs* pairs : {&sent_, &received_})
    for (const auto& [there, here] : *pairs)
      if (there.numel())
        device::of(there.place()).record_use(exchange_stream(there.place()), there.raw());
}

void Staging::load() {
  for (const auto& [there, here] : sent_) {
    OnExchangeStream on(there.place());
    op::copy_into(here, there);
  }
}

std::vector<Ref<DeviceEvent>> Staging::store() {
  for (const auto& [there, here] : received_) {
    OnExchangeStream on(there.place());
    op::copy_into(there, here);
  }
  std::vector<Ref<DeviceEvent>> events;
  for (const Stream& stream : streams()) events.push_back(device::of(stream.place).record(stream));
  return events;
}

void wait_for(const std::vector<Ref<DeviceEvent>>& events) {
  for (const Ref<DeviceEvent>& event : events) {
    const Place place = event->stream().place;
    device::of(place).wait(device::current(place), *event);
  }
}

}  // namespace argosy::comm
