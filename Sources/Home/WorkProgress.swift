/// Progress of a long operation.
public struct WorkProgress: Hashable, Sendable {
  /// The current stage: `reading`, `verifying`, `writing`, `receiving` or `fetching`.
  public let stage: String
  /// The amount done, in the unit of the stage.
  public let done: Int
  /// The total amount.
  public let total: Int

  package init(stage: String, done: Int, total: Int) {
    self.stage = stage
    self.done = done
    self.total = total
  }
}
