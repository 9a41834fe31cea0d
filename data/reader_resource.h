#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/device/resource_store.h"
#include "core/device/ticket.h"
#include "data/record_file.h"
#include "data/record_trail.h"
#include "ops/data_flow/queue_resource.h"

namespace towerflow {

/// The state of one reader in one session. One run at a time reads; the others wait their turn.
class ReaderResource final : public Resource {
 public:
  explicit ReaderResource(data::RecordFormat format) : format_(std::move(format)) {}

  /// Reads the next record of a share, the same in all calls. The ticket makes enqueue ops admit
  /// the records in reading order.
  Ticket read(QueueResource& names, const QueueCaller& caller, data::RecordShare share,
              std::string& key, std::string& value);

  /// Sets the position before anything is read: `records` are delivered again, then reading goes on
  /// after `last`. Throws FailedPreconditionError if something has been read.
  void resume(std::vector<RecordPlace> records, RecordPlace last, const QueueCaller& caller);

  /// Returns "'digits.tfrecord', record 7 at byte 912" for a record that was read recently; ""
  /// otherwise.
  std::string origin_text(std::string_view record) override;

  void shut_down() override;

 private:
  /// The right to read; waiting for it ends if the run is cancelled or the session closes.
  class Turn {
   public:
    Turn(ReaderResource& reader, const QueueCaller& caller);
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    ReaderResource& reader_;
  };
  using Key = std::pair<std::string, std::uint64_t>;  // file, and the place of a record in it

  Ticket issue(RecordPlace place, std::optional<std::uint64_t> number, std::string_view record,
               std::string& key);
  std::unique_ptr<data::RecordFile> open(const std::string& name) const {
    return data::share_of_records(format_.open(name), share_);
  }
  void open_next(QueueResource& names, const QueueCaller& caller);
  void resume_after(const RecordPlace& place, const QueueCaller& caller);
  void read_replayed_records(const QueueCaller& caller);
  /// Skips to the record at `place`; returns how many records were skipped.
  std::uint64_t advance(data::RecordFile& file, const std::string& name, std::uint64_t place,
                        const QueueCaller& caller) const;

  const data::RecordFormat format_;
  data::RecordShare share_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool busy_ = false;
  bool shut_down_ = false;
  RecentRecords trail_;
  // Used only by the holder of the turn.
  std::shared_ptr<const std::string> name_;
  std::uint64_t files_ = 0;  // file names dequeued so far
  std::unique_ptr<data::RecordFile> file_;
  std::uint64_t records_ = 0;  // records read from it
  std::shared_ptr<TicketLine> line_ = std::make_shared<TicketLine>();
  // After `resume`, until all of it has been delivered:
  std::deque<RecordPlace> replayed_;
  std::map<Key, std::string> replayed_values_;  // the records of `replayed_`, read on first use
  RecordPlace resume_place_;
};

}  // namespace towerflow
