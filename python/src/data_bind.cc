#include "argosy/base/random.h"
#include "argosy/data/records.h"
#include "argosy/data/source.h"
#include "data.h"
#include "functions.h"
#include "python.h"

// Functions of argosy._core over data sets, which Python holds as capsules.
namespace argosy::python {

namespace {

constexpr const char* kSource = "argosy.source";
constexpr const char* kRecords = "argosy.records";

template <class T>
T& unwrap(PyObject* o, const char* name) {
  void* p = PyCapsule_GetPointer(o, name);
  if (!p) throw PythonError{};
  return *static_cast<T*>(p);
}

template <class T>
PyObject* wrap_shared(std::shared_ptr<T> object, const char* name) {
  auto* kept = new std::shared_ptr<T>(std::move(object));
  return check(PyCapsule_New(kept, name, [](PyObject* o) {
    auto* p = static_cast<std::shared_ptr<T>*>(PyCapsule_GetPointer(o, PyCapsule_GetName(o)));
    // Threads may have to end.
    WithoutGil no_gil;
    delete p;
  }));
}

std::shared_ptr<data::Records>& records_of(PyObject* o) {
  return unwrap<std::shared_ptr<data::Records>>(o, kRecords);
}

PyObject* item(PyObject* sequence, Py_ssize_t i) {
  return PySequence_Fast_GET_ITEM(sequence, i);
}

// (slots as (name, dtype, ragged, sizes of a row), sample_id, content, drop_zeros)
data::Format format_of(PyObject* o) {
  Py all(check(PySequence_Fast(o, "expected a tuple")));
  data::Format format;
  Py slots(check(PySequence_Fast(item(all.get(), 0), "expected a list of slots")));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(slots.get()); ++i) {
    Py slot(check(PySequence_Fast(item(slots.get(), i), "expected a tuple")));
    data::Slot s;
    s.name = text_of(item(slot.get(), 0));
    s.dtype = to_dtype(item(slot.get(), 1));
    s.ragged = truth(item(slot.get(), 2));
    s.row = to_shape(item(slot.get(), 3));
    format.slots.push_back(std::move(s));
  }
  format.sample_id = truth(item(all.get(), 1));
  format.content = truth(item(all.get(), 2));
  format.drop_zeros = truth(item(all.get(), 3));
  return format;
}

// (format, files, batch size, readers, lanes, room, pipe command, remote command, skip bad lines,
// timeout)
data::ReadOptions options_of(PyObject* o) {
  Py all(check(PySequence_Fast(o, "expected a tuple")));
  data::ReadOptions r;
  r.format = format_of(item(all.get(), 0));
  Py files(check(PySequence_Fast(item(all.get(), 1), "expected a list of files")));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(files.get()); ++i)
    r.files.push_back(text_of(item(files.get(), i)));
  r.batch_size = to_int(item(all.get(), 2));
  r.readers = static_cast<int>(to_int(item(all.get(), 3)));
  r.lanes = static_cast<size_t>(to_int(item(all.get(), 4)));
  r.room = static_cast<size_t>(to_int(item(all.get(), 5)));
  r.stream.pipe_command = text_of(item(all.get(), 6));
  r.stream.remote_command = text_of(item(all.get(), 7));
  r.skip_bad_lines = truth(item(all.get(), 8));
  r.stream.timeout = PyFloat_AsDouble(item(all.get(), 9));
  if (PyErr_Occurred()) throw PythonError{};
  return r;
}

// (options): a source that reads the files.
PyObject* f_read(Args a) {
  const data::ReadOptions options = options_of(a[0]);
  return wrap_shared(std::shared_ptr<data::Source>(data::read_files(options)), kSource);
}

// (source, worker): (values, lengths or None each, samples), or None at the end.
PyObject* f_next(Args a) {
  std::shared_ptr<data::Source> source = source_of(a[0]);
  const int worker = static_cast<int>(to_int(a[1]));
  data::Batch batch;
  bool more;
  {
    WithoutGil no_gil;
    more = source->next(worker, &batch);
  }
  if (!more) Py_RETURN_NONE;
  Py values(wrap_list(batch.values)), lengths(wrap_list(batch.lengths));
  return check(Py_BuildValue("(OOL)", check(values.get()), check(lengths.get()),
                             static_cast<long long>(batch.samples)));
}

PyObject* f_stop(Args a) {
  source_of(a[0])->stop();
  Py_RETURN_NONE;
}

PyObject* f_progress(Args a) {
  return progress_dict(source_of(a[0])->progress());
}

// --- records ---

PyObject* f_records(Args a) {
  return wrap_shared(std::make_shared<data::Records>(format_of(a[0])), kRecords);
}

// (records, options)
PyObject* f_load(Args a) {
  std::shared_ptr<data::Records> records = records_of(a[0]);
  const data::ReadOptions options = options_of(a[1]);
  {
    WithoutGil no_gil;
    records->load(options);
  }
  Py_RETURN_NONE;
}

PyObject* f_stop_loading(Args a) {
  records_of(a[0])->stop_loading();
  Py_RETURN_NONE;
}

