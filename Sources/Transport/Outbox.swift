// Protocol/files.md, "Order on a link"

package import Wire

/// The messages that wait to be sent on a link, each class in the order in which it was queued.
///
/// Ordinary messages overtake parts of files. Parts of files are taken only while no ordinary message waits, and only
/// a few ahead of what the system has accepted, because a message that has been taken can't be overtaken any more.
package struct Outbox: Sendable {
  private var ordinary: [[UInt8]] = []
  private var files: [[UInt8]] = []
  /// The number of bytes of the waiting ordinary messages.
  private(set) var ordinaryBytes = 0
  /// The number of bytes of the waiting parts of files.
  private(set) var fileBytes = 0
  /// The classes whose sender was told that the link is congested.
  private var congested: Set<SendClass> = []

  package init() {}

  package var bytes: Int { ordinaryBytes + fileBytes }

  package var isEmpty: Bool { ordinary.isEmpty && files.isEmpty }

  package mutating func append(_ message: [UInt8], as sendClass: SendClass) {
    switch sendClass {
    case .ordinary:
      ordinary.append(message)
      ordinaryBytes += message.count
    case .file:
      files.append(message)
      fileBytes += message.count
    }
  }

  /// Takes the messages to send next, at least one as long as there is room for its class.
  ///
  /// - Parameters:
  ///   - unwritten: the number of bytes that were taken before and not yet accepted by the system.
  ///   - bytesMax: the number of bytes at which no further message is taken.
  package mutating func take(unwritten: Int, bytesMax: Int) -> [[UInt8]] {
    var taken = Self.take(&ordinary, &ordinaryBytes, bytesMax)
    guard ordinary.isEmpty else { return taken }
    let ahead = unwritten + taken.reduce(0) { $0 + $1.count }
    taken += Self.take(&files, &fileBytes, Self.fileAheadBytes - ahead)
    return taken
  }

  private static func take(_ queue: inout [[UInt8]], _ queued: inout Int, _ bytesMax: Int) -> [[UInt8]] {
    var bytes = 0
    var count = 0
    while count < queue.count, bytes < bytesMax {
      bytes += queue[count].count
      count += 1
    }
    queued -= bytes
    guard count < queue.count else {
      defer { queue = [] }
      return queue
    }
    defer { queue.removeFirst(count) }
    return Array(queue.prefix(count))
  }

  /// Drops everything except the newest ordinary message.
  package mutating func keepNewest() {
    ordinary = ordinary.suffix(1)
    ordinaryBytes = ordinary.first?.count ?? 0
    dropFiles()
  }

  /// Drops the waiting parts of files.
  package mutating func dropFiles() { (files, fileBytes) = ([], 0) }

  package mutating func removeAll() { self = Outbox() }

  // MARK: Congestion

  /// Whether a class has no room for further messages. If it has not, `drained` reports when it has room again.
  ///
  /// Waiting parts of files don't count for ordinary messages, which overtake them.
  package mutating func isCongested(_ sendClass: SendClass, unwritten: Int, lowWater: Int) -> Bool {
    guard level(sendClass, unwritten) > lowWater else { return false }
    congested.insert(sendClass)
    return true
  }

  /// Returns whether a class that was congested has room again.
  package mutating func drained(unwritten: Int, lowWater: Int) -> Bool {
    let drained = congested.filter { level($0, unwritten) <= lowWater }
    congested.subtract(drained)
    return !drained.isEmpty
  }

  private func level(_ sendClass: SendClass, _ unwritten: Int) -> Int {
    unwritten + (sendClass == .file ? bytes : ordinaryBytes)
  }

  /// The number of taken bytes at which no further part of a file is taken.
  private static let fileAheadBytes = 2 * Limits.leafBytes
}
