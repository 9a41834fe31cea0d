#pragma once

namespace towerflow::tools {

/// While it lives, the first Ctrl-C or request to terminate is remembered and no more; the second
/// ends the process as it always does. One at a time.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  static bool requested();
};

}  // namespace towerflow::tools
