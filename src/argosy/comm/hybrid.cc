#include "argosy/comm/hybrid.h"

#include <algorithm>
#include <map>
#include <optional>

#include "argosy/comm/host_sum.h"
#include "argosy/comm/mesh_collectives.h"
#include "argosy/comm/mesh_reduce.h"

namespace argosy::comm {

namespace {

// Below this all ranks exchange with all: fewer steps one after the other.
constexpr size_t kFlat = size_t{32} << 10;
// Links across hosts are told from those of the whole group by this bit of the number.
constexpr uint32_t kAcross = 1u << 30;

// The engine of a host under the numbers that its ranks have among all.
class HostEngine final : public Engine {
 public:
  HostEngine(std::shared_ptr<Engine> engine, std::vector<int> ranks)
      : engine_(std::move(engine)), ranks_(std::move(ranks)) {}
  int rank() const override { return ranks_[static_cast<size_t>(engine_->rank())]; }
  int size() const override { return engine_->size(); }
  const char* name() const override { return engine_->name(); }
  std::shared_ptr<char> share(uint64_t offset, size_t bytes) override {
    return engine_->share(offset, bytes);
  }
  Area tensors(int rank) override { return engine_->tensors(place(rank)); }
  bool gone(int rank) override { return engine_->gone(place(rank)); }

 private:
  int place(int rank) const {
    return static_cast<int>(std::ranges::find(ranks_, rank) - ranks_.begin());
  }

