// Determines the order of each queue and the events between queues.
#include <algorithm>
#include <limits>
#include <map>
#include <queue>
#include <set>

#include "core/graph/error.h"
#include "core/runtime/plan.h"

namespace towerflow {
namespace {

/// Returns the variables that must be initialized before the run, each with its first reader.
std::vector<NeededVariable> needed_variables(const std::vector<Draft>& drafts) {
  std::vector<NeededVariable> needed;
  std::set<int> met;
  for (const Draft& draft : drafts) {
    if (!draft.instruction.guards.empty()) continue;  // it may not run
    for (const VariableUse& use : draft.instruction.variables) {
      if (!use.writes && !use.needs_value) continue;  // only checks initialization
      const bool first = met.insert(use.variable).second;
      if (first && use.needs_value) needed.push_back({use.variable, draft.instruction.detail});
    }
  }
  return needed;
}

/// Adds a commit before the first change of a variable, after everything that may fail.
///
/// A step that fails then leaves all variables unchanged. An instruction that may fail and depends
/// on a change cannot be moved; a run with such an instruction has no commit and can be cancelled
/// until its end.
void add_commit(std::vector<Draft>& drafts, std::vector<int>& priority) {
  std::vector<bool> after_write(drafts.size(), false);
  std::vector<int> writes, fallible;
  bool all_before = true;
  for (std::size_t i = 0; i < drafts.size(); ++i) {
    const Draft& draft = drafts[i];
    after_write[i] = draft.writes ||
                     std::any_of(draft.after.begin(), draft.after.end(),
                                 [&](int d) { return after_write[static_cast<std::size_t>(d)]; });
    if (draft.writes) writes.push_back(static_cast<int>(i));
    if (!draft.may_fail) continue;
    if (after_write[i])
      all_before = false;
    else
      fallible.push_back(static_cast<int>(i));
  }
  if (writes.empty()) return;
  const auto first = static_cast<std::size_t>(writes.front());
  if (!all_before && fallible.empty()) return;
  Draft gate{.after = std::move(fallible), .may_fail = false, .joins = true};
  if (all_before) {
    gate.joins = false;
    gate.instruction.kind = Instruction::Kind::commit;
    gate.device = drafts[first].device;
    gate.instruction.needed = needed_variables(drafts);
  }
  priority.push_back(priority[first] - 1);
  drafts.push_back(std::move(gate));
  for (const int write : writes) {
    drafts[static_cast<std::size_t>(write)].after.push_back(static_cast<int>(drafts.size()) - 1);
  }
}

/// Makes urgent what the first CPU computes for another one, such as the rows of an embedding,
/// which TensorFlow puts beside the variable. Otherwise it would come after the whole tower of that
/// CPU.
void find_urgent_for_other_cpus(std::vector<Draft>& drafts, const DeviceSet& devices) {
  for (const Draft& reader : drafts) {
    if (reader.joins || reader.device == devices.host() || !devices[reader.device].on_host())
      continue;
    for (const int needed : reader.after) {
      Draft& draft = drafts[static_cast<std::size_t>(needed)];
      if (!draft.joins && !draft.writes && draft.device == devices.host()) draft.urgent = true;
    }
  }
}

/// Makes urgent what leaves an accelerator, so that its copy passes while the accelerator goes on.
/// On the tape, the last kernels of a tower's gradients may all come after its backward pass.
void find_urgent_for_copies(std::vector<Draft>& drafts) {
  for (const Draft& copy : drafts) {
    if (copy.joins || copy.lane != Lane::download) continue;
    for (const int needed : copy.after) {
      Draft& draft = drafts[static_cast<std::size_t>(needed)];
      if (!draft.joins && draft.lane == Lane::compute) draft.urgent = true;
    }
  }
}

/// Lets urgent drafts, and what is computed for one of them alone, run before all others that are
/// ready, instead of at their places on the tape.
void hurry_urgent(const std::vector<Draft>& drafts, std::vector<int>& priority) {
  if (std::none_of(drafts.begin(), drafts.end(), [](const Draft& d) { return d.urgent; })) return;
  std::vector<std::vector<int>> readers(drafts.size());
  for (std::size_t i = 0; i < drafts.size(); ++i) {
    for (const int needed : drafts[i].after) {
      readers[static_cast<std::size_t>(needed)].push_back(static_cast<int>(i));
    }
  }
  const auto waits_for = [&](int draft, int needed) {
    const std::vector<int>& after = drafts[static_cast<std::size_t>(draft)].after;
    return draft == needed || std::find(after.begin(), after.end(), needed) != after.end();
  };
  std::vector<bool> hurried(drafts.size(), false);
  for (std::size_t i = 0; i < drafts.size(); ++i) {
    if (!drafts[i].urgent) continue;
    hurried[i] = true;
    for (const int needed : drafts[i].after) {
      const std::vector<int>& of = readers[static_cast<std::size_t>(needed)];
      if (std::all_of(of.begin(), of.end(),
                      [&](int reader) { return waits_for(reader, static_cast<int>(i)); })) {
        hurried[static_cast<std::size_t>(needed)] = true;
      }
    }
  }
  const auto all = static_cast<int>(2 * drafts.size());
  for (std::size_t i = 0; i < drafts.size(); ++i) {
    if (hurried[i]) priority[i] -= all;
  }
}

/// Returns the bytes of slots that are in memory of the run.
std::size_t arena_bytes_of(const std::vector<int>& slots, const Plan& plan) {
  std::size_t bytes = 0;
  for (const int index : slots) {
    const Slot& slot = plan.slots[static_cast<std::size_t>(index)];
    if (slot.kind == Slot::Kind::arena) bytes += slot.desc.bytes();
  }
  return bytes;
}

/// Lets CPUs compute large values that only changes of variables need when nothing else is left to
/// do: the gradients of large matrices, which are products of small ones. Their memory can then be
/// that of activations, which the backward pass needs no more, and the fewer bytes a step has, the
/// more of them stay in the caches.
void postpone_large_gradients(const std::vector<Draft>& drafts, const DeviceSet& devices,
                              const Plan& plan, std::vector<int>& priority) {
  constexpr std::size_t kLarge = std::size_t{1} << 20;
  std::vector<bool> has_reader(drafts.size(), false), only_changes(drafts.size(), true);
  for (std::size_t i = drafts.size(); i-- > 0;) {
    const Draft& draft = drafts[i];
    const bool changes = draft.writes || (draft.joins && has_reader[i] && only_changes[i]);
    for (const int needed : draft.after) {
      has_reader[static_cast<std::size_t>(needed)] = true;
      if (!changes) only_changes[static_cast<std::size_t>(needed)] = false;
    }
  }
  const auto all = static_cast<int>(2 * drafts.size());
  for (std::size_t i = 0; i < drafts.size(); ++i) {
    const Draft& draft = drafts[i];
    const bool later = has_reader[i] && only_changes[i] && !draft.writes && !draft.urgent &&
                       !draft.joins && devices[draft.device].on_host();
    if (!later) continue;
    const std::size_t made = arena_bytes_of(draft.instruction.outputs, plan);
    if (made >= kLarge && made >= 2 * arena_bytes_of(draft.instruction.inputs, plan)) {
      priority[i] += all;
    }
  }
}

/// Simulates the queues with the estimated times and records the order in which drafts start.
///
/// The drafts of a meeting start one after another in this order, so that queues which wait for
/// each other there cannot wait for ever: whatever else one of them waits for comes before all of
/// them.
class ListScheduler {
 public:
  ListScheduler(const std::vector<Draft>& drafts, const std::vector<int>& queue_of,
                const std::vector<int>& priority, std::size_t queues)
      : drafts_(drafts),
        queue_of_(queue_of),
        priority_(priority),
        queues_(queues),
        before_(drafts.size()),
        started_(drafts.size(), false),
        unfinished_dependencies_(drafts.size(), 0),
        ready_at_(drafts.size(), 0) {}

