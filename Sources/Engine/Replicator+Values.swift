// Protocol/session.md, "Missing values"

import Replication
import Storage
import Wire

extension Replicator {
  /// Reports that the list of missing values has changed since the last call.
  func tellMissing(_ now: Now, _ following: inout [Effect]) {
    guard toldMissing != store.missingVersion else { return }
    trying {
      let isAny = try store.isAnyValueMissing
      toldMissing = store.missingVersion
      replica.handle(.valuesMissing(isAny), now: now, into: &following)
    }
  }

  func readMissing(after number: Int64, _ now: Now, _ following: inout [Effect]) {
    trying {
      let sets = try store.missingValues(after: number, max: Limits.valuesWantedMax)
      replica.handle(.missingRead(sets), now: now, into: &following)
    }
  }

  func readValues(
    _ link: LinkID, _ lane: Lane, _ sets: [SetSlots], _ now: Now, _ following: inout [Effect]
  ) {
    trying {
      let found =
        isCongested(link)
        ? nil
        : try store.values(lane, sets, bytesMax: Self.answerBytes, readMax: Limits.valueReadBytesMax)
      replica.handle(.valuesRead(link, lane, found), now: now, into: &following)
    }
  }

  /// Stores values that a peer has sent. On a full disk they are dropped, and requested again later.
  func storeValues(
    _ values: [ArrivedValues], from link: LinkID, _ now: Now, _ following: inout [Effect]
  ) {
    guard canStore else { return }
    trying {
      let (report, hasWrong) = try store.fill(values) { report in
        try store.forgetValueSenders()
        try shell?.noting(report)
      }
      didCommit(report)
      let isAny = try store.isAnyValueMissing
      replica.handle(
        .valuesStored(link, hasWrong: hasWrong, isAnyMissing: isAny), now: now, into: &following)
    }
  }

  /// The largest answer to a request for missing values, which leaves room for its framing.
  private static let answerBytes = Limits.messageBytesMax - 1_024
}
