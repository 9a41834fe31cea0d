// Simulates an all-reduce: every message of the schedule, bucket by bucket.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>

#include "core/graph/all_reduce_schedule.h"
#include "report/scale/exchange.h"

namespace towerflow::report {
namespace {

using What = AllReduceMove::What;

/// Gradients that travel together.
struct ScaleBucket {
  double bytes = 0;
  double ready = 0;        // of the last of them, before the pace of a tower
  double range_bytes = 0;  // of each range but the last
  int ranges = 0;
  std::vector<std::uint16_t> missing;  // per range and device: what it lacks before it sends on
  std::vector<int> results;            // per tower: ranges whose sum it has
  int towers_done = 0;
};

/// Divides gradients into buckets, as the pass that plans an all-reduce does: one more joins until
/// the bucket has its size. Buckets that travel in turn take only what fits.
std::vector<ScaleBucket> scale_buckets(const StepProfile& profile, const ScaleOptions& options) {
  std::vector<ScaleBucket> buckets;
  for (const ProfiledGradient& gradient : profile.gradients) {
    const double before = buckets.empty() ? 0 : buckets.back().bytes;
    const bool joins = options.in_turn ? before + gradient.bytes <= options.bucket_bytes
                                       : before < options.bucket_bytes;
    if (buckets.empty() || !joins) buckets.emplace_back();
    buckets.back().bytes += gradient.bytes;
    buckets.back().ready = gradient.ready;
  }
  return buckets;
}

AllReduceSchedule rotated_ring_schedule(int devices) {
  AllReduceSchedule schedule = all_reduce_schedule(AllReduce::ring, devices, 1);
  schedule.turn = 1;
  return schedule;
}

class AllReduceSimulation {
 public:
  explicit AllReduceSimulation(const SimulatedStep& step)
      : step_(step),
        network_(step.cluster, step.towers),
        schedule_(schedule_of(step)),
        first_move_(kKinds * static_cast<std::size_t>(step.towers) + 1, 0),
        needs_(static_cast<std::size_t>(step.towers), 1),
        makes_result_(static_cast<std::size_t>(step.towers), true),
        buckets_(scale_buckets(step.profile, step.options)),
        done_(static_cast<std::size_t>(step.towers)),
        outboxes_(static_cast<std::size_t>(step.towers)) {
    std::stable_sort(schedule_.moves.begin(), schedule_.moves.end(),
                     [](const auto& a, const auto& b) {
                       return place_of(a.from, a.what) < place_of(b.from, b.what);
                     });
    for (const AllReduceMove& move : schedule_.moves) {
      ++first_move_[place_of(move.from, move.what) + 1];
      const auto to = static_cast<std::size_t>(move.to);
      move.what == What::result ? void(makes_result_[to] = false) : void(++needs_[to]);
    }
    for (std::size_t i = 1; i < first_move_.size(); ++i) first_move_[i] += first_move_[i - 1];
    for (ScaleBucket& bucket : buckets_) {
      const auto elements = static_cast<std::int64_t>(std::ceil(bucket.bytes / 4));
      const std::int64_t range = all_reduce_range(elements, schedule_.ranges);
      bucket.ranges = static_cast<int>((elements + range - 1) / range);
      bucket.range_bytes = 4 * static_cast<double>(range);
    }
  }

  SimulatedEnd run() {
    const int first = step_.options.in_turn ? 1 : static_cast<int>(buckets_.size());
    for (int bucket = 0; bucket < first; ++bucket) {
      for (int tower = 0; tower < step_.towers; ++tower) release(bucket, tower, {});
    }
    while (const auto next = events_.take()) {
      const auto& [moment, event] = *next;
      if (event.bucket < 0) {
        outboxes_[static_cast<std::size_t>(event.move)].waits = false;
        empty(event.move, moment);
      } else {
        event.move < 0 ? begin(event, moment) : arrive(event, moment);
      }
    }
    SimulatedEnd result{.messages = network_.busiest()};
    for (int tower = 0; tower < step_.towers; ++tower) {
      Moment end = gradient_ready(step_, tower, step_.profile.compute);
      const Moment& done = done_[static_cast<std::size_t>(tower)];
      if (done.time > end.time) end = done;
      if (end.time > result.end.time) result.end = end;
    }
    result.end = result.end.after(
        kUpdatePasses * step_.profile.bytes() / step_.cluster.tower_memory, PathTime::memory);
    return result;
  }