  /// Returns all drafts in the order in which they start. A join starts when the last draft that it
  /// waits for ends.
  std::vector<int> order() {
    for (std::size_t i = 0; i < drafts_.size(); ++i) {
      for (const int needed : drafts_[i].after) {
        before_[static_cast<std::size_t>(needed)].push_back(static_cast<int>(i));
        ++unfinished_dependencies_[i];
      }
      if (unfinished_dependencies_[i] == 0) enqueue(static_cast<int>(i), 0);
    }
    while (order_.size() < drafts_.size()) {
      const auto [queue, start] = next_queue();
      const int draft = take(queue, start);
      if (started_[static_cast<std::size_t>(draft)]) continue;  // with its meeting
      std::vector<Entry> begun{{begin(draft, start), draft}};
      if (drafts_[static_cast<std::size_t>(draft)].meeting >= 0) begin_others(draft, start, begun);
      for (const auto& [end, one] : begun) finish(one, end);
    }
    return std::move(order_);
  }

 private:
  using Entry = std::pair<double, int>;  // time or priority, draft
  using Heap = std::priority_queue<Entry, std::vector<Entry>, std::greater<>>;
  struct QueueState {
    double free_at = 0;
    Heap coming;  // by the time at which they become ready
    Heap ready;   // by priority
  };

