#include <algorithm>
#include <cmath>
#include <thread>

#include "argosy/base/error.h"
#include "argosy/base/json.h"
#include "argosy/ps/service/client.h"
#include "argosy/ps/service/server.h"

// Options of servers and clients from JSON: how they come from Python.
namespace argosy::ps {
namespace {

class Reader {
 public:
  Reader(const char* what, std::string_view text) : what_(what), options_(parsed(what, text)) {}

  void read(const char* name, std::string* to) {
    if (const OrderedJson* v = find(name)) {
      expect(v->is_string(), name, "a string", *v);
      *to = v->get<std::string>();
    }
  }
  void read(const char* name, bool* to) {
    if (const OrderedJson* v = find(name)) {
      expect(v->is_boolean(), name, "true or false", *v);
      *to = v->get<bool>();
    }
  }
  template <class T>
  void read(const char* name, T* to) requires std::is_integral_v<T> {
    if (const OrderedJson* v = find(name)) {
      expect(v->is_number_integer() && v->get<double>() >= 0 && v->get<double>() <= 9e15 &&
                 v->get<uint64_t>() <= std::numeric_limits<T>::max(),
             name, "a whole number in range", *v);
      *to = v->get<T>();
    }
  }
  template <class Rep, class Period>
  void read(const char* name, std::chrono::duration<Rep, Period>* to) {
    if (const OrderedJson* v = find(name)) {
      expect(v->is_number() && v->get<double>() >= 0 && v->get<double>() <= 1e9, name,
             "a number of seconds", *v);
      const std::chrono::duration<double> seconds(v->get<double>());
      *to = std::chrono::ceil<std::chrono::duration<Rep, Period>>(seconds);
    }
  }
  void read(const char* name, std::vector<std::string>* to) {
    if (const OrderedJson* v = find(name)) {
      expect(v->is_array(), name, "a list of strings", *v);
      for (const OrderedJson& one : *v) {
        expect(one.is_string(), name, "a list of strings", *v);
        to->push_back(one.get<std::string>());
      }
    }
  }
  void read(const char* name, std::vector<TableConfig>* to) {
    if (const OrderedJson* v = find(name)) {
      expect(v->is_array() || v->is_string(), name, "a list of tables", *v);
      *to = parse_tables(v->is_string() ? v->get<std::string>() : json_text(*v));
    }
  }

  // After all names were read: others are errors.
  void end() const {
    for (const auto& [name, value] : options_.items())
      ARGOSY_CHECK(known_.find(',' + name + ',') != std::string::npos, invalid_argument)
          << "[parameter_server] options of a " << what_ << ": '" << name
          << "' is none. Expected one of " << known_.substr(1, known_.size() - 2) << '.';
  }

 private:
  static OrderedJson parsed(const char* what, std::string_view text) {
    std::string why;
    try {
      OrderedJson options = parse_json<OrderedJson>(text);
      if (options.is_object()) return options;
    } catch (const OrderedJson::exception& e) {
      why = std::string(" (") + e.what() + ')';
    }
    ARGOSY_THROW(invalid_argument)
        << "[parameter_server] options of a " << what << ": expected a JSON object, got "
        << std::string(text.substr(0, 60)) << why << '.';
  }
  const OrderedJson* find(const char* name) {
    known_ += std::string(name) + ',';
    const auto found = options_.find(name);
    return found == options_.end() || found->is_null() ? nullptr : &*found;
  }
  void expect(bool right, const char* name, const char* expected, const OrderedJson& got) const {
    ARGOSY_CHECK(right, invalid_argument)
        << "[parameter_server] option " << name << " of a " << what_ << ": expected " << expected
        << ", got " << json_text(got).substr(0, 60) << '.';
  }

  const char* what_;
  const OrderedJson options_;
  std::string known_ = ",";
};

}  // namespace

uint32_t ServerOptions::thread_count() const {
  return std::clamp(threads ? threads : std::thread::hardware_concurrency(), 1u, 256u);
}

ServerOptions parse_server_options(std::string_view text) {
  ServerOptions o;
  Reader r("server", text);
  r.read("endpoint", &o.endpoint);
  r.read("index", &o.index);
  r.read("servers", &o.servers);
  r.read("workers", &o.workers);
  r.read("tables", &o.tables);
  r.read("token", &o.token);
  r.read("admin_token", &o.admin_token);
  r.read("certificate", &o.certificate);
  r.read("certificate_key", &o.certificate_key);
  r.read("client_certificate_authority", &o.client_certificate_authority);
  r.read("insecure", &o.insecure);
  r.read("durability", &o.durability);
  r.read("directory", &o.directory);
  r.read("snapshot_every", &o.snapshot_every);
  r.read("snapshot_log_bytes", &o.snapshot_log_bytes);
  r.read("job", &o.job);
  r.read("load_from", &o.load_from);
  r.read("load_mode", &o.load_mode);
  r.read("save_roots", &o.save_roots);
  r.read("turn_limit", &o.turn_limit);
  r.read("stop_limit", &o.stop_limit);
  r.read("threads", &o.threads);
  r.read("max_message_bytes", &o.max_message_bytes);
  r.read("max_keys", &o.max_keys);
  r.read("max_client_rows", &o.max_client_rows);
  r.read("max_answer_bytes", &o.max_answer_bytes);
  r.read("answer_deadline", &o.answer_deadline);
  r.read("max_mailbox_bytes", &o.max_mailbox_bytes);
  r.read("max_connections", &o.max_connections);
  r.read("max_calls", &o.max_calls);
  r.read("max_arriving_calls", &o.max_arriving_calls);
  r.read("message_deadline", &o.message_deadline);
  r.read("max_clients", &o.max_clients);
  r.read("client_expiry", &o.client_expiry);
  r.read("faults", &o.faults);
  r.end();
  ARGOSY_CHECK(o.endpoint.find(':') != std::string::npos, invalid_argument)
      << "[parameter_server] option endpoint of a server: expected host:port, got '" << o.endpoint
      << "'.";
  return o;
}

ClientOptions parse_client_options(std::string_view text) {
  ClientOptions o;
  Reader r("client", text);
  r.read("endpoints", &o.endpoints);
  r.read("worker", &o.worker);
  r.read("workers", &o.workers);
  r.read("tables", &o.tables);
  r.read("token", &o.token);
  r.read("admin_token", &o.admin_token);
  r.read("certificate_authority", &o.certificate_authority);
  r.read("certificate", &o.certificate);
  r.read("certificate_key", &o.certificate_key);
  r.read("insecure", &o.insecure);
  r.read("connect_deadline", &o.connect_deadline);
  r.read("call_deadline", &o.call_deadline);
  r.read("wait_deadline", &o.wait_deadline);
  r.read("table_deadline", &o.table_deadline);
  r.read("attempt_deadline", &o.attempt_deadline);
  r.read("channels", &o.channels);
  r.read("chunk_bytes", &o.chunk_bytes);
  r.read("faults", &o.faults);
  r.end();
  return o;
}

}  // namespace argosy::ps