  const std::shared_ptr<Engine> engine_;
  const std::vector<int> ranks_;
};

int place_of(const std::vector<int>& list, int value) {
  const auto at = std::find(list.begin(), list.end(), value);
  return at == list.end() ? -1 : static_cast<int>(at - list.begin());
}

}  // namespace

Hybrid::Hybrid(std::shared_ptr<Mesh> mesh, std::shared_ptr<Board> host,
               std::shared_ptr<const std::vector<std::string>> hosts)
    : Channel(mesh->number(), mesh->ranks(), mesh->rank()),
      mesh_(std::move(mesh)),
      host_(std::move(host)),
      hosts_(std::move(hosts)) {
  if (host_) host_->judge_by(mesh_);
}

Hybrid::~Hybrid() = default;

std::shared_ptr<Channel> Hybrid::world(std::shared_ptr<Network> network, Algorithm algorithm,
                                       std::shared_ptr<Engine> host, std::vector<std::string> hosts,
                                       double seconds) {
  auto mesh = Mesh::world(std::move(network), algorithm, seconds);
  std::shared_ptr<Board> board;
  if (host) {
    std::vector<int> here;
    const auto me = static_cast<size_t>(mesh->rank());
    for (size_t r = 0; r < hosts.size(); ++r)
      if (hosts[r] == hosts[me]) here.push_back(static_cast<int>(r));
    const int place = host->rank();
    host->tensors(place);  // gradients lie there from now on
    auto engine = std::make_shared<HostEngine>(std::move(host), here);
    board = std::make_shared<Board>(std::move(engine), 0, std::move(here), place, 0, nullptr);
  }
  std::shared_ptr<Hybrid> out(
      new Hybrid(std::move(mesh), std::move(board),
                 std::make_shared<const std::vector<std::string>>(std::move(hosts))));
  out->join_across(seconds);
  return out;
}

// Which groups have a board is a question of their members alone, so all ranks of a host that knows
// of two members map its memory, or count it, alike.
std::shared_ptr<Channel> Hybrid::subgroup(uint32_t number, const std::vector<int>& ranks, int rank,
                                          double seconds, std::optional<Algorithm> algorithm) {
  const std::string& own = (*hosts_)[static_cast<size_t>(mesh_->rank())];
  std::vector<int> here;
  for (const int r : ranks)
    if ((*hosts_)[static_cast<size_t>(r)] == own) here.push_back(r);
  std::shared_ptr<Channel> board;
  if (host_ && here.size() > 1)
    board = host_->subgroup(number, here, place_of(here, mesh_->rank()), seconds, algorithm);
  auto mesh =
      std::static_pointer_cast<Mesh>(mesh_->subgroup(number, ranks, rank, seconds, algorithm));
  if (!mesh) return nullptr;
  std::shared_ptr<Hybrid> out(
      new Hybrid(std::move(mesh), std::static_pointer_cast<Board>(board), hosts_));
  out->join_across(seconds);
  return out;
}

Hybrid::Places Hybrid::places(const std::vector<int>& ranks, int rank) const {
  std::map<std::string, std::vector<int>> of_host;
  for (size_t r = 0; r < ranks.size(); ++r)
    of_host[(*hosts_)[static_cast<size_t>(ranks[r])]].push_back(static_cast<int>(r));
  Places out;
  out.hosts = static_cast<int>(of_host.size());
  out.carriers = ranks.size();
  for (const auto& [host, members] : of_host) out.carriers = std::min(out.carriers, members.size());
  const auto& here = of_host[(*hosts_)[static_cast<size_t>(ranks[static_cast<size_t>(rank)])]];
  const auto place = static_cast<size_t>(place_of(here, rank));
  if (place < out.carriers)
    for (const auto& [host, members] : of_host) out.across.push_back(members[place]);
  std::sort(out.across.begin(), out.across.end());
  return out;
}

void Hybrid::join_across(double seconds) {
  const Places at = places(ranks(), rank());
  // On one host its board does all there is to do; with one rank each the mesh does the same.
  if (at.hosts < 2 || static_cast<size_t>(at.hosts) == ranks().size()) return;
  host_count_ = at.hosts;
  carriers_ = at.carriers;
  if (!at.across.empty())
    across_ = mesh_->part(number() | kAcross, at.across, place_of(at.across, rank()), seconds);
}

void Hybrid::post(Failure failure, const std::string& text) noexcept {
  mesh_->post(failure, text);
  if (host_) host_->post(failure, text);  // wakes who waits there
}

bool Hybrid::others_write(const void* address) const {
  return host_ && host_->others_write(address);
}

void Hybrid::leave() noexcept {
  mesh_->leave();
  if (host_) host_->leave();
}

void Hybrid::run(const Job& job) {
  // Partial sums of 16-bit numbers would be rounded to 16 bits.
  const bool rounds = job.header.dtype == DType::float16 || job.header.dtype == DType::bfloat16;
  if (host_ && host_->size() == size())
    host_->run(job);
  else if (carriers_ && job.header.kind == Kind::all_reduce && job.bytes() > kFlat && !rounds)
    all_reduce(job);
  else
    mesh_->run(job);
}

// What is under way across hosts moves on while ranks of this one are waited for, so that nobody
// waits in a circle.
void Hybrid::all_reduce(const Job& job) {
  // One that calls something else may wait where nobody comes by: at its neighbours in the mesh.
  compare(*mesh_, job);
  std::optional<Talk> talk;
  std::function<bool()> meanwhile;
  if (across_) meanwhile = [&talk] { return talk && talk->advance(); };
  HostSum host(host_.get(), job, carriers_, size(), &turn_, std::move(meanwhile));
  Beside beside;
  beside.extent = host.share();
  beside.before = [&](size_t begin, size_t bytes) { host.reduce(begin, bytes); };
  beside.after = [&](size_t begin, size_t bytes) { host.spread(begin, bytes); };
  if (!across_) {
    follow(host_count_, mesh_->algorithm(), job.header.dtype, beside);
    return host.finish();
  }
  // A share that is empty is exchanged too: the others compare what was called.
  const Pieces own = host.own();
  Job over;
  over.header = job.header;
  over.header.op = host.op();
  over.header.count = own.bytes() / static_cast<size_t>(item_size(job.header.dtype));
  over.shown = &job.header;
  over.seconds = job.seconds;
  over.send.push_back(own);
  over.receive.push_back(own);
  talk.emplace(*across_, over);
  comm::all_reduce(*across_, *talk, over, beside);
  talk->finish();
  host.finish();
}

}  // namespace argosy::comm