  /// Starts a draft, not before its queue is free. Returns its end.
  double begin(int draft, double time) {
    const auto at = static_cast<std::size_t>(draft);
    QueueState& queue = queues_[static_cast<std::size_t>(queue_of_[at])];
    started_[at] = true;
    queue.free_at = std::max(queue.free_at, time) + drafts_[at].seconds;
    return queue.free_at;
  }

  /// Starts the other drafts of a meeting, which are ready too.
  void begin_others(int first, double time, std::vector<Entry>& begun) {
    const int meeting = drafts_[static_cast<std::size_t>(first)].meeting;
    for (std::size_t i = 0; i < drafts_.size(); ++i) {
      if (drafts_[i].meeting != meeting || static_cast<int>(i) == first) continue;
      if (unfinished_dependencies_[i] > 0 || started_[i]) {
        throw errors::InternalError("the drafts of a meeting do not wait for the same");
      }
      begun.emplace_back(begin(static_cast<int>(i), time), static_cast<int>(i));
    }
  }

  /// Marks a draft as ended, and also the joins that it completes; enqueues drafts that became
  /// ready.
  void finish(int draft, double time) {
    std::vector<Entry> ended{{time, draft}};
    while (!ended.empty()) {
      const auto [end, last] = ended.back();
      ended.pop_back();
      order_.push_back(last);
      for (const int waiting : before_[static_cast<std::size_t>(last)]) {
        const auto at = static_cast<std::size_t>(waiting);
        ready_at_[at] = std::max(ready_at_[at], end);
        if (--unfinished_dependencies_[at] > 0) continue;
        if (drafts_[at].joins)
          ended.emplace_back(ready_at_[at], waiting);
        else
          enqueue(waiting, ready_at_[at]);
      }
    }
  }

  void enqueue(int draft, double time) {
    queues_[static_cast<std::size_t>(queue_of_[static_cast<std::size_t>(draft)])].coming.push(
        {time, draft});
  }

  std::pair<std::size_t, double> next_queue() {
    std::size_t best = 0;
    double earliest = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < queues_.size(); ++i) {
      const QueueState& queue = queues_[i];
      double start = std::numeric_limits<double>::infinity();
      if (!queue.ready.empty())
        start = queue.free_at;
      else if (!queue.coming.empty())
        start = std::max(queue.free_at, queue.coming.top().first);
      if (start < earliest) {
        earliest = start;
        best = i;
      }
    }
    return {best, earliest};
  }

  int take(std::size_t index, double time) {
    QueueState& queue = queues_[index];
    while (!queue.coming.empty() && queue.coming.top().first <= time) {
      const int draft = queue.coming.top().second;
      queue.ready.push({priority_[static_cast<std::size_t>(draft)], draft});
      queue.coming.pop();
    }
    const int draft = queue.ready.top().second;
    queue.ready.pop();
    return draft;
  }

