/// How far something long has come.
public struct WorkProgress: Hashable, Sendable {
  /// What is done now, as a word: `reading`, `verifying`, `writing`, `receiving`.
  public let stage: String
  /// How much is done, in the unit of the stage.
  public let done: Int
  /// How much there is.
  public let total: Int

  package init(stage: String, done: Int, total: Int) {
    self.stage = stage
    self.done = done
    self.total = total
  }
}
