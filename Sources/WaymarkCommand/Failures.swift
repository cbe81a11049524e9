import Reasons
import Waymark
import WaymarkCare

extension Invocation {
  /// Returns the failure with a next step, which is added for ambiguous names and invalid command lines that have none.
  /// Commands in the step include the `--home` that the user typed.
  func completing(_ failure: WaymarkError) -> WaymarkError {
    var next = failure.next
    if next == nil, failure.code == .ambiguous { next = .waymark("help ids") }
    if next == nil, [ExitCode.usage, ExitCode.notFound].contains(failure.exitCode) {
      next = .waymark("help \(words.joined(separator: " "))")
    }
    return WaymarkError(
      exitCode: failure.exitCode, code: failure.reason, message: failure.message,
      next: next.map { Step(.init(word: $0.text(home: options.home))) }, field: failure.field,
      candidates: failure.candidates)
  }
}
