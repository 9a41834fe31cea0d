#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "core/device/resource_store.h"
#include "dataset/definition.h"

namespace towerflow::data {

/// A pass over a dataset in a session, with the threads that compute ahead for it.
class RunningDataset {
 public:
  RunningDataset(const DatasetProgram& program, const std::vector<Array>& arguments)
      : root_(program.instantiate(arguments)(context_)) {}
  ~RunningDataset() { stop(); }
  RunningDataset(const RunningDataset&) = delete;
  RunningDataset& operator=(const RunningDataset&) = delete;

  /// Ends all waits; threads end soon and are joined by the destructor.
  void stop() { context_.stop.cancel(); }
  /// Returns the next element, in the order in which callers ask. Throws OutOfRangeError at the
  /// end.
  void next(ElementValue& element, Cancellation& run, ThreadPool& pool);
  /// Returns how many elements were returned or have failed, those of `skip` included.
  std::uint64_t taken() const;
  /// Drops the first `count` elements when one is asked for. Throws FailedPreconditionError if one
  /// was.
  void skip(std::uint64_t count);

 private:
  class Turn;
  void drop_skipped(const Pull& pull);

  IteratorContext context_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool busy_ = false;
  std::uint64_t taken_ = 0;
  std::uint64_t to_skip_ = 0;
  bool lost_ = false;                      // the position, by an error while elements were skipped
  std::unique_ptr<DatasetIterator> root_;  // used only by the holder of the turn
};

/// The iterator of one session behind IteratorV2 and _OneShotIterator.
class IteratorResource final : public Resource {
 public:
  IteratorResource(ElementSpec element, std::string name)
      : spec_(std::move(element)), name_(std::move(name)) {}

  /// Returns the dtypes and shapes of the elements, without their structure.
  const ElementSpec& spec() const { return spec_; }
  const std::string& name() const { return name_; }
  bool initialized() const;
  /// Begins at the first element.
  void initialize(const DatasetProgram& program, const std::vector<Array>& arguments);
  /// Does so unless it was done before.
  void initialize_once(const DatasetProgram& program, const std::vector<Array>& arguments);
  /// Returns how many elements of the present pass were taken; 0 before initialization.
  std::uint64_t taken() const;
  /// Drops the first `count` elements of the present pass, or of the next one if there is none.
  /// Throws FailedPreconditionError if an element was taken.
  void skip(std::uint64_t count);
  /// Returns the dataset that is read. Throws FailedPreconditionError before initialization.
  std::shared_ptr<RunningDataset> running() const;
  void shut_down() override;

 private:
  void replace(std::shared_ptr<RunningDataset> made);

  const ElementSpec spec_;
  const std::string name_;
  std::mutex initializing_;
  mutable std::mutex mutex_;
  std::shared_ptr<RunningDataset> running_;
  std::uint64_t to_skip_ = 0;  // in the next pass
  bool shut_down_ = false;
};

}  // namespace towerflow::data
