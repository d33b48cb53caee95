// Changes of tables, and meetings of workers.
#include <algorithm>

#include "argosy/base/error.h"
#include "argosy/ps/service/row_share.h"
#include "argosy/ps/service/server_core.h"

namespace argosy::ps {
namespace {

Core::Result failed(Failure failure) {
  return {std::move(failure), {}};
}

// Whether the client, told of this, takes it for the end of the request.
bool is_final(Code code) {
  return code != Code::busy && code != Code::timeout && code != Code::unsynced;
}

bool is_whole(Method method) {
  return method != Method::push_sparse && method != Method::push_dense;
}

}  // namespace

void Core::claim(Request request, Clock::time_point until, const Done& done) {
  const Header& h = request.header;
  const auto waiter = [this, done](const Windows::Outcome& o) {
    if (o.failure) return done(failed(o.failure));
    Answer answer;
    answer.number = o.number;
    answer_when_durable(o, std::move(answer), done);
  };
  Windows::Outcome outcome;
  switch (windows_.claim(h.client(), h.sequence, &outcome, waiter)) {
    case Windows::Claim::unknown_client:
      refuse(Code::unknown_client, "the server does not know this client");
    case Windows::Claim::too_old:
      refuse(Code::too_old, "request " + std::to_string(h.sequence) +
                                " of this client is too old to know whether it was applied");
    case Windows::Claim::refused:
    case Windows::Claim::applied:
      repeated_.fetch_add(1, std::memory_order_relaxed);
      return waiter(outcome);
    case Windows::Claim::waiting:
      repeated_.fetch_add(1, std::memory_order_relaxed);
      return;
    case Windows::Claim::fresh:
      break;
  }
  // From here on whoever works gives the claim back.
  auto shared = std::make_shared<Request>(std::move(request));
  const auto give_up = [this, shared, done](Failure why) {
    Windows::Outcome outcome;
    outcome.failure = std::move(why);
    finish(shared->header, {}, std::move(outcome), done);
  };
  if (is_whole(shared->method)) {
    // Whoever has the turn of saves must get on while others wait for it.
    const SavePhase phase = shared->header.phase;
    const bool has_turn =
        shared->method == Method::save && phase != SavePhase::whole && phase != SavePhase::reserve;
    if (!tasks_->apart([this, shared, done] { apply_whole(*shared, done); }, has_turn))
      give_up({Code::busy, "the server has too many long tasks at once"});
    return;
  }
  // An assignment meets no other change of its rows: the log would not know which came first.
  const Passing how =
      shared->header.change == Change::assign ? Passing::exclusive : Passing::shared;
  pass(
      waits_for_disk(*shared), how, until,
      [this, shared, how, done] { apply_push(*shared, how, done); }, give_up);
}

void Core::finish(const Header& h, std::vector<Windows::Waiter> waiters, Windows::Outcome outcome,
                  const Done& done) {
  if (outcome.failure)
    waiters = is_final(outcome.failure.code)
                  ? windows_.refused(h.client(), h.sequence, outcome.failure)
                  : windows_.abandoned(h.client(), h.sequence);
  for (const auto& w : waiters) w(outcome);
  if (outcome.failure) return done(failed(outcome.failure));
  Answer answer;
  answer.number = outcome.number;
  answer_when_durable(outcome, std::move(answer), done);
}

void Core::answer_when_durable(const Windows::Outcome& outcome, Answer answer, Done done) {
  auto result = std::make_shared<Result>();
  result->answer = std::move(answer);
  if (!outcome.position) return done(std::move(*result));
  durability_->when_durable(outcome.position, [result, done](const std::string& why) {
    if (why.empty())
      done(std::move(*result));
    else
      done(failed({Code::unsynced, "applied, but not on disk: " + why}));
  });
}

uint64_t Core::write_and_gather(Request& request) {
  const Header& h = request.header;
  // Rows of a step are made when all have ended it: the client answers for them now.
  RowShare share(&windows_, options_.max_client_rows, h.client(),
                 request.method == Method::push_sparse ? sparse(h.table).sparse.get() : nullptr,
                 request.keys.as<Key>());
  MutexLock lock(meet_);
  if (step_busy_) throw Refusal{{Code::busy, "the step is being applied"}};
  if (Failure why = steps_.check(h, takes_place(h), request.keys.size() + request.values.size()))
    throw Refusal{std::move(why)};
  if (steps_.passed_over(h)) return 0;
  const uint64_t position = append(request);
  steps_.gather(h, std::move(request.keys), std::move(request.values));
  share.made_all();
  return position;
}

uint64_t Core::write_and_push(Request& request) {
  const Header& h = request.header;
  const std::span<const Key> keys = request.keys.as<Key>();
  const float* values = request.values.as<float>().data();
  const bool add = h.change == Change::add;
  SparseTable* rows =
      request.method == Method::push_sparse ? sparse(h.table).sparse.get() : nullptr;
  DenseTable* numbers = rows ? nullptr : dense(h.table).dense.get();
  RowShare share(&windows_, options_.max_client_rows, h.client(), rows, keys);
  const std::unique_ptr<Prepared> prepared = rows ? rows->prepare(keys) : nullptr;
  const uint64_t position = append(request);
  try {
    if (rows)
      share.made(add ? rows->push(keys, values, {h.learning_rate}, prepared.get())
                     : rows->assign(keys, values, prepared.get()));
    else
      add ? numbers->push(values, {h.learning_rate}) : numbers->assign(values);
  } catch (...) {
    if (position) die(current_failure());
    throw;
  }
  pushed_rows_.fetch_add(keys.size(), std::memory_order_relaxed);
  return position;
}

void Core::apply_push(Request& request, Passing how, const Done& done) {
  const Header& h = request.header;
  Windows::Outcome outcome;
  std::vector<Windows::Waiter> waiters;
  try {
    outcome.position =
        h.change == Change::step ? write_and_gather(request) : write_and_push(request);
    pushes_.fetch_add(1, std::memory_order_relaxed);
    waiters = windows_.applied(h.client(), h.sequence, outcome.position);
  } catch (...) {
    outcome.failure = current_failure();
    if (dying_) {
      outcome.failure.code = Code::busy;  // asked again, the next server knows of it
      return finish(h, {}, outcome, done);
    }
  }
  leave(how);
  finish(h, std::move(waiters), outcome, done);
}

void Core::apply_whole(const Request& request, const Done& done) {
  const Header& h = request.header;
  Windows::Outcome outcome;
  std::vector<Windows::Waiter> waiters;
  struct Load : Durability::LoadSteps {
    bool began = false;
    std::function<void(uint64_t)> then;
    void placing() override { began = true; }
    void placed(uint64_t rows) override { then(rows); }
  } steps;
  // With the snapshot that brings its rows: a load that is asked for again must not undo what
  // others did since. While that is written, who asks again waits.
  steps.then = [&](uint64_t rows) { windows_.applying(h.client(), h.sequence, rows); };
  try {
    switch (request.method) {
      case Method::save:
        outcome.number = save(h);
        waiters = windows_.applied(h.client(), h.sequence, 0, outcome.number);
        break;
      case Method::load:
        outcome.number = durability_->load(roots_.to_load(h.name), h.mode, h.only - 1, &steps);
        waiters = windows_.applied(h.client(), h.sequence, 0, outcome.number);
        break;
      default: {
        Pass pass(*durability_, Passing::alone);
        std::vector<SparseTable*> tables = sparse_tables();
        if (request.method == Method::shrink) tables = {sparse(h.table).sparse.get()};
        std::vector<std::unique_ptr<Prepared>> prepared;
        for (SparseTable* t : tables)
          prepared.push_back(request.method == Method::shrink ? t->prepare_shrink()
                                                              : t->prepare_end_day());
        outcome.position = append(request);
        try {
          for (size_t i = 0; i < tables.size(); ++i) {
            if (request.method == Method::shrink)
              outcome.number = tables[i]->shrink(prepared[i].get());
            else
              tables[i]->end_day(prepared[i].get());
          }
        } catch (...) {
          if (outcome.position) {
            pass.keep();  // nobody copies what is half
            die(current_failure());
          }
          throw;
        }
        waiters = windows_.applied(h.client(), h.sequence, outcome.position, outcome.number);
      }
    }
  } catch (...) {
    outcome.failure = current_failure();
    if (steps.began && options_.durability != "none") die(outcome.failure);
    if (dying_) outcome.failure.code = Code::busy;
  }
  finish(h, std::move(waiters), outcome, done);
}

uint64_t Core::save(const Header& h) {
  const auto directory = [&] {
    if (h.name.empty())
      refuse(Code::bad_request, "save: expected the name of a directory, got none");
    return roots_.to_save(h.name);
  };
  const Extent extent{h.only - 1, h.share};
  switch (h.phase) {
    case SavePhase::whole:
      return durability_->save(directory(), h.mode, extent);
    case SavePhase::reserve:
      return durability_->reserve_save();
    case SavePhase::keep:
      return 0;  // handled without a turn
    case SavePhase::prepare:
      durability_->prepare_save(h.save, directory(), h.mode, extent);
      return 0;
    case SavePhase::pause:
      durability_->pause(h.save, std::chrono::milliseconds(std::clamp(h.wait_ms, 1u, 60'000u)));
      return 0;
    case SavePhase::finish:
      return durability_->finish_save(h.save);
    case SavePhase::publish:
      durability_->publish_save(h.save);
      return 0;
    case SavePhase::cancel:
      durability_->cancel_save(h.save);
      return 0;
  }
  return 0;
}

// --- meetings of workers ---

// Whether a client may take the place of the one whose steps the worker's are.
bool Core::takes_place(const Header& h) const {
  const ClientId owner = steps_.owner(h.worker);
  return owner != h.client() && windows_.newer(h.client(), owner);
}

std::vector<Steps::Change> Core::step_changes() const {
  return steps_.changes([this](uint32_t id) -> const TableConfig* {
    const Table* t = find(id);
    return t ? &t->config : nullptr;
  });
}

void Core::apply_step(const std::vector<Steps::Change>& changes,
                      const std::vector<std::unique_ptr<Prepared>>& prepared) {
  for (size_t i = 0; i < changes.size(); ++i) {
    const Steps::Change& c = changes[i];
    const Table& t = *find(c.table);
    if (t.dense)
      t.dense->push(c.values.data(), {c.learning_rate});
    else
      t.sparse->push(c.keys, c.values.data(), {c.learning_rate}, prepared[i].get());
  }
}

// Without meet_, since it reads from disks: step_busy_ keeps others out of the step. If it is
// refused, the last worker has not ended it, and may try again.
std::vector<Meeting::Go> Core::apply_last(const Request& request,
                                          const std::vector<Steps::Change>& changes) {
  struct Busy {
    Core& core;
    ~Busy() {
      MutexLock lock(core.meet_);
      core.step_busy_ = false;
    }
  } busy{*this};
  std::vector<std::unique_ptr<Prepared>> prepared;
  uint64_t position = 0;
  try {
    for (const Steps::Change& c : changes) {
      const Table& t = *find(c.table);
      prepared.push_back(t.sparse ? t.sparse->prepare(c.keys) : nullptr);
    }
    position = append(request);
  } catch (...) {
    const std::string why = current_failure().text;
    MutexLock lock(meet_);
    step_refusal_ = why;
    throw;
  }
  try {
    apply_step(changes, prepared);
  } catch (...) {
    if (position) die(current_failure());
    throw;
  }
  MutexLock lock(meet_);
  met_position_ = std::max(met_position_, position);
  if (!steps_.ended(request.header.worker)) steps_.end(request.header);
  steps_.close();
  step_refusal_.clear();
  return in_step_.all();
}

void Core::end_step(const Request& request, const Patience& patience, const Done& done) {
  const Header& h = request.header;
  const auto go = [this, done, step = h.step](bool came) {
    Windows::Outcome outcome;
    WaitLock lock(meet_);
    if (!came) {
      Failure late{
          leaving_ ? Code::busy : Code::timeout,
          "worker(s) " + steps_.missing() + " have not ended step " + std::to_string(step) +
              (step_refusal_.empty() ? "" : "; what ended it last was refused: " + step_refusal_)};
      lock.unlock();
      return done(failed(std::move(late)));
    }
    outcome.position = met_position_;
    lock.unlock();
    answer_when_durable(outcome, {}, done);
  };
  std::vector<Meeting::Go> ready;
  Failure why;
  try {
    WaitLock lock(meet_);
    if (steps_.done(h.step)) {
      ready.push_back(go);
    } else if (step_busy_) {
      why = {Code::busy, "the step is being applied"};
    } else if (!(why = steps_.check(h, takes_place(h), 0))) {
      if (!steps_.passed_over(h) && steps_.last(h.worker)) {
        steps_.take_place(h);  // what a predecessor had pushed is none of the changes
        const std::vector<Steps::Change> changes = step_changes();
        step_busy_ = true;
        lock.unlock();
        ready = apply_last(request, changes);
        ready.push_back(go);
      } else {
        if (!steps_.passed_over(h) && !steps_.ended(h.worker)) {
          met_position_ = append(request);
          steps_.end(h);
        }
        in_step_.wait(patience, go);
      }
    }
  } catch (...) {
    why = current_failure();
    if (dying_) return done(failed({Code::busy, std::move(why.text)}));
  }
  durability_->leave();
  if (why) return done(failed(std::move(why)));
  for (const auto& r : ready) r(true);
}

void Core::gather(const Request& request, const Patience& patience, const Done& done) {
  const Header& h = request.header;
  const auto go = [this, done, h](bool came) {
    Windows::Outcome outcome;
    Answer answer;
    WaitLock lock(meet_);
    --in_round_of_[h.worker];
    const bool left = rounds_.left(h);
    if (!left && (!came || !rounds_.complete(h.round))) {
      Failure late{leaving_ ? Code::busy : Code::timeout,
                   "worker(s) " + rounds_.missing(h.round) + " did not come to '" + h.name + "'"};
      lock.unlock();
      return done(failed(std::move(late)));
    }
    outcome.position = met_position_;
    if (!left) answer.parts = rounds_.parts(h.round);
    lock.unlock();
    answer_when_durable(outcome, std::move(answer), done);
  };
  std::vector<Meeting::Go> ready;
  Failure why;
  try {
    MutexLock lock(meet_);
    const bool left = rounds_.left(h);
    if (!left) why = rounds_.check(h.worker, h.round);
    const bool over = !why && (left || rounds_.complete(h.round));
    if (!why && !over) why = rounds_.disagreement(h, in_round_of_);
    if (!why) {
      const std::span<const char> text = request.values.as<const char>();
      // Who waits asks again each second: one record of it is enough.
      if (!over && !rounds_.has(h, {text.data(), text.size()})) met_position_ = append(request);
      ++in_round_of_[h.worker];
      if (over) {
        ready.push_back(go);
      } else if (rounds_.join(h, {text.data(), text.size()})) {
        ready = in_round_.all();
        ready.push_back(go);
      } else {
        in_round_.wait(patience, go);
      }
    }
  } catch (...) {
    why = current_failure();
  }
  durability_->leave();
  if (why) return done(failed(std::move(why)));
  for (const auto& r : ready) r(true);
}

}  // namespace argosy::ps
