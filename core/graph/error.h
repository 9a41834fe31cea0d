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

/// Root of everything the library throws.
///
/// `what()` is the whole text: class, message, node, device, place, hint, in that order.
/// `message()` is the first sentence alone; for an error that TensorFlow has, it has its meaning.
class Error : public std::runtime_error {
 public:
  Error(const char* kind, std::string_view message, const ErrorDetail& detail = {});

  /// Name of the class: "ValueError", "OutOfRangeError".
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

/// Python's KeyError: a name that the graph does not hold.
class KeyError : public Error {
 public:
  explicit KeyError(std::string_view message, const ErrorDetail& detail = {});
};

/// Python's LookupError: an op type without a registered gradient.
class LookupError : public Error {
 public:
  explicit LookupError(std::string_view message, const ErrorDetail& detail = {});
};

/// Python's NotImplementedError: something the object does not do.
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

/// "OutOfRangeError" for Code::out_of_range.
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

/// `tf::OpError` and `tf::OutOfRangeError` as well: who writes `catch (tf::OutOfRangeError&)` means
/// these, whatever module TensorFlow keeps them in.
using namespace errors::types;

/// Throws again the error being handled with `detail` filled in where it was still empty; an
/// exception from outside the library becomes an InternalError. Call it inside a catch block only.
[[noreturn]] void rethrow_with(const ErrorDetail& detail);

/// Throws the error being handled as one of a run: what a call that builds a graph would refuse
/// (ValueError, TypeError) is an errors::InvalidArgumentError there.
[[noreturn]] void rethrow_from_run();

}  // namespace towerflow
