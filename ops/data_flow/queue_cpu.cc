#include <fmt/format.h>

#include <atomic>
#include <limits>

#include "core/device/cpu/cpu_backend.h"
#include "ops/data_flow/queue_attrs.h"
#include "ops/data_flow/queue_of.h"
#include "ops/data_flow/source_turns.h"
#include "ops/data_flow/stacked.h"
#include "ops/family.h"
#include "ops/random/guarded.h"

namespace towerflow {
namespace {

/// Returns "FIFOQueue" for "FIFOQueueV2".
std::string kind_of(const std::string& op) { return op.substr(0, op.size() - 2); }

std::unique_ptr<QueueResource> make_queue_resource(const std::string& op, const QueueAttrs& attrs,
                                                   const std::string& node) {
  static std::atomic<std::uint64_t> made{0};
  QueueSpec spec;
  spec.kind = kind_of(op);
  spec.name = attrs.shared_name.empty() ? fmt::format("_{}_{}", made++, node) : attrs.shared_name;
  spec.capacity = attrs.capacity < 0 ? std::numeric_limits<std::size_t>::max()
                                     : static_cast<std::size_t>(attrs.capacity);
  spec.dtypes = attrs.component_types;
  spec.shapes = attrs.shapes;
  spec.runner = attrs.runner;
  if (op != "RandomShuffleQueueV2") {
    return std::make_unique<QueueResource>(std::move(spec), std::make_unique<FifoOrder>());
  }
  random::GuardedPhilox generator(attrs.seeds.seed, attrs.seeds.seed2);
  auto order = std::make_unique<ShuffleOrder>(static_cast<std::size_t>(attrs.min_after_dequeue),
                                              generator.reserve_words(0));
  return std::make_unique<QueueResource>(std::move(spec), std::move(order));
}

void check_min_after_dequeue(const QueueAttrs& attrs) {
  if (attrs.min_after_dequeue < 0) {
    throw errors::InvalidArgumentError(
        fmt::format("min_after_dequeue {} must be >= 0", attrs.min_after_dequeue));
  }
  if (attrs.capacity >= 0 && attrs.min_after_dequeue >= attrs.capacity) {
    throw errors::InvalidArgumentError(fmt::format("min_after_dequeue {} must be < capacity {}",
                                                   attrs.min_after_dequeue, attrs.capacity));
  }
}

/// The kernel of FIFOQueueV2, RandomShuffleQueueV2 and PaddingFIFOQueueV2: returns the handle of
/// the session's queue.
class HandleKernel final : public PreparedKernel {
 public:
  explicit HandleKernel(const KernelRequest& request)
      : op_(request.op->name), attrs_(request.attributes<QueueAttrs>()), node_(request.node) {
    check_min_after_dequeue(attrs_);
  }
  void enqueue(towerflow::Queue&, const LaunchArgs& args) const override {
    const std::string& key = attrs_.shared_name.empty() ? node_ : attrs_.shared_name;
    auto& queue = args.run->resources.resource<QueueResource>(
        key, [this] { return make_queue_resource(op_, attrs_, node_); });
    if (!attrs_.shared_name.empty()) check_same(queue);
    *args.output<Resource*>(0) = &queue;
  }

 private:
  void check_same(const QueueResource& queue) const {
    const std::string kind = kind_of(op_);
    if (queue.spec().kind != kind || queue.spec().dtypes != attrs_.component_types ||
        queue.spec().shapes != attrs_.shapes) {
      throw errors::InvalidArgumentError(
          fmt::format("Shared resource '{}' is not a {} of the same dtypes and shapes",
                      attrs_.shared_name, kind));
    }
  }

  std::string op_;
  QueueAttrs attrs_;
  std::string node_;
};

class EnqueueKernel final : public PreparedKernel {
 public:
  EnqueueKernel(const KernelRequest& request, bool many)
      : descs_(request.inputs.begin() + 1, request.inputs.end()),
        many_(many),
        place_(NodeTurns::name_of(request.node)) {}
  void enqueue(towerflow::Queue& queue, const LaunchArgs& args) const override {
    QueueResource& target = queue_of(args, 0);
    const QueueCaller caller = caller_of(queue, args);
    run_in_turn(args, place_, caller, [] {});
    {
      const ThreadPool::Blocked idle(caller.pool);
      if (!args.run->ticket.wait_turn(caller.cancellation)) {
        throw errors::CancelledError("Enqueue operation was cancelled");
      }
    }
    const QueueValues values{descs_, args.inputs + 1};
    if (many_)
      target.enqueue_many(values, caller);
    else
      target.enqueue(values, caller, args.run->ticket.record());
    args.run->ticket.release();
  }

 private:
  std::vector<TensorDesc> descs_;
  bool many_;
  std::string place_;  // name of its NodeTurns
};

class DequeueKernel final : public PreparedKernel {
 public:
  enum class Kind { one, many, up_to };
  DequeueKernel(const KernelRequest& request, Kind kind)
      : kind_(kind), outputs_(request.outputs), place_(NodeTurns::name_of(request.node)) {}

