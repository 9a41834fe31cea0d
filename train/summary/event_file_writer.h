#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "data/append_file.h"

namespace towerflow::summary {

/// How an event file is written.
struct EventFileOptions {
  std::size_t max_queue = 10;  ///< events that wait to be written before a call blocks, 0 for any
  double flush_secs = 120;     ///< how long an event may wait before others can read it
  std::string filename_suffix{};  ///< of every file's name
};

/// Serialized events on their way into a file of their own, written by a thread, so that a training
/// loop does not wait for the disk. Its calls may come from several threads.
///
/// An error of the thread is thrown by the next call, and by every one until it is closed and
/// reopened; events that were not written by then are lost.
/// (tensorflow.python.summary.writer.EventFileWriter)
class EventFileWriter {
 public:
  /// Makes the folder and, in it, `events.out.tfevents.TIME.HOST`, with a number after it where the
  /// name is taken. Throws ValueError for a suffix with a '/' and what AppendFile throws.
  EventFileWriter(std::filesystem::path logdir, EventFileOptions options);
  /// Closes; an error is a warning in the log.
  ~EventFileWriter();
  EventFileWriter(const EventFileWriter&) = delete;
  EventFileWriter& operator=(const EventFileWriter&) = delete;

  /// Does nothing when closed.
  void add(std::string event);
  /// Returns when everything added before can be read by others.
  void flush();
  /// Writes what waits, ends the thread and the file. Does nothing when closed.
  void close();
  /// After `close`: goes on in a new file. Does nothing when open.
  void reopen();

  bool closed() const;
  const std::filesystem::path& logdir() const { return logdir_; }
  /// The current file, or the last one.
  std::filesystem::path path() const;

 private:
  void open();
  void write_events();
  void write_until_closing(std::unique_lock<std::mutex>& lock);
  void check(std::unique_lock<std::mutex>& lock) const;

  const std::filesystem::path logdir_;
  const EventFileOptions options_;
  std::unique_ptr<AppendFile> file_;  ///< the thread's alone while it runs

  mutable std::mutex mutex_;  ///< guards what follows
  std::condition_variable changed_;
  std::filesystem::path path_;
  std::deque<std::string> waiting_;
  std::uint64_t flushes_wanted_ = 0;
  std::uint64_t flushes_done_ = 0;
  bool closing_ = false;
  bool closed_ = true;
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace towerflow::summary
