#include <cstring>
#include <memory>
#include <new>
#include <optional>

#include "argosy/base/file.h"
#include "argosy/ps/table/table.h"
#include "bindings.h"

// Tables of this process, for local use and tests:
//   Table(json)                        one sparse table as config.h says
//     pull(keys, create) -> float32 [n, pull_width]; push(keys, values, learning_rate);
//     assign(keys, values); erase(keys); shrink() -> int; end_day(); clear(); stats() -> dict
//     rows(selection, mark) -> (keys, offsets, bytes, deleted); put_rows(keys, offsets, bytes)
//     text(path, selection) -> int; layout, config, pull_width, push_width
//   DenseTable(json, size)
//     pull() -> float32 [size]; push(gradient, learning_rate); assign(values); copy() -> bytes;
//     put(bytes); size; rejected
// Keys are uint64 or int64 arrays (the same bits), values float32 arrays.
namespace argosy::python {
namespace {

using ps::DenseTable;
using ps::Key;
using ps::Rows;
using ps::Selection;
using ps::SparseTable;

struct SparseObject {
  PyObject_HEAD std::shared_ptr<SparseTable> table;
};
struct DenseObject {
  PyObject_HEAD std::shared_ptr<DenseTable> table;
};
PyTypeObject* sparse_type = nullptr;
PyTypeObject* dense_type = nullptr;

SparseTable& sparse(PyObject* self) {
  return *reinterpret_cast<SparseObject*>(self)->table;
}
DenseTable& dense(PyObject* self) {
  return *reinterpret_cast<DenseObject*>(self)->table;
}

class Keys {
 public:
  explicit Keys(PyObject* object) {
    try {
      buffer_.emplace(object, 'Q', false);
    } catch (const Error&) {
      buffer_.emplace(object, 'q', false);
    }
  }
  std::span<const Key> span() const {
    return {static_cast<const Key*>(buffer_->data()), buffer_->size()};
  }