 private:
  /// A message that arrives; with a negative `move`, a tower that has a bucket's gradients; with a
  /// negative bucket, the tower `move` that can send again.
  struct Event {
    int bucket, range, move;
  };
  static constexpr std::size_t kKinds = 3;  // of What
  static std::size_t place_of(int device, What what) {
    return kKinds * static_cast<std::size_t>(device) + static_cast<std::size_t>(what);
  }
  /// Messages that a tower has to send, in this order: moves of a device in a range, or in each
  /// range those of the device that the tower is in it.
  struct Outgoing {
    int bucket, range, move, last;
    bool all_ranges;
    Moment ready;
  };
  struct Outbox {
    std::deque<Outgoing> messages;
    bool waits = false;  // for its link
  };

  static AllReduceSchedule schedule_of(const SimulatedStep& step) {
    if (step.options.strategy.kind == ScaleStrategy::Kind::rotated_ring) {
      return rotated_ring_schedule(step.towers);
    }
    const int group =
        step.options.group_size > 0 ? step.options.group_size : step.cluster.towers_per_host;
    return all_reduce_schedule(step.options.strategy.algorithm, step.towers, group);
  }

  double size_of(const ScaleBucket& bucket, int range) const {
    return std::min(bucket.range_bytes, bucket.bytes - range * bucket.range_bytes);
  }
  /// Returns the tower that is a device of the schedule in a range.
  int tower_of(int device, int range) const {
    return (device + schedule_.turn * range) % step_.towers;
  }
  int device_of(int tower, int range) const {
    const int turned = schedule_.turn * range % step_.towers;
    return (tower - turned + step_.towers) % step_.towers;
  }
  Moment pass_over(const Moment& moment, double passes, double bytes) const {
    return moment.after(passes * bytes / step_.cluster.tower_memory, PathTime::memory);
  }

  /// Plans the moment at which a tower can send a bucket: not before `free`.
  void release(int bucket, int tower, const Moment& free) {
    const ScaleBucket& own = buckets_[static_cast<std::size_t>(bucket)];
    const auto slowest = std::max_element(step_.pace.begin(), step_.pace.end());
    const int decides = static_cast<int>(slowest - step_.pace.begin());
    Moment ready = gradient_ready(step_, step_.options.in_turn ? decides : tower, own.ready);
    if (free.time > ready.time) ready = free;
    events_.add(pass_over(ready, 2, own.bytes), {bucket, 0, -1 - tower});  // they are packed
  }

  void begin(const Event& event, const Moment& moment) {
    ScaleBucket& bucket = buckets_[static_cast<std::size_t>(event.bucket)];
    const int tower = -1 - event.move;
    if (bucket.results.empty()) {
      bucket.results.resize(done_.size());
      for (int range = 0; range < bucket.ranges; ++range) {
        bucket.missing.insert(bucket.missing.end(), needs_.begin(), needs_.end());
      }
    }
    // Each tower begins with another range, lest all send to the same tower.
    post(tower, {event.bucket, -1, 0, 0, true, moment});
    for (int i = 0; i < bucket.ranges; ++i) {
      const int range = (tower + i) % bucket.ranges;
      obtain(event.bucket, range, device_of(tower, range), moment);
    }
  }

  void arrive(const Event& event, const Moment& moment) {
    const AllReduceMove& move = schedule_.moves[static_cast<std::size_t>(event.move)];
    move.what == What::result ? keep(event.bucket, event.range, move.to, moment)
                              : obtain(event.bucket, event.range, move.to, moment);
  }

  /// A device has got one of the gradients or sums that it adds.
  void obtain(int bucket, int range, int device, const Moment& moment) {
    auto& missing = buckets_[static_cast<std::size_t>(bucket)].missing;
    const auto at =
        static_cast<std::size_t>(range) * done_.size() + static_cast<std::size_t>(device);
    if (--missing[at] > 0) return;
    send(bucket, range, device, What::sum, moment);
    if (makes_result_[static_cast<std::size_t>(device)]) keep(bucket, range, device, moment);
  }

