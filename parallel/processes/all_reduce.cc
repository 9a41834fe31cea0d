#include "parallel/processes/all_reduce.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <sstream>
#include <utility>

#include "core/graph/op_builder.h"
#include "ops/array/fill.h"
#include "ops/math/binary.h"
#include "parallel/processes/exchange_ops.h"
#include "parallel/processes/group.h"
#include "parallel/processes/message_engine.h"
#include "parallel/processes/schedule_check.h"

namespace towerflow::parallel {
namespace {

using processes::ExchangeAttrs;

/// Tags below are for the exchanges of the program itself.
constexpr int kFirstTag = 8;

/// Returns the next tag. Programs build the same graph in every process and so get the same tags;
/// they come round after more exchanges than a program can have under way.
int next_tag() {
  constexpr int kTags = processes::kMaxTag / 2 - kFirstTag;
  static std::atomic<int> given{0};
  return kFirstTag + given++ % kTags;
}

/// The processes that have a gradient, in ascending order.
using Givers = std::vector<int>;

/// The gradients that are exchanged, the same in every process. Where processes average over
/// different numbers of towers, each gives its mean times its share of the towers, so that the mean
/// over processes is that over towers.
struct Exchanged {
  std::vector<GradAndVar> grads;
  std::vector<Givers> givers;  ///< of each gradient; empty if it is absent everywhere
};

/// Gradients of one dtype that are exchanged together, as indices in the list.
struct GradientBucket {
  std::vector<std::size_t> members;
  std::int64_t bytes = 0;
};

std::int64_t known_bytes(const Tensor& tensor) {
  const Shape& shape = tensor.shape();
  return shape.fully_known()
             ? shape.elements() * static_cast<std::int64_t>(dtype_size(tensor.dtype()))
             : 0;
}

/// Divides the dense gradients into buckets, from the last one on: the backward pass makes the
/// gradients of the last variables first.
std::vector<GradientBucket> buckets_of(const Exchanged& exchanged, std::int64_t bucket_bytes) {
  const std::vector<GradAndVar>& grads = exchanged.grads;
  std::vector<GradientBucket> buckets;
  bool open = false;
  for (std::size_t i = grads.size(); i-- > 0;) {
    if (!grads[i].grad || !grads[i].grad->is_dense()) continue;
    const Tensor tensor = grads[i].grad->dense();
    const std::int64_t bytes = known_bytes(tensor);
    const auto joins = [&](const GradientBucket& bucket) {
      const std::size_t first = bucket.members[0];
      return bucket.bytes + bytes <= bucket_bytes && grads[first].grad->dtype() == tensor.dtype() &&
             exchanged.givers[first] == exchanged.givers[i];
    };
    if (!open || !joins(buckets.back())) buckets.emplace_back();
    open = true;
    buckets.back().members.push_back(i);
    buckets.back().bytes += bytes;
  }
  return buckets;
}

constexpr const char* kAbsent = "no gradient";
constexpr const char* kWideIndices = "int64 slices";

/// Separates the description of a gradient from the number of towers whose mean it is.
constexpr char kTowers = '\t';

/// Describes what this process gives, in a line for each variable after the first line.
std::string schedule_text(const std::vector<GradAndVar>& grads,
                          const ProcessAllReduceOptions& options) {
  std::string text = fmt::format("groups of {} bytes", options.bucket_bytes);
  for (const GradAndVar& pair : grads) {
    text += fmt::format("\n{}: ", pair.var.name());
    if (!pair.grad) {
      text += kAbsent;
    } else if (pair.grad->is_dense()) {
      const Tensor dense = pair.grad->dense();
      text += fmt::format("gradient {} {}", dtype_name(dense.dtype()), dense.shape().text());
    } else {
      const IndexedSlices& slices = pair.grad->slices();
      const bool wide = slices.indices.dtype() == DType::int64;
      text += fmt::format("{} {} {}", wide ? kWideIndices : "slices",
                          dtype_name(slices.values.dtype()), pair.var.shape().text());
    }
    const auto& origin = pair.grad.origin();
    text += fmt::format("{}{}", kTowers, origin ? origin->towers : 1);
  }
  return text;
}

/// What `schedule_text` says of a process.
struct Schedule {
  std::vector<std::string> lines;
  std::vector<std::int64_t> towers;  ///< by line; 0 in the first
};
using Schedules = std::vector<Schedule>;

Schedule schedule_of(const std::string& text) {
  Schedule schedule;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    const std::size_t end = std::min(line.find(kTowers), line.size());
    schedule.towers.push_back(end == line.size() ? 0 : std::stoll(line.substr(end + 1)));
    schedule.lines.push_back(line.substr(0, end));
  }
  return schedule;
}

/// Returns the line of a process that has gradient `number`, or nullptr. Processes without it may
/// have `absent`.
const std::string* present_line(const Schedules& schedules, std::size_t number,
                                const std::string& absent) {
  for (const auto& [lines, towers] : schedules) {
    if (number < lines.size() && lines[number] != absent) return &lines[number];
  }
  return nullptr;
}

/// Returns what a process exchanges in the place of a gradient that only others have: zeros, or no
/// rows. `line` describes theirs.
Gradient nothing_for(const Variable& variable, const std::string& line, Site site) {
  const DType dtype = variable.dtype();
  const Shape& shape = variable.shape();
  if (line.find("slices ") == std::string::npos) return zeros(shape, {.dtype = dtype}, site);
  const DType of_index = line.find(kWideIndices) == std::string::npos ? DType::int32 : DType::int64;
  std::vector<Dim> dims{0};
  for (std::size_t i = 1; i < shape.rank(); ++i) dims.push_back(shape[i]);
  return IndexedSlices{zeros(Shape(dims), {.dtype = dtype}, site),
                       zeros(Shape{0}, {.dtype = of_index}, site), std::nullopt};
}

/// Returns the factor for the gradient of process `rank`, one of `givers`: 1 if all have as many
/// towers.
double share_of_towers(const Schedules& schedules, std::size_t number, const Givers& givers,
                       int rank) {
  std::int64_t all = 0;
  for (const int giver : givers) all += schedules[static_cast<std::size_t>(giver)].towers[number];
  const std::int64_t own = schedules[static_cast<std::size_t>(rank)].towers[number];
  return static_cast<double>(own * static_cast<std::int64_t>(givers.size())) /
         static_cast<double>(all);
}

/// Compares what the processes list and finds out which of them have which gradient. Throws
/// ValueError naming the first difference other than an absent gradient.
Exchanged exchanged_of(ProcessGroup& group, const std::vector<GradAndVar>& grads,
                       const ProcessAllReduceOptions& options, Site site) {
  Schedules schedules;
  for (const std::string& text :
       group.all_gather(schedule_text(grads, options), "the comparison of the graphs")) {
    schedules.push_back(schedule_of(text));
  }
  Exchanged exchanged{grads, std::vector<Givers>(grads.size())};
  Schedules filled = schedules;
  for (std::size_t i = 0; i < grads.size(); ++i) {
    const std::size_t number = i + 1;
    const std::string absent = fmt::format("{}: {}", grads[i].var.name(), kAbsent);
    const std::string* present = present_line(schedules, number, absent);
    if (present == nullptr) continue;
    for (std::size_t rank = 0; rank < schedules.size(); ++rank) {
      if (number >= schedules[rank].lines.size()) continue;
      if (schedules[rank].lines[number] == absent) {
        filled[rank].lines[number] = *present;
      } else {
        exchanged.givers[i].push_back(static_cast<int>(rank));
      }
    }
  }
  std::vector<std::string> texts;
  for (const auto& [lines, towers] : filled) {
    texts.push_back(fmt::format("{}", fmt::join(lines, "\n")));
  }
  processes::check_same(texts, "exchange different gradients", site);
  const auto& of_all = filled[0].lines;
  for (std::size_t i = 0; i < grads.size(); ++i) {
    const Givers& givers = exchanged.givers[i];
    if (!grads[i].grad) {
      if (!givers.empty()) exchanged.grads[i].grad = nothing_for(grads[i].var, of_all[i + 1], site);
      continue;
    }
    const double share = share_of_towers(schedules, i + 1, givers, group.rank());
    if (share == 1) continue;
    const Gradient& own = *grads[i].grad;
    const Tensor scaled = multiply(own.representative(), share, {}, site);
    exchanged.grads[i].grad = own.with_values(scaled);
  }
  return exchanged;
}

std::string named(const std::vector<GradAndVar>& grads, const std::vector<std::size_t>& members) {
  const std::string name = grads[members[0]].var.op().name();
  const std::size_t more = members.size() - 1;
  return more == 0 ? name : fmt::format("{} and {} more", name, more);
}

class AllReducer {
 public:
  AllReducer(const Exchanged& exchanged, const std::vector<GradAndVar>& own, Site site)
      : exchanged_(exchanged), grads_(exchanged.grads), averages_(own), site_(site) {}