  void enqueue(towerflow::Queue& queue, const LaunchArgs& args) const override {
    QueueResource& source = queue_of(args, 0);
    const std::size_t count = kind_ == Kind::one ? 1 : requested_count(source, args);
    const QueueCaller caller = caller_of(queue, args);
    std::vector<QueueElement> elements;
    run_in_turn(args, place_, caller,
                [&] { elements = source.dequeue(count, kind_ == Kind::up_to, caller); });
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      const bool one = kind_ == Kind::one;
      const Shape shape =
          one ? (*elements[0])[i].shape()
              : stacked_shape(elements, i, source.spec().shapes.at(i), source.spec().dtypes[i]);
      void* out = memory(source, shape, i, args);
      write_stacked(elements, i, one ? Shape{1}.concatenated(shape) : shape, out);
    }
    source.recycle(std::move(elements));
  }

 private:
  std::size_t requested_count(const QueueResource& source, const LaunchArgs& args) const {
    if (source.spec().shapes.empty()) {
      throw errors::InvalidArgumentError(fmt::format(
          "{}'s DequeueMany and DequeueUpTo require the components to have specified shapes.",
          source.spec().kind));
    }
    const std::int32_t n = *args.input<std::int32_t>(1);
    if (n < 0) {
      throw errors::InvalidArgumentError(
          fmt::format("{} requested {} < 0 elements",
                      kind_ == Kind::many ? "DequeueManyOp" : "DequeueUpToOp", n));
    }
    return static_cast<std::size_t>(n);
  }

  /// Returns the memory of output `index`. Throws if the elements do not fit its dtype or shape.
  void* memory(const QueueResource& source, const Shape& shape, std::size_t index,
               const LaunchArgs& args) const {
    const TensorDesc& desc = outputs_[index];
    if (source.spec().dtypes.at(index) != desc.dtype || !shape.compatible(desc.shape)) {
      throw errors::InvalidArgumentError(
          fmt::format("component {} of queue '{}' is {} {}, but the graph expects {} {}", index,
                      source.spec().name, dtype_name(source.spec().dtypes[index]), shape.text(),
                      dtype_name(desc.dtype), desc.shape.text()));
    }
    if (desc.shape.fully_known()) return args.outputs[index];
    return args.arrays->allocate(index, shape);
  }

  Kind kind_;
  std::vector<TensorDesc> outputs_;
  std::string place_;  // name of its NodeTurns
};

template <class F>
class QueueFunctionKernel final : public PreparedKernel {
 public:
  explicit QueueFunctionKernel(F function) : function_(std::move(function)) {}
  void enqueue(towerflow::Queue& queue, const LaunchArgs& args) const override {
    function_(queue_of(args, 0), caller_of(queue, args), args);
  }

 private:
  F function_;
};

template <class F>
std::unique_ptr<PreparedKernel> queue_function(F function) {
  return std::make_unique<QueueFunctionKernel<F>>(std::move(function));
}

std::unique_ptr<PreparedKernel> close_kernel(const KernelRequest& request) {
  const bool cancel = request.attributes<QueueCloseAttrs>().cancel_pending_enqueues;
  return queue_function(
      [cancel](QueueResource& queue, const QueueCaller& caller, const LaunchArgs&) {
        if (cancel)
          queue.cancel();
        else
          queue.close(caller);
      });
}

std::unique_ptr<PreparedKernel> size_kernel(const KernelRequest&) {
  return queue_function([](QueueResource& queue, const QueueCaller&, const LaunchArgs& args) {
    const std::size_t limit = std::numeric_limits<std::int32_t>::max();
    *args.output<std::int32_t>(0) = static_cast<std::int32_t>(std::min(queue.size(), limit));
  });
}

std::unique_ptr<PreparedKernel> is_closed_kernel(const KernelRequest&) {
  return queue_function([](QueueResource& queue, const QueueCaller&, const LaunchArgs& args) {
    *args.output<bool>(0) = queue.is_closed();
  });
}

}  // namespace

QueueCaller caller_of(Queue& queue, const LaunchArgs& args) {
  return {args.run->cancellation, static_cast<CpuQueue&>(queue).pool(), &args};
}

QueueResource& queue_of(const LaunchArgs& args, std::size_t input) {
  auto* queue = dynamic_cast<QueueResource*>(*args.input<Resource*>(input));
  if (queue == nullptr) throw errors::InvalidArgumentError("the resource is not a queue");
  return *queue;
}

static void register_queue_kernels(KernelTable& table) {
  const auto add = [&](const char* op, auto prepare) {
    table.add({.op = op, .label = "queue", .accepts = {}, .prepare = prepare});
  };
  for (const char* op : {"FIFOQueueV2", "RandomShuffleQueueV2", "PaddingFIFOQueueV2"}) {
    add(op, [](const KernelRequest& request) { return std::make_unique<HandleKernel>(request); });
  }
  add("QueueEnqueueV2",
      [](const KernelRequest& request) { return std::make_unique<EnqueueKernel>(request, false); });
  add("QueueEnqueueManyV2",
      [](const KernelRequest& request) { return std::make_unique<EnqueueKernel>(request, true); });
  const auto add_dequeue = [&](const char* op, DequeueKernel::Kind kind) {
    add(op, [kind](const KernelRequest& request) {
      return std::make_unique<DequeueKernel>(request, kind);
    });
  };
  add_dequeue("QueueDequeueV2", DequeueKernel::Kind::one);
  add_dequeue("QueueDequeueManyV2", DequeueKernel::Kind::many);
  add_dequeue("QueueDequeueUpToV2", DequeueKernel::Kind::up_to);
  add("QueueCloseV2", close_kernel);
  add("QueueSizeV2", size_kernel);
  add("QueueIsClosedV2", is_closed_kernel);
}

OpFamily queue_cpu_family() { return {.kernels = register_queue_kernels}; }

}  // namespace towerflow
