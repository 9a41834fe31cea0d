#include "data/record_reader.h"

#include <fmt/format.h>

#include <condition_variable>
#include <mutex>

#include "core/device/cpu/cpu_backend.h"
#include "core/graph/op_builder.h"
#include "data/families.h"
#include "data/tfrecord.h"
#include "ops/data_flow/queue_of.h"

namespace towerflow {
namespace {

struct ReaderAttrs {
  std::optional<data::Compression> compression;
  bool operator==(const ReaderAttrs&) const = default;
};

/// The files of one reader in one session. One run at a time reads; the others wait their turn.
class ReaderResource final : public Resource {
 public:
  explicit ReaderResource(const ReaderAttrs& attrs) : options_{.compression = attrs.compression} {}

  /// Reads the next record, with a place in the line of those who will enqueue one.
  Ticket read(QueueResource& names, const QueueCaller& caller, std::string& key,
              std::string& value) {
    const Turn turn(*this, caller);
    while (true) {
      if (!file_) open_next(names, caller);
      const std::uint64_t offset = file_->byte_offset();
      if (file_->next(value)) {
        key.clear();
        fmt::format_to(std::back_inserter(key), "{}:{}", name_, offset);
        return Ticket(line_);
      }
      file_.reset();
    }
  }

  void shut_down() override {
    std::lock_guard lock(mutex_);
    shut_down_ = true;
    changed_.notify_all();
  }

 private:
  /// The right to read; waiting for it ends when the run is cancelled or the session closes.
  class Turn {
   public:
    Turn(ReaderResource& reader, const QueueCaller& caller) : reader_(reader) {
      {
        std::lock_guard lock(reader_.mutex_);
        if (!reader_.busy_ && !reader_.shut_down_) {
          reader_.busy_ = true;
          return;
        }
      }
      const ThreadPool::Blocked idle(caller.pool);
      bool cancelled = false;
      const CancellationCallback wake(caller.cancellation, [&] {
        std::lock_guard lock(reader_.mutex_);
        cancelled = true;
        reader_.changed_.notify_all();
      });
      // Released before the callback ends, which waits for one in progress.
      std::unique_lock lock(reader_.mutex_);
      reader_.changed_.wait(lock,
                            [&] { return !reader_.busy_ || cancelled || reader_.shut_down_; });
      if (cancelled || reader_.shut_down_) {
        throw errors::CancelledError("Read operation was cancelled");
      }
      reader_.busy_ = true;
    }
    ~Turn() {
      std::lock_guard lock(reader_.mutex_);
      reader_.busy_ = false;
      reader_.changed_.notify_one();
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    ReaderResource& reader_;
  };

  void open_next(QueueResource& names, const QueueCaller& caller) {
    // A queue of empty files alone would never make this wait.
    if (caller.cancellation.cancelled()) {
      throw errors::CancelledError("Read operation was cancelled");
    }
    auto element = names.dequeue(1, false, caller);
    name_ = (*element[0])[0].item<std::string>();
    names.recycle(std::move(element));
    file_.emplace(name_, options_);
  }

  const data::TFRecordReadOptions options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool busy_ = false;
  bool shut_down_ = false;
  // Touched by whoever has the turn.
  std::string name_;
  std::optional<data::TFRecordReader> file_;
  std::shared_ptr<TicketLine> line_ = std::make_shared<TicketLine>();
};

class ReaderKernel final : public PreparedKernel {
 public:
  explicit ReaderKernel(const KernelRequest& request)
      : attrs_(request.attributes<ReaderAttrs>()), node_(request.node) {}
  void enqueue(towerflow::Queue&, const LaunchArgs& args) const override {
    *args.output<Resource*>(0) = &args.run->resources.resource(
        node_, [this] { return std::make_unique<ReaderResource>(attrs_); });
  }

 private:
  ReaderAttrs attrs_;
  std::string node_;
};

class ReadKernel final : public PreparedKernel {
 public:
  void enqueue(towerflow::Queue& queue, const LaunchArgs& args) const override {
    auto* reader = dynamic_cast<ReaderResource*>(*args.input<Resource*>(0));
    if (reader == nullptr) throw errors::InvalidArgumentError("the resource is no reader");
    QueueResource& names = queue_of(args, 1);
    if (names.spec().dtypes != std::vector<DType>{DType::string}) {
      throw errors::InvalidArgumentError(
          fmt::format("queue '{}' holds no file names: a reader takes one string component",
                      names.spec().name));
    }
    const QueueCaller caller{args.run->cancellation, static_cast<CpuQueue&>(queue).pool()};
    args.run->ticket =
        reader->read(names, caller, *args.output<std::string>(0), *args.output<std::string>(1));
  }
};

constexpr const char* kNoGradient = "records are read, not computed";

}  // namespace

void register_record_reader_ops(OpRegistry& registry) {
  registry.add(
      {.name = "TFRecordReaderV2",
       .shape = [](InferenceContext& context) { context.add_output(DType::resource, Shape{}); },
       .gradient = NoGradient{kNoGradient},
       .effect = Effect::stateful});
  registry.add({.name = "ReaderReadV2",
                .shape =
                    [](InferenceContext& context) {
                      context.add_output(DType::string, Shape{});
                      context.add_output(DType::string, Shape{});
                    },
                .gradient = NoGradient{kNoGradient},
                .effect = Effect::stateful});
}

void register_record_reader_kernels(KernelTable& table) {
  table.add({.op = "TFRecordReaderV2",
             .label = "reader",
             .accepts = {},
             .prepare = [](const KernelRequest& request) {
               return std::make_unique<ReaderKernel>(request);
             }});
  table.add(
      {.op = "ReaderReadV2", .label = "reader", .accepts = {}, .prepare = [](const KernelRequest&) {
         return std::make_unique<ReadKernel>();
       }});
}

TFRecordReader::TFRecordReader(RecordReaderOptions options, Site site)
    : ref_(OpBuilder("TFRecordReaderV2", options.name, site)
               .attrs(ReaderAttrs{options.compression})
               .output()) {}

KeyValue TFRecordReader::read(const QueueBase& queue, QueueOptions options, Site site) const {
  const Operand reader(ref_), names(queue.queue_ref());
  const Operation op = OpBuilder("ReaderReadV2", options.name, site, {&reader, &names})
                           .input(reader, "reader_handle")
                           .input(names, "queue_handle")
                           .build();
  return {op.output(0), op.output(1)};
}

}  // namespace towerflow
