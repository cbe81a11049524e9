import Wire

/// What is known of the keys of a home without opening them.
extension Home {
  /// For each key file of this home whether it is sealed: `sealed`, `plain`, `unreadable`, or null if there is none.
  public var keyStates: JSON {
    ["device": .text(Self.state(of: deviceKey)), "root": .text(Self.state(of: rootKey))]
  }

  private static func state(of path: String) -> String? {
    do {
      return try KeyFile.kind(at: path).map { $0.isSealed ? "sealed" : "plain" }
    } catch {
      return "unreadable"
    }
  }
}
