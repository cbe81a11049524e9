public import Reasons

extension WaymarkError {
  /// What to do next. A step that has a `waymark` command is for a terminal or a log; see ``Step/plainText``.
  public var nextStep: Step? { next }
}

extension Reason {
  /// The reason of an error: one of all codes, with a clause, a severity and a remedy.
  public init(of error: WaymarkError) { self = error.reason }
}
