#include "parallel/processes/group.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/device/start_thread.h"
#include "core/graph/error.h"
#include "core/graph/log.h"
#include "data/host_name.h"

namespace towerflow::parallel::types {
namespace {

using processes::Exchange;
using processes::GatherExchange;
using processes::MessageEngine;
using std::chrono::microseconds;

constexpr int kGatherTag = 0;
constexpr double kLongestLimit = 1e8;  // seconds: three years

/// Waits between two looks for messages: not at all at first, for fast exchanges; then longer and
/// longer, since with more processes than cores a process that looks takes the time of others.
class Pause {
 public:
  void reset() { looks_ = 0; }
  /// Returns whether nothing has happened for some time.
  bool wait() {
    constexpr int kBusyLooks = 20;
    constexpr microseconds kShortest(20), kLongest(500);
    if (++looks_ <= kBusyLooks) {
      std::this_thread::yield();
      return false;
    }
    const int doublings = std::min((looks_ - kBusyLooks) / 10, 5);
    std::this_thread::sleep_for(std::min(kShortest * (1 << doublings), kLongest));
    return looks_ % 100 == 0;
  }

 private:
  int looks_ = 0;
};

}  // namespace

/// Gives the messages of one exchange to the engine, and remembers to whom they belong.
class ProcessGroup::Traffic final : public processes::Messages {
 public:
  explicit Traffic(ProcessGroup& group) : group_(group) {}
  void of(Exchange& exchange) { exchange_ = &exchange; }

  void send(const void* data, std::size_t bytes, int to, int phase) override {
    note(group_.engine_->send(data, bytes, to, tag(phase)), {exchange_, to, phase, true});
  }
  void receive(void* data, std::size_t bytes, int from, int phase) override {
    note(group_.engine_->receive(data, bytes, from, tag(phase)), {exchange_, from, phase, false});
  }

 private:
  int tag(int phase) const { return 2 * exchange_->tag() + phase; }
  void note(int number, Request request) {
    const auto at = static_cast<std::size_t>(number);
    if (at >= group_.requests_.size()) group_.requests_.resize(at + 1);
    group_.requests_[at] = request;
  }

  ProcessGroup& group_;
  Exchange* exchange_ = nullptr;
};

ProcessGroup::ProcessGroup() : joined_(true) {}

ProcessGroup::ProcessGroup(const Open& open) {
  thread_ = start_thread([this, open] { serve(open); });
  {
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [this] { return joined_ || cannot_join_ != nullptr; });
  }
  if (cannot_join_ != nullptr) {
    thread_.join();
    std::rethrow_exception(cannot_join_);
  }
  try {
    hosts_ = all_gather(host_name(), "the start of the processes");
  } catch (...) {
    abort("the processes did not find one another");
  }
}

ProcessGroup::~ProcessGroup() {
  if (!thread_.joinable()) return;
  try {
    barrier("the end of the processes");
  } catch (...) {
    const std::lock_guard lock(mutex_);
    aborting_ = true;
  }
  {
    const std::lock_guard lock(mutex_);
    leaving_ = true;
  }
  asked_.notify_all();
  thread_.join();
}

double ProcessGroup::time_limit() const {
  const std::lock_guard lock(mutex_);
  return time_limit_;
}

void ProcessGroup::set_time_limit(double seconds) {
  if (!(seconds > 0)) {
    throw ValueError(
        fmt::format("the time limit of a group must be positive, got {} seconds", seconds));
  }
  const std::lock_guard lock(mutex_);
  time_limit_ = std::min(seconds, kLongestLimit);
}

void ProcessGroup::barrier(const std::string& what) { all_gather("", what); }

std::vector<std::string> ProcessGroup::all_gather(std::string bytes, const std::string& what) {
  const auto exchange = std::make_shared<GatherExchange>(what, kGatherTag, std::move(bytes));
  start(exchange);
  wait(*exchange);
  return exchange->strings();
}

std::string ProcessGroup::broadcast(std::string bytes, const std::string& what) {
  return all_gather(rank_ == 0 ? std::move(bytes) : std::string(), what).front();
}

void ProcessGroup::start(const SharedExchange& exchange) {
  const std::lock_guard lock(mutex_);
  if (!failure_.empty()) throw errors::AbortedError(failure_);
  exchange->finished_ = false;
  exchange->noted_as_awaited_.clear();
  begun_.push_back(exchange);
  asked_.notify_one();
}

