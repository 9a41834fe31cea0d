#include "parallel/processes/group.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <utility>

#include "core/device/cancellation.h"
#include "core/device/start_thread.h"
#include "core/graph/error.h"
#include "core/graph/log.h"
#include "data/host_name.h"
#include "parallel/processes/exchange.h"
#include "parallel/processes/shared_memory.h"

namespace towerflow::parallel::types {
namespace {

using processes::Exchange;
using processes::GatherExchange;
using processes::Message;
using processes::MessageEngine;
using std::chrono::microseconds;

constexpr int kGatherTag = 0;
constexpr double kLongestLimit = 1e8;  // seconds: three years
/// How to wait between two looks for messages.
struct Pace {
  int looks;            ///< at first, before it sleeps
  int looks_per_yield;  ///< until then, it yields after so many
  int looks_per_doubling;
  microseconds longest;  ///< it sleeps longer and longer, for at most so long
};
/// A call that waits, if each process of the host has a core: it looks for some 20 ms.
constexpr Pace kCall{20000, 64, 10, microseconds(500)};
/// With more processes than cores, another process could compute in that time.
constexpr Pace kCallInCrowd{400, 1, 10, microseconds(500)};
/// The thread of the group, while the program computes.
constexpr Pace kThread{20, 64, 10, microseconds(500)};
/// With more processes than cores, it takes the time that it uses from the program.
constexpr Pace kThreadInCrowd{1, 1, 1, microseconds(4000)};

/// Waits between two looks.
class Pause {
 public:
  void reset() { looks_ = 0; }
  void wait(const Pace& pace) {
    constexpr microseconds kShortest(20);
    if (++looks_ <= pace.looks) {
      if (looks_ % pace.looks_per_yield == 0) std::this_thread::yield();
      return;
    }
    const int doublings = std::min((looks_ - pace.looks) / pace.looks_per_doubling, 8);
    std::this_thread::sleep_for(std::min(kShortest * (1 << doublings), pace.longest));
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

  void send(const void* data, std::size_t bytes, const Message& message) override {
    note(group_.engine_->send(data, bytes, message.peer, tag(message.phase)), message, true);
  }
  void receive(void* data, std::size_t bytes, const Message& message) override {
    note(group_.engine_->receive(data, bytes, message.peer, tag(message.phase)), message, false);
  }

 private:
  int tag(int phase) const { return 2 * exchange_->tag() + phase; }
  void note(int number, const Message& message, bool sends) {
    const auto at = static_cast<std::size_t>(number);
    if (at >= group_.requests_.size()) group_.requests_.resize(at + 1);
    group_.requests_[at] = {exchange_, message.peer, message.phase, message.piece, sends};
    ++group_.under_way_;
  }

  ProcessGroup& group_;
  Exchange* exchange_ = nullptr;
};

ProcessGroup::ProcessGroup() = default;

ProcessGroup::ProcessGroup(const Open& open) {
  thread_ = start_thread([this, open] { serve(open); });
  {
    std::unique_lock lock(mutex_);
    joined_.wait(lock, [this] { return has_joined_ || cannot_join_ != nullptr; });
  }
  if (cannot_join_ != nullptr) {
    thread_.join();
    std::rethrow_exception(cannot_join_);
  }
  try {
    hosts_ = all_gather(host_name(), "the start of the processes");
    shares_memory_ = processes::can_share_memory(*this, hosts_);
  } catch (...) {
    abort("the processes did not find one another");
  }
  const auto here =
      std::count(hosts_.begin(), hosts_.end(), hosts_[static_cast<std::size_t>(rank_)]);
  const std::lock_guard lock(mutex_);
  crowded_ = here > static_cast<std::ptrdiff_t>(std::thread::hardware_concurrency());
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
  run(exchange);
  return exchange->strings();
}

std::string ProcessGroup::broadcast(std::string bytes, const std::string& what) {
  return all_gather(rank_ == 0 ? std::move(bytes) : std::string(), what).front();
}

void ProcessGroup::check_working() const {
  if (!failure_.empty()) throw errors::AbortedError(failure_);
}

void ProcessGroup::start(const SharedExchange& exchange) {
  const std::lock_guard lock(mutex_);
  begin(exchange);
  if (waiting_ == 0) asked_.notify_one();
}

void ProcessGroup::wait(const Exchange& exchange, Cancellation* cancellation) {
  std::unique_lock lock(mutex_);
  wait_for(lock, exchange, cancellation);
}

void ProcessGroup::run(const SharedExchange& exchange) {
  // Unlike `start`, this does not wake the thread of the group.
  std::unique_lock lock(mutex_);
  begin(exchange);
  wait_for(lock, *exchange, nullptr);
}

void ProcessGroup::begin(const SharedExchange& exchange) {
  check_working();
  exchange->finished_ = false;
  active_.push_back(exchange);
  try {
    Traffic traffic(*this);
    traffic.of(*exchange);
    exchange->begin(rank_, size_, traffic);
  } catch (const std::runtime_error& error) {
    fail(error.what());
    throw errors::UnavailableError(failure_);
  }
  finish_ended();
}

void ProcessGroup::wait_for(std::unique_lock<std::mutex>& lock, const Exchange& exchange,
                            Cancellation* cancellation) {
  using Clock = std::chrono::steady_clock;
  const auto limit = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                        std::chrono::duration<double>(time_limit_));
  ++waiting_;
  const Pace& pace = crowded_ ? kCallInCrowd : kCall;
  Pause pause;
  try {
    while (!exchange.finished_) {
      if (!failure_.empty()) throw errors::UnavailableError(failure_);
      if (advance()) {
        pause.reset();
        continue;
      }
      if (cancellation != nullptr && cancellation->cancelled()) {
        throw errors::CancelledError("the run was cancelled");
      }
      if (Clock::now() > limit) {
        fail(missing_text(exchange));
        throw errors::DeadlineExceededError(failure_);
      }
      lock.unlock();
      pause.wait(pace);
      lock.lock();
    }
  } catch (...) {
    --waiting_;
    throw;
  }
  if (--waiting_ == 0 && !active_.empty()) asked_.notify_one();
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
  {
    const std::lock_guard lock(mutex_);
    try {
      engine_ = open();
      rank_ = engine_->rank();
      size_ = engine_->size();
      has_joined_ = true;
    } catch (...) {
      cannot_join_ = std::current_exception();
    }
    joined_.notify_all();
    if (engine_ == nullptr) return;
  }
  work();
  if (aborting_) engine_->abort(1);
  engine_->leave();
}

/// Looks for messages while something is under way and no call does.
void ProcessGroup::work() {
  std::unique_lock lock(mutex_);
  Pause pause;
  while (true) {
    asked_.wait(lock, [this] {
      const bool busy = waiting_ == 0 && !active_.empty() && failure_.empty();
      return aborting_ || leaving_ || busy;
    });
    if (aborting_ || leaving_) return;
    if (advance()) {
      pause.reset();
      continue;
    }
    const Pace& pace = crowded_ ? kThreadInCrowd : kThread;
    lock.unlock();
    pause.wait(pace);
    lock.lock();
  }
}

/// Does what other processes have made possible. Returns whether there was anything to do.
bool ProcessGroup::advance() {
  if (engine_ == nullptr) return false;
  ended_.clear();
  of_ended_.clear();
  bool advanced = false;
  try {
    if (under_way_ > 0) engine_->poll(ended_);
    under_way_ -= static_cast<int>(ended_.size());
    // New requests take the numbers of those that have ended.
    for (const int number : ended_)
      of_ended_.push_back(requests_[static_cast<std::size_t>(number)]);
    Traffic traffic(*this);
    for (const Request& request : of_ended_) route(traffic, request);
    for (const SharedExchange& exchange : active_) advanced |= exchange->look();
  } catch (const std::runtime_error& error) {
    fail(error.what());
  }
  finish_ended();
  return advanced || !ended_.empty();
}

void ProcessGroup::route(Traffic& traffic, const Request& request) {
  traffic.of(*request.exchange);
  const Message message{request.peer, request.phase, request.piece};
  if (request.sends) {
    request.exchange->sent(message, traffic);
  } else {
    request.exchange->received(message, traffic);
  }
}

void ProcessGroup::finish_ended() {
  std::erase_if(active_, [](const SharedExchange& exchange) {
    exchange->finished_ = exchange->ended();
    return exchange->finished_;
  });
}

void ProcessGroup::fail(const std::string& text) {
  if (failure_.empty()) failure_ = text;
}

std::string ProcessGroup::missing_text(const Exchange& exchange) const {
  const bool several_hosts = std::any_of(hosts_.begin(), hosts_.end(),
                                         [&](const std::string& h) { return h != hosts_[0]; });
  std::vector<std::string> missing;
  for (const int rank : exchange.awaited()) {
    missing.push_back(several_hosts
                          ? fmt::format("{} on {}", rank, hosts_[static_cast<std::size_t>(rank)])
                          : std::to_string(rank));
  }
  return fmt::format("{} did not end within {:g} seconds: it waits for {} {}", exchange.what(),
                     time_limit_, missing.size() == 1 ? "rank" : "ranks", fmt::join(missing, ", "));
}

}  // namespace towerflow::parallel::types
