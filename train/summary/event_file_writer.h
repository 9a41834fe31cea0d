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

/// Options for writing an event file.
struct EventFileOptions {
  std::size_t max_queue = 10;     ///< pending events before a call blocks, 0 for no limit
  double flush_secs = 120;        ///< how long an event may stay invisible to others
  std::string filename_suffix{};  ///< appended to every file name
};

/// Writes serialized events to a new file, on its own thread, so that a training loop does not wait
/// for the disk. Thread-safe.
///
/// An error of the thread is thrown by the next call and all later ones, until the writer is closed
/// and reopened; events not written by then are lost.
/// (tensorflow.python.summary.writer.EventFileWriter)
class EventFileWriter {
 public:
  /// Creates the folder and, in it, `events.out.tfevents.TIME.HOST`, with a number appended if the
  /// name is taken. Throws ValueError for a suffix with a '/' or a negative flush_secs, and the
  /// errors of AppendFile.
  EventFileWriter(std::filesystem::path logdir, EventFileOptions options);
  /// Closes the file; logs an error as a warning.
  ~EventFileWriter();
  EventFileWriter(const EventFileWriter&) = delete;
  EventFileWriter& operator=(const EventFileWriter&) = delete;

  /// Does nothing if closed.
  void add(std::string event);
  /// Returns when everything added before can be read by others.
  void flush();
  /// Writes pending events, ends the thread and closes the file. Does nothing if closed.
  void close();
  /// After `close`, continues in a new file. Does nothing if open.
  void reopen();

  bool closed() const;
  const std::filesystem::path& logdir() const { return logdir_; }
  /// Returns the current file, or the last one if closed.
  std::filesystem::path path() const;

 private:
  void open();
  void write_events();
  void write_until_closing(std::unique_lock<std::mutex>& lock);
  void check(std::unique_lock<std::mutex>& lock) const;

  const std::filesystem::path logdir_;
  const EventFileOptions options_;
  std::unique_ptr<AppendFile> file_;  ///< used only by the thread while it runs

  mutable std::mutex mutex_;  ///< guards the members below
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