void ProcessGroup::wait(const Exchange& exchange, Cancellation* cancellation) {
  const auto wake = [this] {
    const std::lock_guard lock(mutex_);
    ended_.notify_all();
  };
  std::optional<CancellationCallback> callback;
  if (cancellation != nullptr) callback.emplace(*cancellation, wake);
  std::unique_lock lock(mutex_);
  const auto limit = std::chrono::steady_clock::now() +
                     std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                         std::chrono::duration<double>(time_limit_));
  while (!exchange.finished_) {
    if (!failure_.empty()) throw errors::UnavailableError(failure_);
    if (cancellation != nullptr && cancellation->cancelled()) {
      throw errors::CancelledError("the run was cancelled");
    }
    if (ended_.wait_until(lock, limit) != std::cv_status::timeout || exchange.finished_) continue;
    failure_ = missing_text(exchange);
    ended_.notify_all();
    throw errors::DeadlineExceededError(failure_);
  }
}

void ProcessGroup::abort(std::string_view text) {
  const std::string line =
      size_ == 1 ? std::string(text) : fmt::format("rank {} of {}: {}", rank_, size_, text);
  log_message(LogLevel::info, line);
  if (!thread_.joinable()) std::exit(1);
  {
    const std::lock_guard lock(mutex_);
    aborting_ = true;
  }
  asked_.notify_all();
  while (true) std::this_thread::sleep_for(std::chrono::seconds(1));
}

void ProcessGroup::serve(const Open& open) {
  try {
    engine_ = open();
    const std::lock_guard lock(mutex_);
    rank_ = engine_->rank();
    size_ = engine_->size();
    joined_ = true;
  } catch (...) {
    cannot_join_ = std::current_exception();
  }
  ended_.notify_all();
  if (engine_ == nullptr) return;
  try {
    work();
  } catch (const std::exception& error) {
    fail(error.what());
  }
  std::unique_lock lock(mutex_);
  asked_.wait(lock, [this] { return aborting_ || leaving_; });
  if (aborting_) engine_->abort(1);
  engine_->leave();
}

void ProcessGroup::work() {
  Traffic traffic(*this);
  Pause pause;
  std::vector<SharedExchange> begun;
  std::vector<int> ended;
  std::vector<Request> of_ended;
  while (true) {
    {
      std::unique_lock lock(mutex_);
      if (active_.empty()) {
        asked_.wait(lock, [this] { return aborting_ || leaving_ || !begun_.empty(); });
      }
      if (aborting_ || leaving_) return;
      begun.swap(begun_);
    }
    for (const SharedExchange& exchange : begun) {
      traffic.of(*exchange);
      active_.push_back(exchange);
      exchange->begin(rank_, size_, traffic);
    }
    engine_->poll(ended);
    // New requests take the numbers of those that have ended.
    for (const int number : ended) of_ended.push_back(requests_[static_cast<std::size_t>(number)]);
    for (const Request& request : of_ended) route(traffic, request);
    of_ended.clear();
    if (!ended.empty() || !begun.empty()) {
      finish_ended();
      pause.reset();
    } else if (pause.wait()) {
      note_awaited();
    }
    begun.clear();
    ended.clear();
  }
}

void ProcessGroup::route(Traffic& traffic, const Request& request) {
  traffic.of(*request.exchange);
  if (request.sends) {
    request.exchange->sent(request.peer, request.phase, traffic);
  } else {
    request.exchange->received(request.peer, request.phase, traffic);
  }
}

void ProcessGroup::finish_ended() {
  const auto first =
      std::stable_partition(active_.begin(), active_.end(),
                            [](const SharedExchange& exchange) { return !exchange->ended(); });
  if (first == active_.end()) return;
  const std::lock_guard lock(mutex_);
  for (auto at = first; at != active_.end(); ++at) (*at)->finished_ = true;
  active_.erase(first, active_.end());
  ended_.notify_all();
}

void ProcessGroup::note_awaited() {
  const std::lock_guard lock(mutex_);
  for (const SharedExchange& exchange : active_) exchange->noted_as_awaited_ = exchange->awaited();
}

void ProcessGroup::fail(const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (failure_.empty()) failure_ = text;
  ended_.notify_all();
}

std::string ProcessGroup::missing_text(const Exchange& exchange) const {
  const bool several_hosts = std::any_of(hosts_.begin(), hosts_.end(),
                                         [&](const std::string& h) { return h != hosts_[0]; });
  std::vector<std::string> missing;
  for (const int rank : exchange.noted_as_awaited_) {
    missing.push_back(several_hosts
                          ? fmt::format("{} on {}", rank, hosts_[static_cast<std::size_t>(rank)])
                          : std::to_string(rank));
  }
  return fmt::format("{} did not end within {:g} seconds: nothing came from {} {}", exchange.what(),
                     time_limit_, missing.size() == 1 ? "rank" : "the ranks",
                     fmt::join(missing, ", "));
}

}  // namespace towerflow::parallel::types
