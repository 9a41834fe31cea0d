#include "parallel/processes/all_reduce.h"

#include <fmt/format.h>

#include <atomic>
#include <utility>

#include "core/graph/op_builder.h"
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
std::vector<GradientBucket> buckets_of(const std::vector<GradAndVar>& grads,
                                       std::int64_t bucket_bytes) {
  std::vector<GradientBucket> buckets;
  bool open = false;
  for (std::size_t i = grads.size(); i-- > 0;) {
    if (!grads[i].grad || !grads[i].grad->is_dense()) continue;
    const Tensor tensor = grads[i].grad->dense();
    const std::int64_t bytes = known_bytes(tensor);
    const bool fits = open && buckets.back().bytes + bytes <= bucket_bytes &&
                      grads[buckets.back().members[0]].grad->dtype() == tensor.dtype();
    if (!fits) buckets.emplace_back();
    open = true;
    buckets.back().members.push_back(i);
    buckets.back().bytes += bytes;
  }
  return buckets;
}

/// Describes what the processes exchange, a line for each variable.
std::string schedule_text(const std::vector<GradAndVar>& grads,
                          const ProcessAllReduceOptions& options) {
  std::string text = fmt::format("groups of {} bytes", options.bucket_bytes);
  for (const GradAndVar& pair : grads) {
    text += fmt::format("\n{}: ", pair.var.name());
    if (!pair.grad) {
      text += "no gradient";
      continue;
    }
    const Tensor tensor = pair.grad->representative();
    text += fmt::format("{} {} {}", pair.grad->is_dense() ? "gradient" : "slices",
                        dtype_name(tensor.dtype()),
                        pair.grad->is_dense() ? tensor.shape().text() : pair.var.shape().text());
  }
  return text;
}

std::string named(const std::vector<GradAndVar>& grads, const std::vector<std::size_t>& members) {
  const std::string name = grads[members[0]].var.op().name();
  const std::size_t more = members.size() - 1;
  return more == 0 ? name : fmt::format("{} and {} more", name, more);
}

class AllReducer {
 public:
  AllReducer(const std::vector<GradAndVar>& grads, Site site)
      : grads_(grads), averages_(grads), site_(site) {}

  void add_dense(const std::vector<GradientBucket>& buckets) {
    std::vector<Operation> starts;
    for (const GradientBucket& bucket : buckets) {
      OpBuilder builder(processes::kMeanStart, "start", site_);
      const ExchangeAttrs attrs{next_tag(), "the mean of " + named(grads_, bucket.members)};
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
      const ExchangeAttrs attrs{next_tag(), "the rows of " + named(grads_, {i})};
      OpBuilder start(processes::kRowsStart, "start", site_);
      const Tensor handle = start.inputs({own.values}, "values")
                                .inputs({own.indices}, "indices")
                                .attrs(attrs)
                                .output();
      OpBuilder end(processes::kRowsEnd, "end", site_);
      const Operation rows = end.inputs({handle}, "handle")
                                 .inputs({own.values}, "values")
                                 .inputs({own.indices}, "indices")
                                 .attrs(ExchangeAttrs())
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
    averages_[index].grad = OptionalGradient(average).with_origin(grads_[index].grad.origin());
  }

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
  processes::check_same_in_all(group, schedule_text(grads_and_vars, options),
                               "exchange different gradients", site);
  Graph& graph = grads_and_vars[0].var.graph();
  const RoleScope role(graph, NodeRole::gradient);
  const auto host = device("/cpu:0", site);
  const NameScope scope(graph, options.name.empty() ? "all_reduce" : options.name, site);
  AllReducer reducer(grads_and_vars, site);
  reducer.add_dense(buckets_of(grads_and_vars, options.bucket_bytes));
  reducer.add_slices();
  return reducer.averages();
}

}  // namespace towerflow::parallel