  void add_dense(const std::vector<GradientBucket>& buckets) {
    std::vector<Operation> starts;
    for (const GradientBucket& bucket : buckets) {
      OpBuilder builder(processes::kMeanStart, "start", site_);
      const ExchangeAttrs attrs{next_tag(), "the mean of " + named(grads_, bucket.members),
                                givers(bucket.members[0])};
      starts.push_back(builder.inputs(tensors_of(bucket), "gradients").attrs(attrs).build());
    }
    for (std::size_t i = 0; i < buckets.size(); ++i) {
      OpBuilder builder(processes::kMeanEnd, "end", site_);
      builder.inputs({starts[i].output(0)}, "handle").inputs(tensors_of(buckets[i]), "gradients");
      const Operation end = builder.attrs(ExchangeAttrs()).build();
      for (std::size_t k = 0; k < buckets[i].members.size(); ++k) {
        const std::size_t member = buckets[i].members[k];
        set(member, grads_[member].grad->with_values(end.output(static_cast<int>(k))));
      }
    }
  }

  void add_slices() {
    for (std::size_t i = grads_.size(); i-- > 0;) {
      if (!grads_[i].grad || grads_[i].grad->is_dense()) continue;
      const IndexedSlices& own = grads_[i].grad->slices();
      const ExchangeAttrs attrs{next_tag(), "the rows of " + named(grads_, {i}), givers(i)};
      OpBuilder start(processes::kRowsStart, "start", site_);
      const Tensor handle = start.inputs({own.values}, "values")
                                .inputs({own.indices}, "indices")
                                .attrs(attrs)
                                .output();
      OpBuilder end(processes::kRowsEnd, "end", site_);
      const Operation rows = end.inputs({handle}, "handle")
                                 .inputs({own.values}, "values")
                                 .inputs({own.indices}, "indices")
                                 .attrs(ExchangeAttrs{.givers = attrs.givers})
                                 .build();
      set(i, IndexedSlices{rows.output(0), rows.output(1), own.dense_shape});
    }
  }

