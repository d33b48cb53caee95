#include "argosy/comm/mesh.h"

#include "argosy/base/flags.h"
#include "argosy/comm/mesh_collectives.h"

namespace argosy::comm {

namespace {

constexpr std::chrono::milliseconds kSlice{50};

}  // namespace

Links::~Links() = default;
Network::~Network() = default;
Control::~Control() = default;

namespace {

const std::string& text_of_links() {
  static const std::string text = links_text(flags::find("ARGOSY_COMM_LINKS").text());
  return text;
}

}  // namespace

const LinkModel& Mesh::model() {
  static const LinkModel links = links_of(text_of_links());
  return links;
}

uint32_t Mesh::rules() const {
  static const uint32_t links = [] {
    uint32_t hash = 0;
    for (const char c : text_of_links()) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
    return hash << 8;
  }();
  return links | static_cast<uint32_t>(algorithm_);
}

std::shared_ptr<Mesh> Mesh::world(std::shared_ptr<Network> network, Algorithm algorithm,
                                  double seconds) {
  std::vector<int> ranks;
  for (int r = 0; r < network->size(); ++r) ranks.push_back(r);
  const int rank = network->rank();
  auto links = network->connect(0, ranks, rank, seconds);
  return std::make_shared<Mesh>(std::move(network), std::move(links), algorithm, 0,
                                std::move(ranks), rank, nullptr);
}

Mesh::Mesh(std::shared_ptr<Network> network, std::unique_ptr<Links> links, Algorithm algorithm,
           uint32_t number, std::vector<int> ranks, int rank, std::shared_ptr<Mesh> world)
    : Channel(number, std::move(ranks), rank),
      network_(std::move(network)),
      links_(std::move(links)),
      algorithm_(algorithm),
      world_(std::move(world)),
      ahead_(static_cast<size_t>(size())) {}

Mesh::~Mesh() = default;

std::shared_ptr<Channel> Mesh::subgroup(uint32_t number, const std::vector<int>& ranks, int rank,
                                        double seconds, std::optional<Algorithm> algorithm) {
  if (rank < 0) return nullptr;
  auto links = network_->connect(number, ranks, rank, seconds);
  return std::make_shared<Mesh>(network_, std::move(links), algorithm.value_or(algorithm_), number,
                                ranks, rank, shared_from_this());
}

std::shared_ptr<Mesh> Mesh::part(uint32_t links, const std::vector<int>& members, int place,
                                 double seconds) {
  std::vector<int> ranks;
  for (const int m : members) ranks.push_back(world_rank(m));
  auto connected = network_->connect(links, ranks, place, seconds);
  return std::make_shared<Mesh>(network_, std::move(connected), algorithm_, number(),
                                std::move(ranks), place, world_ ? world_ : shared_from_this());
}

void Mesh::run(const Job& job) {
  comm::run(*this, job);
}

char* Mesh::scratch(size_t bytes) {
  if (bytes > scratch_bytes_) {
    scratch_.reset(new char[bytes]);
    scratch_bytes_ = bytes;
  }
  return scratch_.get();
}

size_t Mesh::put(int peer, std::span<const iovec> from) {
  return links_->put(Lane::message, peer, from);
}

size_t Mesh::get(int peer, std::span<const iovec> to) {
  return links_->get(Lane::message, peer, to);
}

void Mesh::wake() {
  bell_.fetch_add(1);
  links_->wake(Lane::message);
}

void Mesh::listen(uint32_t seen, std::span<const Wish> wishes) {
  if (bell_.load() == seen) links_->wait(Lane::message, wishes, kSlice);
}

void Mesh::check() const {
  if (const auto notice = control().failure(number())) [[unlikely]]
    throw CommError(seen(notice->failure), Message() << notice->text);
}

bool Mesh::failed() const {
  return control().failure(number()) != nullptr;
}

void Mesh::post(Failure failure, const std::string& text) noexcept {
  if (failure == Failure::closed) closed_here_ = true;
  control().post(number(), failure, text);
}

void Mesh::leave() noexcept {
  control().leave(number());
}

bool Mesh::left(int rank) const {
  return control().left(number(), world_rank(rank));
}

bool Mesh::ended(Lane lane, int rank) const {
  return rank != this->rank() && links_->ended(lane, rank);
}

// A process that leaves says so before it closes its links: so it has not ended.
bool Mesh::gone(int rank) const {
  if (!control().gone(world_rank(rank)) && !ended(Lane::collective, rank) &&
      !ended(Lane::message, rank))
    return false;
  control().refresh();
  return !left(rank);
}

std::string Mesh::cause() const {
  if (!world_) return "";
  const auto notice = control().failure(world_->number());
  return notice ? " (Before that, in the group of all: " + notice->text + ")" : "";
}

}  // namespace argosy::comm