 private:
  std::optional<Buffer> buffer_;
};

// A new NumPy array.
Py array(std::initializer_list<size_t> shape, const char* dtype) {
  Py numpy(check(PyImport_ImportModule("numpy")));
  Py sizes(check(PyTuple_New(static_cast<Py_ssize_t>(shape.size()))));
  Py_ssize_t i = 0;
  for (const size_t n : shape) {
    PyTuple_SET_ITEM(sizes.get(), i++, check(PyLong_FromSize_t(n)));
  }
  return Py(check(PyObject_CallMethod(numpy.get(), "empty", "Os", sizes.get(), dtype)));
}

template <class T>
Py array_of(const std::vector<T>& values, const char* dtype, char format) {
  Py out = array({values.size()}, dtype);
  Buffer buffer(out.get(), format, true);
  if (!values.empty()) std::memcpy(buffer.data(), values.data(), sizeof(T) * values.size());
  return out;
}

const float* values_of(const Buffer& values, size_t rows, size_t width, const char* op) {
  ARGOSY_CHECK(values.size() == rows * width, invalid_argument)
      << "[" << op << "] values: expected " << rows << " rows of " << width << " numbers, got "
      << values.size() << " numbers.";
  return static_cast<const float*>(values.data());
}

Selection selection_of(PyObject* o) {
  const std::string name = text_of(o);
  if (name == "all") return Selection::all;
  if (name == "changed") return Selection::changed;
  if (name == "base") return Selection::base;
  if (name == "delta") return Selection::delta;
  ARGOSY_THROW(invalid_argument) << "[table] selection: expected all, changed, base or delta, got '"
                                 << name << "'.";
}

float rate_of(PyObject* o) {
  const double rate = PyFloat_AsDouble(o);
  if (rate == -1 && PyErr_Occurred()) throw PythonError{};
  return static_cast<float>(rate);
}

// A method of exactly N arguments; `f` may throw.
template <PyObject* (*F)(PyObject*, Args), Py_ssize_t N>
PyObject* method(PyObject* self, Args args, Py_ssize_t count) {
  return guarded_object([&] {
    ARGOSY_CHECK(count == N, type) << "expected " << N << " arguments, got " << count;
    return F(self, args);
  });
}

PyObject* none() {
  Py_RETURN_NONE;
}

PyObject* pull(PyObject* self, Args args) {
  const Keys keys(args[0]);
  const bool create = truth(args[1]);
  const size_t n = keys.span().size();
  Py out = array({n, sparse(self).pull_width()}, "float32");
  {
    const Buffer buffer(out.get(), 'f', true);
    WithoutGil released;
    sparse(self).pull(keys.span(), static_cast<float*>(buffer.data()), create);
  }
  return out.release();
}

PyObject* push(PyObject* self, Args args) {
  const Keys keys(args[0]);
  const Buffer values(args[1], 'f', false);
  const float* from = values_of(values, keys.span().size(), sparse(self).push_width(), "push");
  const float rate = rate_of(args[2]);
  {
    WithoutGil released;
    sparse(self).push(keys.span(), from, {rate});
  }
  return none();
}

PyObject* assign(PyObject* self, Args args) {
  const Keys keys(args[0]);
  const Buffer values(args[1], 'f', false);
  const float* from = values_of(values, keys.span().size(), sparse(self).pull_width(), "assign");
  {
    WithoutGil released;
    sparse(self).assign(keys.span(), from);
  }
  return none();
}

PyObject* erase(PyObject* self, Args args) {
  const Keys keys(args[0]);
  {
    WithoutGil released;
    sparse(self).erase(keys.span());
  }
  return none();
}

PyObject* shrink(PyObject* self, Args) {
  uint64_t gone;
  {
    WithoutGil released;
    gone = sparse(self).shrink();
  }
  return PyLong_FromUnsignedLongLong(gone);
}

PyObject* end_day(PyObject* self, Args) {
  {
    WithoutGil released;
    sparse(self).end_day();
  }
  return none();
}

PyObject* clear(PyObject* self, Args) {
  {
    WithoutGil released;
    sparse(self).clear();
  }
  return none();
}

PyObject* stats(PyObject* self, Args) {
  ps::TableStats s;
  {
    WithoutGil released;
    s = sparse(self).stats();
  }
  Py dict(check(PyDict_New()));
  put(dict.get(), "rows", PyLong_FromUnsignedLongLong(s.rows));
  put(dict.get(), "memory_bytes", PyLong_FromUnsignedLongLong(s.memory_bytes));
  put(dict.get(), "disk_rows", PyLong_FromUnsignedLongLong(s.disk_rows));
  put(dict.get(), "rejected", PyLong_FromUnsignedLongLong(s.rejected));
  return dict.release();
}

PyObject* rows(PyObject* self, Args args) {
  const Selection selection = selection_of(args[0]);
  const bool mark = truth(args[1]);
  Rows all, part;
  std::vector<uint64_t> offsets{0};  // of all shards: may pass 2^32
  std::vector<Key> deleted;
  {
    WithoutGil released;
    for (uint32_t s = 0; s < ps::kShards; ++s) {
      part.clear();
      sparse(self).copy_shard(s, selection, mark, &part, &deleted);
      for (size_t i = 1; i < part.offsets.size(); ++i) {
        offsets.push_back(all.bytes.size() + part.offsets[i]);
      }
      all.keys.insert(all.keys.end(), part.keys.begin(), part.keys.end());
      all.bytes.insert(all.bytes.end(), part.bytes.begin(), part.bytes.end());
    }
  }
  Py keys = array_of(all.keys, "uint64", 'Q'), ends = array_of(offsets, "uint64", 'Q');
  Py bytes(check(PyBytes_FromStringAndSize(reinterpret_cast<const char*>(all.bytes.data()),
                                           static_cast<Py_ssize_t>(all.bytes.size()))));
  Py gone = array_of(deleted, "uint64", 'Q');
  return PyTuple_Pack(4, keys.get(), ends.get(), bytes.get(), gone.get());
}

PyObject* put_rows(PyObject* self, Args args) {
  const Keys keys(args[0]);
  const Keys offsets(args[1]);
  const Buffer bytes(args[2], 'B', false);
  const auto ends = offsets.span();
  Rows rows;
  rows.keys.assign(keys.span().begin(), keys.span().end());
  rows.offsets.clear();
  for (const uint64_t end : ends) {
    ARGOSY_CHECK(end <= bytes.size() && end <= 0xffffffff, invalid_argument)
        << "[put_rows] offsets: " << end << " is past the " << bytes.size() << " bytes.";
    rows.offsets.push_back(static_cast<uint32_t>(end));
  }
  ARGOSY_CHECK(ends.size() == rows.keys.size() + 1, invalid_argument)
      << "[put_rows] offsets: expected " << rows.keys.size() + 1 << ", got " << ends.size() << '.';
  const auto* from = static_cast<const std::byte*>(bytes.data());
  rows.bytes.assign(from, from + bytes.size());
  {
    WithoutGil released;
    sparse(self).put_rows(rows);
  }
  return none();
}

// One row a line: key, tab, what the accessor says.
PyObject* text(PyObject* self, Args args) {
  const std::string path = text_of(args[0]);
  const Selection selection = selection_of(args[1]);
  uint64_t written = 0;
  {
    WithoutGil released;
    OutputFile file(path);
    Rows part;
    std::string lines;
    for (uint32_t s = 0; s < ps::kShards; ++s) {
      part.clear();
      lines.clear();
      sparse(self).copy_shard(s, selection, false, &part, nullptr);
      for (size_t i = 0; i < part.keys.size(); ++i) {
        const std::span<const std::byte> all(part.bytes);
        lines += std::to_string(part.keys[i]);
        lines += '\t';
        lines +=
            sparse(self).text(all.subspan(part.offsets[i], part.offsets[i + 1] - part.offsets[i]));
        lines += '\n';
      }
      file.write(lines);
      written += part.keys.size();
    }
    file.commit();
  }
  return PyLong_FromUnsignedLongLong(written);
}

PyObject* text_object(const std::string& s) {
  return PyUnicode_FromStringAndSize(s.data(), static_cast<Py_ssize_t>(s.size()));
}

PyObject* get_layout(PyObject* self, void*) {
  return guarded_object([&] { return text_object(sparse(self).layout()); });
}
PyObject* get_config(PyObject* self, void*) {
  return guarded_object([&] { return text_object(ps::to_json({sparse(self).config()})); });
}
PyObject* get_pull_width(PyObject* self, void*) {
  return PyLong_FromSize_t(sparse(self).pull_width());
}
PyObject* get_push_width(PyObject* self, void*) {
  return PyLong_FromSize_t(sparse(self).push_width());
}

ps::TableConfig one_config(PyObject* o) {
  auto tables = ps::parse_tables(text_of(o));
  ARGOSY_CHECK(tables.size() == 1, invalid_argument)
      << "[table] expected a list of one table, got " << tables.size() << '.';
  return std::move(tables[0]);
}

PyObject* new_sparse(PyTypeObject* type, PyObject* args, PyObject*) {
  return guarded_object([&]() -> PyObject* {
    PyObject* json;
    if (!PyArg_ParseTuple(args, "U", &json)) throw PythonError{};
    std::shared_ptr<SparseTable> table = ps::make_sparse_table(one_config(json));
    PyObject* self = check(type->tp_alloc(type, 0));
    new (&reinterpret_cast<SparseObject*>(self)->table) std::shared_ptr(std::move(table));
    return self;
  });
}

template <class Object>
void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  {
    // Big tables, and databases, take their time to close.
    auto table = std::move(reinterpret_cast<Object*>(self)->table);
    reinterpret_cast<Object*>(self)->table.~shared_ptr();
    WithoutGil released;
    table.reset();
  }
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* dense_pull(PyObject* self, Args) {
  Py out = array({dense(self).size()}, "float32");
  {
    const Buffer buffer(out.get(), 'f', true);
    WithoutGil released;
    dense(self).pull(static_cast<float*>(buffer.data()));
  }
  return out.release();
}

PyObject* dense_push(PyObject* self, Args args) {
  const Buffer values(args[0], 'f', false);
  const float* from = values_of(values, dense(self).size(), 1, "push");
  const float rate = rate_of(args[1]);
  {
    WithoutGil released;
    dense(self).push(from, {rate});
  }
  return none();
}

PyObject* dense_assign(PyObject* self, Args args) {
  const Buffer values(args[0], 'f', false);
  const float* from = values_of(values, dense(self).size(), 1, "assign");
  {
    WithoutGil released;
    dense(self).assign(from);
  }
  return none();
}

PyObject* dense_copy(PyObject* self, Args) {
  const auto bytes = dense(self).copy();
  return PyBytes_FromStringAndSize(reinterpret_cast<const char*>(bytes.data()),
                                   static_cast<Py_ssize_t>(bytes.size()));
}

PyObject* dense_put(PyObject* self, Args args) {
  const Buffer bytes(args[0], 'B', false);
  dense(self).put({static_cast<const std::byte*>(bytes.data()), bytes.size()});
  return none();
}

PyObject* get_size(PyObject* self, void*) {
  return PyLong_FromSize_t(dense(self).size());
}
PyObject* get_rejected(PyObject* self, void*) {
  return PyLong_FromUnsignedLongLong(dense(self).rejected());
}

PyObject* new_dense(PyTypeObject* type, PyObject* args, PyObject*) {
  return guarded_object([&]() -> PyObject* {
    PyObject* json;
    Py_ssize_t size;
    if (!PyArg_ParseTuple(args, "Un", &json, &size)) throw PythonError{};
    ARGOSY_CHECK(size >= 0, invalid_argument) << "[table] size: got " << size << '.';
    std::shared_ptr<DenseTable> table =
        ps::make_dense_table(one_config(json), static_cast<size_t>(size));
    PyObject* self = check(type->tp_alloc(type, 0));
    new (&reinterpret_cast<DenseObject*>(self)->table) std::shared_ptr(std::move(table));
    return self;
  });
}

#define METHOD(name, f, n) FAST(name, (method<f, n>))

PyMethodDef sparse_methods[] = {
    METHOD("pull", pull, 2),         METHOD("push", push, 3),     METHOD("assign", assign, 2),
    METHOD("erase", erase, 1),       METHOD("shrink", shrink, 0), METHOD("end_day", end_day, 0),
    METHOD("clear", clear, 0),       METHOD("stats", stats, 0),   METHOD("rows", rows, 2),
    METHOD("put_rows", put_rows, 3), METHOD("text", text, 2),     {}};
PyMethodDef dense_methods[] = {METHOD("pull", dense_pull, 0),     METHOD("push", dense_push, 2),
                               METHOD("assign", dense_assign, 1), METHOD("copy", dense_copy, 0),
                               METHOD("put", dense_put, 1),       {}};

PyGetSetDef sparse_properties[] = {{"layout", get_layout, nullptr, nullptr, nullptr},
                                   {"config", get_config, nullptr, nullptr, nullptr},
                                   {"pull_width", get_pull_width, nullptr, nullptr, nullptr},
                                   {"push_width", get_push_width, nullptr, nullptr, nullptr},
                                   {}};
PyGetSetDef dense_properties[] = {{"size", get_size, nullptr, nullptr, nullptr},
                                  {"rejected", get_rejected, nullptr, nullptr, nullptr},
                                  {}};

PyTypeObject* make_type(const char* name, int size, newfunc create, destructor destroy,
                        PyMethodDef* methods, PyGetSetDef* properties) {
  PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(create)},
                         {Py_tp_dealloc, reinterpret_cast<void*>(destroy)},
                         {Py_tp_methods, methods},
                         {Py_tp_getset, properties},
                         {0, nullptr}};
  PyType_Spec spec = {name, size, 0, Py_TPFLAGS_DEFAULT, slots};
  return reinterpret_cast<PyTypeObject*>(check(PyType_FromSpec(&spec)));
}

}  // namespace

void add_tables(PyObject* module) {
  sparse_type = make_type("argosy._ps.Table", sizeof(SparseObject), new_sparse,
                          dealloc<SparseObject>, sparse_methods, sparse_properties);
  dense_type = make_type("argosy._ps.DenseTable", sizeof(DenseObject), new_dense,
                         dealloc<DenseObject>, dense_methods, dense_properties);
  if (PyModule_AddObjectRef(module, "Table", reinterpret_cast<PyObject*>(sparse_type)) ||
      PyModule_AddObjectRef(module, "DenseTable", reinterpret_cast<PyObject*>(dense_type))) {
    throw PythonError{};
  }
}

}  // namespace argosy::python
