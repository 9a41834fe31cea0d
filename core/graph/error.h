#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "core/graph/site.h"

namespace towerflow::types {

/// What is known about an error besides its message; empty fields are left out of the text.
struct ErrorDetail {
  Site site{};           ///< the user's line
  std::string node{};    ///< full name of the node, without output index
  std::string op{};      ///< op type, "Conv2D"
  std::string device{};  ///< device the node ran on
  std::string hint{};    ///< what to do about it, one sentence
};

/// Base class of everything the library throws.
///
/// `what()` is the whole text: class, message, node, device, place, hint, in that order.
/// `message()` is only the first sentence; if TensorFlow has the error, the meaning is the same.
class Error : public std::runtime_error {
 public:
  Error(const char* kind, std::string_view message, const ErrorDetail& detail = {});

  /// Returns the name of the class: "ValueError", "OutOfRangeError".
  const char* kind() const noexcept { return kind_; }
  const std::string& message() const noexcept { return message_; }
  const ErrorDetail& detail() const noexcept { return detail_; }

 private:
  const char* kind_;
  std::string message_;
  ErrorDetail detail_;
};

/// Python's ValueError as TensorFlow raises it: shapes, names and reuse that do not fit.
class ValueError : public Error {
 public:
  explicit ValueError(std::string_view message, const ErrorDetail& detail = {});
};

/// Python's TypeError: dtypes and kinds of object that do not fit.
class TypeError : public Error {
 public:
  explicit TypeError(std::string_view message, const ErrorDetail& detail = {});
};

/// Python's KeyError: a name that the graph does not have.
class KeyError : public Error {
 public:
  explicit KeyError(std::string_view message, const ErrorDetail& detail = {});
};

/// Python's LookupError: an op type without a registered gradient.
class LookupError : public Error {
 public:
  explicit LookupError(std::string_view message, const ErrorDetail& detail = {});
};

/// Python's NotImplementedError: something the object does not support.
class NotImplementedError : public Error {
 public:
  explicit NotImplementedError(std::string_view message, const ErrorDetail& detail = {});
};

/// Python's RuntimeError: a call at the wrong time, such as on a closed session.
class RuntimeError : public Error {
 public:
  explicit RuntimeError(std::string_view message, const ErrorDetail& detail = {});
};

}  // namespace towerflow::types

namespace towerflow::errors::types {

/// The canonical codes, numbered as in TensorFlow's `error_codes.proto`.
enum class Code {
  ok = 0,
  cancelled = 1,
  unknown = 2,
  invalid_argument = 3,
  deadline_exceeded = 4,
  not_found = 5,
  already_exists = 6,
  permission_denied = 7,
  resource_exhausted = 8,
  failed_precondition = 9,
  aborted = 10,
  out_of_range = 11,
  unimplemented = 12,
  internal = 13,
  unavailable = 14,
  data_loss = 15,
  unauthenticated = 16,
};

}  // namespace towerflow::errors::types

namespace towerflow::errors {

/// Returns "OutOfRangeError" for Code::out_of_range.
const char* class_name(Code code) noexcept;

}  // namespace towerflow::errors

namespace towerflow::errors::types {

/// An error that arises while a graph runs, or while a file is read or written.
class OpError : public Error {
 public:
  OpError(Code code, std::string_view message, const ErrorDetail& detail = {});
  Code code() const noexcept { return code_; }

 private:
  Code code_;
};

template <Code kCode>
class CodedError : public OpError {
 public:
  explicit CodedError(std::string_view message, const ErrorDetail& detail = {})
      : OpError(kCode, message, detail) {}
};

using CancelledError = CodedError<Code::cancelled>;
using UnknownError = CodedError<Code::unknown>;
using InvalidArgumentError = CodedError<Code::invalid_argument>;
using DeadlineExceededError = CodedError<Code::deadline_exceeded>;
using NotFoundError = CodedError<Code::not_found>;
using AlreadyExistsError = CodedError<Code::already_exists>;
using PermissionDeniedError = CodedError<Code::permission_denied>;
using ResourceExhaustedError = CodedError<Code::resource_exhausted>;
using FailedPreconditionError = CodedError<Code::failed_precondition>;
using AbortedError = CodedError<Code::aborted>;
using OutOfRangeError = CodedError<Code::out_of_range>;
using UnimplementedError = CodedError<Code::unimplemented>;
using InternalError = CodedError<Code::internal>;
using UnavailableError = CodedError<Code::unavailable>;
using DataLossError = CodedError<Code::data_loss>;

}  // namespace towerflow::errors::types

namespace towerflow::errors {

/// Throws the CodedError of `code`.
[[noreturn]] void raise(Code code, std::string_view message, const ErrorDetail& detail = {});

}  // namespace towerflow::errors

namespace towerflow {

/// Makes `tf::OpError` and `tf::OutOfRangeError` available too, for programs that write
/// `catch (tf::OutOfRangeError&)`, whatever module TensorFlow keeps them in.
using namespace errors::types;

/// Rethrows the current exception with `detail` in the fields that are empty; std::bad_alloc
/// becomes a ResourceExhaustedError, another exception from outside the library an InternalError.
/// Call it only in a catch block.
[[noreturn]] void rethrow_with(const ErrorDetail& detail);

/// Rethrows the current exception as an error of a run: a ValueError or TypeError, as graph
/// building throws, becomes an errors::InvalidArgumentError. Call it only in a catch block.
[[noreturn]] void rethrow_from_run();

}  // namespace towerflow