  const std::vector<Draft>& drafts_;
  const std::vector<int>& queue_of_;
  const std::vector<int>& priority_;
  std::vector<QueueState> queues_;
  std::vector<std::vector<int>> before_;  // per draft: the drafts that wait for it
  std::vector<bool> started_;
  std::vector<int> unfinished_dependencies_;  // per draft: number of drafts that it still waits for
  std::vector<double> ready_at_;
  std::vector<int> order_;
};

/// Writes the instructions of the queues, including waits and records.
class QueueWriter {
 public:
  QueueWriter(std::vector<Draft>& drafts, const std::vector<int>& queue_of, Plan& plan)
      : drafts_(drafts),
        queue_of_(queue_of),
        plan_(plan),
        place_(drafts.size(), -1),
        depth_(drafts.size()),
        depth_of_queue_(plan.queues.size()) {}

  void write(const std::vector<int>& order) {
    find_places(order);
    find_waits(order);
    for (const int draft : order) {
      const auto at = static_cast<std::size_t>(draft);
      if (drafts_[at].joins) continue;
      auto& out = plan_.queues[static_cast<std::size_t>(queue_of_[at])].instructions;
      for (const int event : waits_[draft])
        out.push_back(event_step(Instruction::Kind::wait, event));
      for (const int event : host_waits_[draft]) {
        out.push_back(event_step(Instruction::Kind::wait, event));
        out.back().host_waits = true;
      }
      out.push_back(std::move(drafts_[at].instruction));
      if (drafts_[at].asynchronous && !out.back().variables.empty()) {
        out.back().access = plan_.events++;
        out.back().depth = depth_[at];
      }
      if (const auto it = events_.find(draft); it != events_.end()) {
        out.push_back(event_step(Instruction::Kind::record, it->second));
        out.back().depth = depth_[at];
      }
    }
  }

 private:
  static Instruction event_step(Instruction::Kind kind, int event) {
    Instruction step;
    step.kind = kind;
    step.event = event;
    return step;
  }

  void find_places(const std::vector<int>& order) {
    std::vector<int> length(plan_.queues.size(), 0);
    for (const int draft : order) {
      const auto at = static_cast<std::size_t>(draft);
      if (drafts_[at].joins) continue;
      place_[at] = length[static_cast<std::size_t>(queue_of_[at])]++;
    }
  }

  /// Finds the waits: a queue waits for the last draft that it needs from each other queue, once.
  void find_waits(const std::vector<int>& order) {
    Waited waited, host_waited;
    for (const int draft : order) {
      Latest latest;
      for (const int needed : drafts_[static_cast<std::size_t>(draft)].after) {
        const int queue = queue_of_[static_cast<std::size_t>(needed)];
        if (queue >= 0) {
          update_latest(latest, queue, needed);
          continue;
        }
        for (const auto& [other, last] : joined_[needed]) update_latest(latest, other, last);
      }
      const int queue = queue_of_[static_cast<std::size_t>(draft)];
      if (queue < 0) {
        joined_[draft] = std::move(latest);
        continue;
      }
      note_depth(draft, latest);
      for (const auto& [other, needed] : latest) {
        if (other == queue) continue;
        if (is_later(waited, {queue, other}, needed)) waits_[draft].push_back(event_after(needed));
      }
      if (!drafts_[static_cast<std::size_t>(draft)].asynchronous) continue;
      // The thread of an asynchronous queue is ahead of the work that computes a condition.
      Latest read;
      for (const int needed : drafts_[static_cast<std::size_t>(draft)].read_by_host) {
        const int from = queue_of_[static_cast<std::size_t>(needed)];
        if (from >= 0) {
          update_latest(read, from, needed);
          continue;
        }
        for (const auto& [other, last] : joined_[needed]) update_latest(read, other, last);
      }
      note_depth(draft, read);
      for (const auto& [other, needed] : read) {
        if (is_later(host_waited, {queue, other}, needed)) {
          host_waits_[draft].push_back(event_after(needed));
        }
      }
    }
  }

  using Latest = std::map<int, int>;                  // queue -> its last draft that is waited for
  using Waited = std::map<std::pair<int, int>, int>;  // (queue, other) -> place in the other

