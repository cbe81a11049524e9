/// Something that a node can tell, and tell again after each change: records, a timeline, the peers, the gate.
///
/// ``Node/read(_:)`` reads it once, ``Node/watch(_:)->Watch<Value>`` for as long as somebody listens. The readings there are stand as
/// static members:
///
/// ```swift
/// let timeline = try await node.read(.timeline(of: trip.id))
/// for await organizations in node.watch(.organizations(matching: "air")) { … }
/// ```
public struct Reading<Value: Sendable & Equatable>: Sendable {
  /// Only a change of one of these can change what is read.
  let topics: Set<Topic>
  let read: @Sendable (isolated Node) throws -> Value

  init(_ topics: Set<Topic>, _ read: @escaping @Sendable (isolated Node) throws -> Value) {
    self.topics = topics
    self.read = read
  }
}

extension Node {
  /// Reads something once.
  ///
  /// - Throws: ``WaymarkError`` if the store can't be read.
  public func read<Value>(_ reading: Reading<Value>) throws -> Value {
    try sayingWhy { try reading.read(self) }
  }
}