  /// A device has the result of a range.
  void keep(int bucket, int range, int device, const Moment& moment) {
    send(bucket, range, device, What::result, moment);
    ScaleBucket& own = buckets_[static_cast<std::size_t>(bucket)];
    const int tower = tower_of(device, range);
    if (++own.results[static_cast<std::size_t>(tower)] < own.ranges) return;
    Moment& done = done_[static_cast<std::size_t>(tower)];
    const Moment unpacked = pass_over(moment, 2, own.bytes);
    if (unpacked.time > done.time) done = unpacked;
    const bool more = bucket + 1 < static_cast<int>(buckets_.size());
    if (step_.options.in_turn && more) release(bucket + 1, tower, unpacked);
    if (++own.towers_done == step_.towers) own.missing = {};
  }

  /// Sends what a device has to send of this kind.
  void send(int bucket, int range, int device, What what, const Moment& moment) {
    const std::size_t place = place_of(device, what);
    const int first = first_move_[place], last = first_move_[place + 1];
    if (first < last) {
      post(tower_of(device, range), {bucket, range, first, last, false, moment});
    }
  }

  void post(int tower, const Outgoing& messages) {
    Outbox& outbox = outboxes_[static_cast<std::size_t>(tower)];
    outbox.messages.push_back(messages);
    if (!outbox.waits) empty(tower, messages.ready);
  }

  /// Lets a tower send what it has to send, until its link is busy.
  void empty(int tower, const Moment& now) {
    Outbox& outbox = outboxes_[static_cast<std::size_t>(tower)];
    while (!outbox.messages.empty()) {
      Outgoing& next = outbox.messages.front();
      if (next.move == next.last && !find_range(tower, next)) {
        outbox.messages.pop_front();
        continue;
      }
      const Moment& free = network_.free(tower);
      if (free.time > now.time) {
        outbox.waits = true;
        events_.add(free, {-1, 0, tower});
        return;
      }
      const AllReduceMove& move = schedule_.moves[static_cast<std::size_t>(next.move)];
      const double bytes = size_of(buckets_[static_cast<std::size_t>(next.bucket)], next.range);
      // The receiver adds, or copies what it sends on and keeps.
      const double passes = move.what == What::result ? 2 : 3;
      events_.send(tower, tower_of(move.to, next.range), bytes,
                   free.time > next.ready.time ? free : next.ready,
                   passes * bytes / step_.cluster.tower_memory,
                   {next.bucket, next.range, next.move});
      ++next.move;
    }
  }

  /// Turns to the next range in which a tower sends its own gradients; returns whether there is
  /// one.
  bool find_range(int tower, Outgoing& messages) const {
    if (!messages.all_ranges) return false;
    const int ranges = buckets_[static_cast<std::size_t>(messages.bucket)].ranges;
    const int begin = tower % ranges;
    int at = messages.range < 0 ? 0 : (messages.range - begin + ranges) % ranges + 1;
    for (; at < ranges; ++at) {
      messages.range = (begin + at) % ranges;
      const std::size_t place = place_of(device_of(tower, messages.range), What::gradient);
      messages.move = first_move_[place];
      messages.last = first_move_[place + 1];
      if (messages.move < messages.last) return true;
    }
    return false;
  }

  const SimulatedStep& step_;
  Network network_;
  AllReduceSchedule schedule_;
  std::vector<int> first_move_;       // of each device in schedule_.moves
  std::vector<std::uint16_t> needs_;  // what each device adds, its own gradients included
  std::vector<bool> makes_result_;    // of each device: receives it from no other
  std::vector<ScaleBucket> buckets_;
  std::vector<Moment> done_;      // per tower: when it has the results of all buckets so far
  std::vector<Outbox> outboxes_;  // per tower
  EventQueue<Event> events_{network_};
};

}  // namespace

SimulatedEnd simulate_all_reduce(const SimulatedStep& step) {
  return AllReduceSimulation(step).run();
}

}  // namespace towerflow::report
