#pragma once

#include "core/graph/types.h"

namespace towerflow::types {

class Session;

/// Makes a session the default of this thread until the guard ends: `eval` and `run` of tensors and
/// operations use it. The session must outlive the guard.
class [[nodiscard]] DefaultSessionGuard {
 public:
  explicit DefaultSessionGuard(Session& session);
  ~DefaultSessionGuard();
  DefaultSessionGuard(const DefaultSessionGuard&) = delete;
  DefaultSessionGuard& operator=(const DefaultSessionGuard&) = delete;

 private:
  Session* session_;
};

}  // namespace towerflow::types

namespace towerflow {

/// Returns the default session of this thread, or nullptr. (tf.get_default_session)
Session* get_default_session();

}  // namespace towerflow