  /// Returns whether a draft comes after all that its queue has been waited for, and notes it.
  bool is_later(Waited& waited, std::pair<int, int> queues, int draft) const {
    const auto it = waited.find(queues);
    if (it != waited.end() && it->second >= position(draft)) return false;
    waited[queues] = position(draft);
    return true;
  }

  /// The draft comes after all that is before it in its queue, and after `needed`.
  void note_depth(int draft, const Latest& needed) {
    const int queue = queue_of_[static_cast<std::size_t>(draft)];
    int& depth = depth_of_queue_[static_cast<std::size_t>(queue)];
    for (const auto& [other, last] : needed) {
      depth = std::max(depth, depth_[static_cast<std::size_t>(last)] + (other == queue ? 0 : 1));
    }
    depth_[static_cast<std::size_t>(draft)] = depth;
  }

  int event_after(int draft) {
    const auto [event, added] = events_.emplace(draft, plan_.events);
    if (added) ++plan_.events;
    return event->second;
  }

  void update_latest(Latest& latest, int queue, int draft) const {
    const auto [it, added] = latest.emplace(queue, draft);
    if (!added && position(draft) > position(it->second)) it->second = draft;
  }

  int position(int draft) const { return place_[static_cast<std::size_t>(draft)]; }

  std::vector<Draft>& drafts_;
  const std::vector<int>& queue_of_;
  Plan& plan_;
  std::vector<int> place_;
  std::vector<int> depth_;                      // per draft: see Event::depth
  std::vector<int> depth_of_queue_;             // of its last draft so far
  std::map<int, Latest> joined_;                // join -> drafts that it waits for
  std::map<int, int> events_;                   // draft -> event recorded after it
  std::map<int, std::vector<int>> waits_;       // draft -> events
  std::map<int, std::vector<int>> host_waits_;  // draft -> events that the host waits for too
};

/// Sets where a queue goes on after an instruction whose guards do not hold: after all that follow
/// with the same guards.
void find_skips(std::vector<Instruction>& instructions) {
  for (std::size_t i = instructions.size(); i-- > 0;) {
    Instruction& instruction = instructions[i];
    instruction.otherwise = i + 1;
    if (instruction.guards.empty() || i + 1 == instructions.size()) continue;
    const Instruction& next = instructions[i + 1];
    const bool same = next.guards == instruction.guards && !next.must_run;
    if (same) instruction.otherwise = next.otherwise;
  }
}

}  // namespace

void schedule(std::vector<Draft> drafts, const DeviceSet& devices, bool nested, Plan& plan) {
  std::vector<int> priority;
  for (std::size_t i = 0; i < drafts.size(); ++i) priority.push_back(static_cast<int>(2 * i));
  find_urgent_for_other_cpus(drafts, devices);
  find_urgent_for_copies(drafts);
  hurry_urgent(drafts, priority);
  postpone_large_gradients(drafts, devices, plan, priority);
  if (!nested) add_commit(drafts, priority);
  std::vector<int> queue_of;
  for (Draft& draft : drafts) {
    draft.asynchronous = !draft.joins && !devices[draft.device].on_host();
    if (draft.joins) {
      queue_of.push_back(-1);
      continue;
    }
    const auto same =
        std::find_if(plan.queues.begin(), plan.queues.end(), [&](const QueueProgram& queue) {
          return queue.device == draft.device && queue.lane == draft.lane;
        });
    queue_of.push_back(static_cast<int>(same - plan.queues.begin()));
    if (same != plan.queues.end()) continue;
    plan.queues.push_back({.device = draft.device, .lane = draft.lane, .instructions = {}});
    plan.simulated |= devices[draft.device].backend->pace(devices[draft.device].index).simulated;
  }
  const std::vector<int> order =
      ListScheduler(drafts, queue_of, priority, plan.queues.size()).order();
  QueueWriter(drafts, queue_of, plan).write(order);
  for (QueueProgram& queue : plan.queues) find_skips(queue.instructions);
}

}  // namespace towerflow