// (samples, bytes, bad lines)
PyObject* f_size(Args a) {
  const data::Records& r = *records_of(a[0]);
  return check(Py_BuildValue("(KKK)", static_cast<unsigned long long>(r.size()),
                             static_cast<unsigned long long>(r.bytes()),
                             static_cast<unsigned long long>(r.bad_lines())));
}

// None: from the stream that argosy.seed starts.
uint64_t seed_of(PyObject* o) {
  if (o == Py_None) return random::default_generator(Place{}).word();
  return static_cast<uint64_t>(to_int(o));
}

// (records, seed)
PyObject* f_shuffle(Args a) {
  std::shared_ptr<data::Records> records = records_of(a[0]);
  const uint64_t seed = seed_of(a[1]);
  {
    WithoutGil no_gil;
    records->shuffle(seed);
  }
  Py_RETURN_NONE;
}

// (records, names of slots, seed)
PyObject* f_shuffle_slots(Args a) {
  std::shared_ptr<data::Records> records = records_of(a[0]);
  std::vector<size_t> slots;
  Py names(check(PySequence_Fast(a[1], "expected a list of names")));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(names.get()); ++i) {
    const std::string name = text_of(item(names.get(), i));
    const auto& all = records->format().slots;
    size_t k = 0;
    while (k < all.size() && all[k].name != name) ++k;
    ARGOSY_CHECK(k < all.size(), invalid_argument)
        << "[slots_shuffle] there is no slot '" << name << "' in use_var.";
    slots.push_back(k);
  }
  const uint64_t seed = seed_of(a[2]);
  {
    WithoutGil no_gil;
    records->shuffle_slots(slots, seed);
  }
  Py_RETURN_NONE;
}

// (records, most)
PyObject* f_merge(Args a) {
  std::shared_ptr<data::Records> records = records_of(a[0]);
  const auto most = static_cast<size_t>(to_int(a[1]));
  {
    WithoutGil no_gil;
    records->merge_by_id(most);
  }
  Py_RETURN_NONE;
}

// (records, parts, seed): a list of bytes; the records are empty then.
PyObject* f_take_parts(Args a) {
  std::shared_ptr<data::Records> records = records_of(a[0]);
  const auto n = static_cast<size_t>(to_int(a[1]));
  const uint64_t seed = seed_of(a[2]);
  std::vector<std::string> parts;
  {
    WithoutGil no_gil;
    parts = records->take_parts(n, seed);
  }
  Py list(check(PyList_New(0)));
  for (const std::string& p : parts) {
    Py bytes(check(PyBytes_FromStringAndSize(p.data(), static_cast<Py_ssize_t>(p.size()))));
    if (PyList_Append(list.get(), bytes.get())) throw PythonError{};
  }
  return list.release();
}

// (records, bytes)
PyObject* f_add_part(Args a) {
  char* data;
  Py_ssize_t size;
  if (PyBytes_AsStringAndSize(a[1], &data, &size)) throw PythonError{};
  records_of(a[0])->add_part({data, static_cast<size_t>(size)});
  Py_RETURN_NONE;
}

// (records, batch size): a source. It keeps the records.
PyObject* f_batches(Args a) {
  std::shared_ptr<data::Records> records = records_of(a[0]);
  std::unique_ptr<data::Source> source = records->batches(to_int(a[1]));
  data::Source* p = source.release();
  return wrap_shared(std::shared_ptr<data::Source>(p, [records](data::Source* s) { delete s; }),
                     kSource);
}

PyMethodDef functions[] = {FUNCTION("data_read", f_read, 1),
                           FUNCTION("data_next", f_next, 2),
                           FUNCTION("data_stop", f_stop, 1),
                           FUNCTION("data_progress", f_progress, 1),
                           FUNCTION("records_new", f_records, 1),
                           FUNCTION("records_load", f_load, 2),
                           FUNCTION("records_stop_loading", f_stop_loading, 1),
                           FUNCTION("records_size", f_size, 1),
                           FUNCTION("records_shuffle", f_shuffle, 2),
                           FUNCTION("records_shuffle_slots", f_shuffle_slots, 3),
                           FUNCTION("records_merge", f_merge, 2),
                           FUNCTION("records_take_parts", f_take_parts, 3),
                           FUNCTION("records_add_part", f_add_part, 2),
                           FUNCTION("records_batches", f_batches, 2),
                           {}};

}  // namespace

std::shared_ptr<data::Source>& source_of(PyObject* capsule) {
  return unwrap<std::shared_ptr<data::Source>>(capsule, kSource);
}

PyObject* progress_dict(const data::Progress& p) {
  Py d(check(PyDict_New()));
  put(d.get(), "samples", PyLong_FromUnsignedLongLong(p.samples));
  put(d.get(), "total_samples", PyLong_FromUnsignedLongLong(p.total_samples));
  put(d.get(), "bytes", PyLong_FromUnsignedLongLong(p.bytes));
  put(d.get(), "total_bytes", PyLong_FromUnsignedLongLong(p.total_bytes));
  put(d.get(), "bad_lines", PyLong_FromUnsignedLongLong(p.bad_lines));
  put(d.get(), "queued", PyLong_FromSize_t(p.queued));
  put(d.get(), "room", PyLong_FromSize_t(p.room));
  return d.release();
}

void add_data(PyObject* module) {
  add_functions(module, functions);
}

}  // namespace argosy::python
