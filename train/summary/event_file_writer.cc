#include "train/summary/event_file_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "core/device/start_thread.h"
#include "core/graph/log.h"
#include "data/host_name.h"
#include "data/tfrecord.h"
#include "train/summary/event.h"

namespace towerflow::summary {
namespace {

using Clock = std::chrono::steady_clock;

/// Creates a file with an unused name: another writer may have started in the same second.
std::unique_ptr<AppendFile> new_event_file(const std::filesystem::path& logdir,
                                           const std::string& suffix) {
  const std::string name =
      fmt::format("events.out.tfevents.{:010d}.{}{}",
                  static_cast<std::int64_t>(seconds_since_1970()), host_name(), suffix);
  for (int number = 0;; ++number) {
    try {
      return std::make_unique<AppendFile>(
          logdir / (number == 0 ? name : fmt::format("{}.{}", name, number)));
    } catch (const errors::AlreadyExistsError&) {
      if (number == 1000) throw;
    }
  }
}

void append_record(AppendFile& file, std::string_view event) {
  const auto text = [](const auto& bytes) {
    return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  // In one piece, so that the file never ends inside a record.
  std::string record;
  record.reserve(event.size() + data::kRecordHeaderBytes + data::kRecordFooterBytes);
  record += text(data::record_header(event.size()));
  record += event;
  record += text(data::record_footer(event));
  file.append(record);
}

}  // namespace

EventFileWriter::EventFileWriter(std::filesystem::path logdir, EventFileOptions options)
    : logdir_(std::move(logdir)), options_(std::move(options)) {
  if (options_.filename_suffix.find('/') != std::string::npos) {
    throw ValueError(
        fmt::format("the suffix of a file's name holds a '/': \"{}\"", options_.filename_suffix));
  }
  if (!(options_.flush_secs >= 0)) {
    throw ValueError(fmt::format("flush_secs must not be negative, got {}", options_.flush_secs));
  }
  open();
}

EventFileWriter::~EventFileWriter() {
  try {
    close();
  } catch (...) {
    log_exception("events were lost");
  }
}

void EventFileWriter::open() {
  make_folder(logdir_);
  file_ = new_event_file(logdir_, options_.filename_suffix);
  Event version{seconds_since_1970()};
  version.file_version = "brain.Event:2";
  append_record(*file_, serialize(version));
  file_->flush();
  path_ = file_->path();
  closing_ = false;
  failure_ = nullptr;
  thread_ = start_thread([this] { write_events(); });
  closed_ = false;
}

void EventFileWriter::check(std::unique_lock<std::mutex>& lock) const {
  const std::exception_ptr failure = failure_;
  if (!failure) return;
  lock.unlock();
  std::rethrow_exception(failure);
}

void EventFileWriter::add(std::string event) {
  std::unique_lock lock(mutex_);
  check(lock);
  if (closed_) return;
  changed_.wait(lock, [&] {
    return failure_ || closing_ || options_.max_queue == 0 || waiting_.size() < options_.max_queue;
  });
  check(lock);
  if (closed_) return;
  waiting_.push_back(std::move(event));
  changed_.notify_all();
}

void EventFileWriter::flush() {
  std::unique_lock lock(mutex_);
  check(lock);
  if (closed_) return;
  const std::uint64_t wanted = ++flushes_wanted_;
  changed_.notify_all();
  changed_.wait(lock, [&] { return failure_ || flushes_done_ >= wanted; });
  check(lock);
}

void EventFileWriter::close() {
  std::thread ending;
  {
    std::unique_lock lock(mutex_);
    if (closed_) return;
    closing_ = true;
    closed_ = true;
    ending = std::move(thread_);
    changed_.notify_all();
  }
  ending.join();
  std::unique_lock lock(mutex_);
  check(lock);
}

void EventFileWriter::reopen() {
  std::unique_lock lock(mutex_);
  if (closed_) open();
}

bool EventFileWriter::closed() const {
  std::unique_lock lock(mutex_);
  return closed_;
}

std::filesystem::path EventFileWriter::path() const {
  std::unique_lock lock(mutex_);
  return path_;
}

void EventFileWriter::write_events() {
  std::unique_lock lock(mutex_);
  try {
    write_until_closing(lock);
    lock.unlock();
    file_->close();
    lock.lock();
  } catch (...) {
    if (!lock.owns_lock()) lock.lock();
    failure_ = std::current_exception();
    waiting_.clear();
  }
  flushes_done_ = flushes_wanted_;
  changed_.notify_all();
}

void EventFileWriter::write_until_closing(std::unique_lock<std::mutex>& lock) {
  // Longer intervals would overflow the clock.
  const auto interval = std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(std::min(options_.flush_secs, 1e9)));
  Clock::time_point next_flush = Clock::now();  // the first event is flushed at once
  bool unseen = false;
  while (!closing_ || !waiting_.empty()) {
    const auto has_work = [&] {
      return closing_ || !waiting_.empty() || flushes_wanted_ > flushes_done_;
    };
    if (unseen) {
      changed_.wait_until(lock, next_flush, has_work);
    } else {
      changed_.wait(lock, has_work);
    }
    const std::uint64_t flushes = flushes_wanted_;
    const bool asked = flushes > flushes_done_;
    std::deque<std::string> events;
    events.swap(waiting_);
    changed_.notify_all();
    lock.unlock();
    for (const std::string& event : events) append_record(*file_, event);
    unseen = unseen || !events.empty();
    if (asked || (unseen && Clock::now() >= next_flush)) {
      file_->flush();
      unseen = false;
      next_flush = Clock::now() + interval;
    }
    lock.lock();
    flushes_done_ = flushes;
    if (asked) changed_.notify_all();
  }
}

}  // namespace towerflow::summary
