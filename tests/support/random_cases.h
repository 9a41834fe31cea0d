#pragma once

namespace towerflow::testing {

/// Returns how many of `all` random cases a test tries: all, but one in ten under a sanitizer,
/// where each takes ten to twenty times as long and many would show the same faults.
constexpr int random_cases(int all) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return all / 10;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  return all / 10;
#else
  return all;
#endif
#else
  return all;
#endif
}

}  // namespace towerflow::testing
