#include "data/reader_resource.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "core/graph/error.h"

namespace towerflow {
namespace {

void check_cancelled(const QueueCaller& caller) {
  if (caller.cancellation.cancelled()) throw errors::CancelledError("Read operation was cancelled");
}

}  // namespace

ReaderResource::Turn::Turn(ReaderResource& reader, const QueueCaller& caller) : reader_(reader) {
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
  // Unlocked before the callback is destroyed, which waits for a callback in progress.
  std::unique_lock lock(reader_.mutex_);
  reader_.changed_.wait(lock, [&] { return !reader_.busy_ || cancelled || reader_.shut_down_; });
  if (cancelled || reader_.shut_down_) {
    throw errors::CancelledError("Read operation was cancelled");
  }
  reader_.busy_ = true;
}

ReaderResource::Turn::~Turn() {
  std::lock_guard lock(reader_.mutex_);
  reader_.busy_ = false;
  reader_.changed_.notify_one();
}

Ticket ReaderResource::read(QueueResource& names, const QueueCaller& caller,
                            data::RecordShare share, std::string& key, std::string& value) {
  const Turn turn(*this, caller);
  share_ = share;
  if (!replayed_.empty()) {
    if (replayed_values_.empty()) read_replayed_records(caller);
    RecordPlace place = std::move(replayed_.front());
    replayed_.pop_front();
    // A record may occur twice: a queue can hold it from two epochs.
    value = replayed_values_.at({*place.file, place.begin});
    if (replayed_.empty()) replayed_values_.clear();
    return issue(std::move(place), std::nullopt, value, key);
  }
  if (resume_place_.file != nullptr) resume_after(std::exchange(resume_place_, {}), caller);
  while (true) {
    if (file_ == nullptr) open_next(names, caller);
    const std::uint64_t begin = file_->position();
    if (file_->next(value)) {
      const auto number = static_cast<std::uint64_t>(share_.index) +
                          records_++ * static_cast<std::uint64_t>(share_.count);
      return issue({name_, begin, file_->position(), files_}, number, value, key);
    }
    file_.reset();
  }
}

Ticket ReaderResource::issue(RecordPlace place, std::optional<std::uint64_t> number,
                             std::string_view record, std::string& key) {
  {
    std::lock_guard lock(mutex_);
    trail_.add(record, {place.file, number, place.begin});
  }
  key.clear();
  key.append(*place.file);
  if (!format_.key_is_path) fmt::format_to(std::back_inserter(key), ":{}", place.begin);
  return Ticket(line_, std::move(place));
}

void ReaderResource::open_next(QueueResource& names, const QueueCaller& caller) {
  check_cancelled(caller);  // empty files never block, so nothing else would notice
  auto element = names.dequeue(1, false, caller);
  name_ = std::make_shared<const std::string>((*element[0])[0].item<std::string>());
  names.recycle(std::move(element));
  ++files_;
  file_ = open(*name_);
  records_ = 0;
}

void ReaderResource::resume_after(const RecordPlace& place, const QueueCaller& caller) {
  name_ = place.file;
  file_ = open(*name_);
  records_ = advance(*file_, *name_, place.end, caller);
}

/// Reads the records of `replayed_`, each file once from its beginning.
void ReaderResource::read_replayed_records(const QueueCaller& caller) {
  std::map<std::string, std::set<std::uint64_t>> wanted;
  for (const RecordPlace& place : replayed_) wanted[*place.file].insert(place.begin);
  std::map<Key, std::string> found;
  for (const auto& [name, begins] : wanted) {
    const auto file = open(name);
    for (const std::uint64_t begin : begins) {
      advance(*file, name, begin, caller);
      std::string value;
      if (!file->next(value)) {
        throw errors::DataLossError(
            fmt::format(
                "'{}' ends at {} {}, but had a record there when the checkpoint was written", name,
                format_.place_unit, begin),
            {.hint =
                 "the input has changed: restore the files, or start without the saved position"});
      }
      found[{name, begin}] = std::move(value);
    }
  }
  replayed_values_ = std::move(found);
}

/// `place` may also be the end of the file.
std::uint64_t ReaderResource::advance(data::RecordFile& file, const std::string& name,
                                      std::uint64_t place, const QueueCaller& caller) const {
  constexpr std::uint64_t kRecordsPerCancellationCheck = 1024;
  std::string passed;
  std::uint64_t count = 0;
  for (; file.position() < place; ++count) {
    if (count % kRecordsPerCancellationCheck == 0) check_cancelled(caller);
    if (!file.next(passed)) break;
  }
  if (file.position() == place) return count;
  throw errors::DataLossError(
      fmt::format("'{}' has no record at {} {}, but had one there when the checkpoint was written",
                  name, format_.place_unit, place),
      {.hint = "the input has changed: restore the files, or start without the saved position"});
}

void ReaderResource::resume(std::vector<RecordPlace> records, RecordPlace last,
                            const QueueCaller& caller) {
  const Turn turn(*this, caller);
  if (files_ > 0 || !replayed_.empty()) {
    throw errors::FailedPreconditionError(
        "the reader has already read: its position can no longer be set",
        {.hint = "restore before start_queue_runners, once in a session"});
  }
  replayed_.assign(records.begin(), records.end());
  files_ = last.files;
  resume_place_ = std::move(last);
}

std::string ReaderResource::origin_text(std::string_view record) {
  std::vector<RecentRecords::Place> places;
  {
    std::lock_guard lock(mutex_);
    places = trail_.find(record);
  }
  constexpr std::size_t kNamedFiles = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(places.size(), kNamedFiles); ++i) {
    if (i > 0) text += " or ";  // records with the same fingerprint
    text += fmt::format("'{}'", *places[i].file);
    if (format_.key_is_path) continue;
    text += places[i].number ? fmt::format(", record {} at", *places[i].number) : ", record at";
    text += fmt::format(" {} {}", format_.place_unit, places[i].at);
  }
  return text;
}

void ReaderResource::shut_down() {
  std::lock_guard lock(mutex_);
  shut_down_ = true;
  changed_.notify_all();
}

}  // namespace towerflow