  const std::vector<GradAndVar>& averages() const { return averages_; }

 private:
  std::vector<Tensor> tensors_of(const GradientBucket& bucket) const {
    std::vector<Tensor> tensors;
    for (const std::size_t member : bucket.members) {
      tensors.push_back(grads_[member].grad->dense());
    }
    return tensors;
  }

  void set(std::size_t index, const Gradient& average) {
    averages_[index].grad = OptionalGradient(average).with_origin(averages_[index].grad.origin());
  }

  /// Returns the processes to add up, or nothing for all.
  Givers givers(std::size_t index) const {
    const Givers& some = exchanged_.givers[index];
    return static_cast<int>(some.size()) == process_group().size() ? Givers() : some;
  }

  const Exchanged& exchanged_;
  const std::vector<GradAndVar>& grads_;
  std::vector<GradAndVar> averages_;
  Site site_;
};

}  // namespace

std::vector<GradAndVar> all_reduce(const std::vector<GradAndVar>& grads_and_vars,
                                   ProcessAllReduceOptions options, Site site) {
  if (options.bucket_bytes < 1) {
    throw ValueError(fmt::format("bucket_bytes must be at least 1, got {}", options.bucket_bytes),
                     {.site = site});
  }
  ProcessGroup& group = process_group();
  if (group.size() == 1 || grads_and_vars.empty()) return grads_and_vars;
  Graph& graph = grads_and_vars[0].var.graph();
  const RoleScope role(graph, NodeRole::gradient);
  const auto host = device("/cpu:0", site);
  const NameScope scope(graph, options.name.empty() ? "all_reduce" : options.name, site);
  const Exchanged exchanged = exchanged_of(group, grads_and_vars, options, site);
  AllReducer reducer(exchanged, grads_and_vars, site);
  reducer.add_dense(buckets_of(exchanged, options.bucket_bytes));
  reducer.add_slices();
  return reducer.averages();
}

}  // namespace towerflow::parallel
