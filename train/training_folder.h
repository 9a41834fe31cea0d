#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/graph/arguments.h"
#include "core/runtime/session.h"
#include "train/saver.h"

namespace towerflow::train::types {

/// Interface for code that runs before and after a checkpoint is saved.
/// (tf.train.CheckpointSaverListener)
class CheckpointSaverListener {
 public:
  virtual ~CheckpointSaverListener();
  virtual void before_save(Session& /*session*/, std::int64_t /*global_step*/) {}
  virtual void after_save(Session& /*session*/, std::int64_t /*global_step*/) {}
};

struct TrainingFolderOptions {
  /// Start over even if the folder has a checkpoint, which stays the newest until the first save.
  bool restart = false;
};

/// A folder that a training saves checkpoints to and resumes from; created if it does not exist. It
/// is locked against other trainings until the last copy of this handle is destroyed. A
/// default-constructed handle is empty: no checkpoints are kept.
///
/// errors   UnavailableError: another training is using the folder (the message names it); those of
///          creating a folder or a file
class TrainingFolder {
 public:
  TrainingFolder() = default;
  template <TextValue T>
  TrainingFolder(const T& path) : TrainingFolder(Text(path), TrainingFolderOptions()) {}  // NOLINT
  TrainingFolder(const Text& path, TrainingFolderOptions options);

  explicit operator bool() const { return state_ != nullptr; }
  const std::string& path() const;
  /// Path prefix of the checkpoint that the training resumes from; empty if it starts over.
  const std::string& resumed_from() const;
  /// Returns whether there is a checkpoint that is not resumed from; false after the first save.
  bool replaces() const;
  /// Path prefix of the checkpoint restored or saved last; empty before that.
  const std::string& checkpoint() const;

  /// Sets the Saver of this folder, which takes over the checkpoints there. By default it saves the
  /// global variables of the default graph and its input positions. Calls after the first do
  /// nothing.
  void use(std::optional<Saver> saver = std::nullopt);
  /// Returns the Saver that `use` has set.
  const std::optional<Saver>& saver() const;
  /// Restores variables and input positions from `resumed_from`. If that checkpoint lacks the
  /// position of a queue, or has positions in files other than `input_files` (unless that is
  /// empty), restores only the variables and logs a warning that the input starts over.
  void restore(Session& session, std::span<const std::string> input_files = {});
  /// Saves "PATH/model.ckpt-STEP" and returns its prefix.
  std::string save(Session& session, std::int64_t global_step,
                   std::span<const std::shared_ptr<CheckpointSaverListener>> listeners = {});

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace towerflow::train::types
