#include "argosy/base/device.h"

#include "argosy/base/native_stream.h"
#include "argosy/op/accelerator.h"
#include "argosy/op/copy.h"
#include "argosy/op/dispatch.h"
#include "argosy/streamed/device.h"
#include "functions.h"
#include "python.h"

// Functions of argosy._core over devices: copies, streams (a place and a number) and events
// (capsules).
namespace argosy::python {
namespace {

constexpr const char* kEvent = "argosy.device_event";

Stream to_stream(PyObject* place, PyObject* number) {
  return {to_place(place), static_cast<uint32_t>(to_int(number))};
}

DeviceEvent& to_event(PyObject* o) {
  void* p = PyCapsule_GetPointer(o, kEvent);
  if (!p) throw PythonError{};
  return *static_cast<DeviceEvent*>(p);
}

template <class F>
auto without_gil(F f) {
  WithoutGil no_gil;
  return f();
}

// devices() -> [(name, count)] of those that were added
PyObject* f_devices(Args) {
  Py list(check(PyList_New(0)));
  for (int kind = 0; kind < kDeviceKinds; ++kind) {
    Device* device = device::find(static_cast<DeviceKind>(kind));
    if (!device) continue;
    Py item(check(Py_BuildValue("(si)", device->name(), device->count())));
    if (PyList_Append(list.get(), item.get())) throw PythonError{};
  }
  return list.release();
}

// has_cuda() -> whether the library with GPU kernels is installed
PyObject* f_has_cuda(Args) {
  return PyBool_FromLong(op::has_cuda());
}

PyObject* f_cuda_count(Args) {
  return PyLong_FromLong(op::cuda_count());
}

PyObject* f_start_cuda(Args) {
  without_gil([] { op::start_cuda(); });
  Py_RETURN_NONE;
}

// device_properties(place) -> {name: text}
PyObject* f_device_properties(Args args) {
  const Place place = to_place(args[0]);
  Py all(check(PyDict_New()));
  for (const auto& [name, value] : device::of(place).properties(place)) {
    Py text(check(PyUnicode_FromString(value.c_str())));
    if (PyDict_SetItemString(all.get(), name.c_str(), text.get())) throw PythonError{};
  }
  return all.release();
}

// copy_to(tensor, place, blocking) -> tensor without history. Not blocking: copies of pinned memory
// may still be under way.
PyObject* f_copy_to(Args args) {
  const Tensor t = checked_tensor("to", args[0]);
  const Place place = to_place(args[1]);
  const bool blocking = truth(args[2]);
  const Tensor there =
      without_gil([&] { return blocking ? op::to_place(t, place) : op::send(t, place); });
  return wrap(there.is(t) ? t.detach() : there);
}

// pin(tensor, blocking) -> tensor in pinned memory, without history
PyObject* f_pin(Args args) {
  const Tensor t = checked_tensor("pin_memory", args[0]);
  const bool blocking = truth(args[1]);
  const Tensor pinned = without_gil([&] { return op::to_pinned(t, blocking); });
  return wrap(pinned.is(t) ? t.detach() : pinned);
}

PyObject* f_current_stream(Args args) {
  return PyLong_FromUnsignedLong(device::current(to_place(args[0])).id);
}

PyObject* f_set_current_stream(Args args) {
  device::set_current(to_stream(args[0], args[1]));
  Py_RETURN_NONE;
}

PyObject* f_make_stream(Args args) {
  const Place place = to_place(args[0]);
  return PyLong_FromUnsignedLong(device::of(place).make_stream(place).id);
}

PyObject* f_drop_stream(Args args) {
  const Stream stream = to_stream(args[0], args[1]);
  device::of(stream.place).drop_stream(stream);
  Py_RETURN_NONE;
}

PyObject* f_stream_done(Args args) {
  const Stream stream = to_stream(args[0], args[1]);
  return PyBool_FromLong(device::of(stream.place).done(stream));
}

PyObject* f_synchronize_stream(Args args) {
  const Stream stream = to_stream(args[0], args[1]);
  without_gil([&] { device::synchronize(stream); });
  Py_RETURN_NONE;
}

PyObject* f_synchronize_device(Args args) {
  const Place place = to_place(args[0]);
  without_gil([&] { device::synchronize(place); });
  Py_RETURN_NONE;
}

// record_event(place, stream) -> event
PyObject* f_record_event(Args args) {
  const Stream stream = to_stream(args[0], args[1]);
  Ref<DeviceEvent> event = device::of(stream.place).record(stream);
  return check(PyCapsule_New(event.leak(), kEvent, [](PyObject* o) {
    static_cast<DeviceEvent*>(PyCapsule_GetPointer(o, kEvent))->release();
  }));
}

// wait_event(place, stream, event)
PyObject* f_wait_event(Args args) {
  const Stream stream = to_stream(args[0], args[1]);
  device::of(stream.place).wait(stream, to_event(args[2]));
  Py_RETURN_NONE;
}

PyObject* f_event_done(Args args) {
  return PyBool_FromLong(to_event(args[0]).done());
}

PyObject* f_synchronize_event(Args args) {
  DeviceEvent& event = to_event(args[0]);
  without_gil([&] { device::wait(event); });
  Py_RETURN_NONE;
}

PyObject* f_event_milliseconds(Args args) {
  return PyFloat_FromDouble(to_event(args[0]).milliseconds_to(to_event(args[1])));
}

// record_stream(tensor, place, stream)
PyObject* f_record_stream(Args args) {
  const Tensor t = checked_tensor("record_stream", args[0]);
  const Stream stream = to_stream(args[1], args[2]);
  ARGOSY_CHECK(t.place() == stream.place && t.has_data(), invalid_argument)
      << "[record_stream] " << t << " on " << t.place() << " has no memory on " << stream.place
      << ". Do this: pass a stream of the tensor's place.";
  device::of(stream.place).record_use(stream, t.raw());
  Py_RETURN_NONE;
}

PyObject* f_host_waits(Args) {
  return PyLong_FromUnsignedLongLong(device::host_waits());
}

// (place, number) -> the address of the stream as CUDA knows it
PyObject* f_stream_handle(Args args) {
  const Stream stream = to_stream(args[0], args[1]);
  return PyLong_FromVoidPtr(device::native_streams(stream.place).handle(stream));
}

// (place, address) -> the number of that stream
PyObject* f_adopt_stream(Args args) {
  const Place place = to_place(args[0]);
  void* handle = PyLong_AsVoidPtr(args[1]);
  if (!handle && PyErr_Occurred()) throw PythonError{};
  return PyLong_FromUnsignedLong(device::native_streams(place).adopt(place, handle).id);
}

// start_streamed(count, most_delay_us)
PyObject* f_start_streamed(Args args) {
  streamed::start({.count = static_cast<int>(to_int(args[0])), .most_delay_us = to_int(args[1])});
  Py_RETURN_NONE;
}

PyObject* f_forget_failures(Args) {
  without_gil([&] { streamed::forget_failures(); });
  Py_RETURN_NONE;
}

PyObject* f_begin_log(Args) {
  streamed::begin_log();
  Py_RETURN_NONE;
}

// streamed_end_log() -> [(name, stream, position, [what is before it: a position of each stream])]
PyObject* f_end_log(Args) {
  Py list(check(PyList_New(0)));
  for (const auto& entry : streamed::end_log()) {
    Py before(check(PyList_New(0)));
    for (uint64_t position : entry.before.positions()) {
      Py number(check(PyLong_FromUnsignedLongLong(position)));
      if (PyList_Append(before.get(), number.get())) throw PythonError{};
    }
    Py item(check(Py_BuildValue("(sIKO)", entry.name.c_str(), entry.at.stream,
                                static_cast<unsigned long long>(entry.at.position), before.get())));
    if (PyList_Append(list.get(), item.get())) throw PythonError{};
  }
  return list.release();
}

PyObject* f_stop_streamed(Args) {
  without_gil([] { streamed::stop(); });
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {FUNCTION("devices", f_devices, 0),
                           FUNCTION("has_cuda", f_has_cuda, 0),
                           FUNCTION("cuda_count", f_cuda_count, 0),
                           FUNCTION("start_cuda", f_start_cuda, 0),
                           FUNCTION("device_properties", f_device_properties, 1),
                           FUNCTION("copy_to", f_copy_to, 3),
                           FUNCTION("pin", f_pin, 2),
                           FUNCTION("current_stream", f_current_stream, 1),
                           FUNCTION("set_current_stream", f_set_current_stream, 2),
                           FUNCTION("make_stream", f_make_stream, 1),
                           FUNCTION("drop_stream", f_drop_stream, 2),
                           FUNCTION("stream_done", f_stream_done, 2),
                           FUNCTION("synchronize_stream", f_synchronize_stream, 2),
                           FUNCTION("synchronize_device", f_synchronize_device, 1),
                           FUNCTION("record_event", f_record_event, 2),
                           FUNCTION("wait_event", f_wait_event, 3),
                           FUNCTION("event_done", f_event_done, 1),
                           FUNCTION("synchronize_event", f_synchronize_event, 1),
                           FUNCTION("event_milliseconds", f_event_milliseconds, 2),
                           FUNCTION("record_stream", f_record_stream, 3),
                           FUNCTION("host_waits", f_host_waits, 0),
                           FUNCTION("stream_handle", f_stream_handle, 2),
                           FUNCTION("adopt_stream", f_adopt_stream, 2),
                           FUNCTION("start_streamed", f_start_streamed, 2),
                           FUNCTION("forget_failures", f_forget_failures, 0),
                           FUNCTION("streamed_begin_log", f_begin_log, 0),
                           FUNCTION("streamed_end_log", f_end_log, 0),
                           FUNCTION("stop_streamed", f_stop_streamed, 0),
                           {}};

}  // namespace

void add_device(PyObject* module) {
  add_functions(module, functions);
  streamed::start_by_flags();
}

}  // namespace argosy::python
